"""Random Avro schemas and what may become of them, values that try out all of a schema, and Avro's rules in short."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

PRIMITIVES = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"]
VALUES = {
    "null": [None],
    "boolean": [True],
    "int": [7],
    "long": [2**40],
    "float": [0.5],
    "double": [0.1],
    "bytes": [b"raw"],
    "string": ["text"],
}
DEFAULTS = {
    "null": None,
    "boolean": False,
    "int": 1,
    "long": 2,
    "float": 1.5,
    "double": 2.5,
    "bytes": "b",
    "string": "s",
}


@dataclass(frozen=True)
class Chosen:
    """A value of one member of a union."""

    member: Any
    value: Any


class SchemaMaker:
    """Draw schemas; each named type gets a name of its own."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self._numbers = itertools.count()

    def flip(self) -> bool:
        return bool(self.draw(st.booleans()))

    def one_of(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def schema(self, depth: int = 2, union: bool = True) -> Any:
        kinds = ["primitive", "primitive", "enum", "fixed"]
        if depth:
            kinds += ["array", "map", "record", *(["union"] if union else [])]
        kind = self.one_of(kinds)
        if kind == "primitive":
            return self.one_of(PRIMITIVES)
        if kind == "enum":
            return {"type": "enum", "name": self.name(), "symbols": self.symbols()}
        if kind == "fixed":
            return {"type": "fixed", "name": self.name(), "size": self.one_of([1, 2])}
        if kind == "array":
            return {"type": "array", "items": self.schema(depth - 1)}
        if kind == "map":
            return {"type": "map", "values": self.schema(depth - 1)}
        if kind == "record":
            return self.record(depth)
        return self.union([self.schema(depth - 1, union=False) for _ in range(self.one_of([1, 2, 3]))])

    def record(self, depth: int) -> Any:
        names = self.draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4))
        fields = [{"name": name, "type": self.schema(depth - 1)} for name in names]
        return {"type": "record", "name": self.name(), "fields": fields}

    def union(self, members: list[Any]) -> Any:
        different: dict[str, Any] = {}
        for member in members:
            kind = member if isinstance(member, str) else member["type"]
            # Some look alike in Python: records and maps, and to fastavro even bytes and arrays.
            alike = {"map": "record", "array": "bytes", "fixed": "bytes"}
            different.setdefault(alike.get(kind, kind), member)
        return list(different.values())

    def symbols(self) -> list[str]:
        return list(self.draw(st.lists(st.sampled_from("ABCD"), unique=True, min_size=1)))

    def name(self) -> str:
        return f"N{next(self._numbers)}"

    def evolved(self, schema: Any) -> Any:
        """Return what may become of a schema, for better or worse."""
        change = self.one_of(["inside"] * 6 + ["other", "wrap", "promote"])
        if change == "other":
            return self.schema(1)
        if isinstance(schema, list):
            members = [self.evolved(member) for member in schema if self.draw(st.integers(0, 5))]
            members = [member for member in members if not isinstance(member, list)]
            if len(members) == 1 and self.flip():
                return members[0]
            return self.union(members or ["null"])
        if change == "wrap":
            return self.union(self.draw(st.permutations([schema, self.one_of(PRIMITIVES)])))
        if isinstance(schema, str):
            return self.one_of(PRIMITIVES) if change == "promote" else schema
        return self._evolved_inside(schema)

    def _evolved_inside(self, schema: Any) -> Any:
        changed = dict(schema)
        if "items" in schema:
            changed["items"] = self.evolved(schema["items"])
        if "values" in schema:
            changed["values"] = self.evolved(schema["values"])
        if "name" in schema and not self.draw(st.integers(0, 5)):
            changed["name"] = f"{schema['name']}x"
            if self.flip():
                changed["aliases"] = [schema["name"]]
        if "symbols" in schema and self.flip():
            changed["symbols"] = self.symbols()
            if self.flip():
                changed["default"] = changed["symbols"][0]
        if "size" in schema and not self.draw(st.integers(0, 3)):
            changed["size"] = 2
        if "fields" in schema:
            changed["fields"] = self._evolved_fields(schema["fields"])
        return changed

    def _evolved_fields(self, fields: list[Any]) -> list[Any]:
        changed = []
        for field in self.draw(st.permutations(fields)):
            what = self.one_of(["keep", "keep", "keep", "drop", "rename", "change"])
            if what == "drop":
                continue
            now = {"name": field["name"], "type": field["type"]}
            if what == "change":
                now["type"] = self.evolved(field["type"])
            elif what == "rename":
                now["name"] = f"{field['name']}2"
                if self.flip():
                    now["aliases"] = [field["name"]]
            changed.append(now)
        for name in self.draw(st.lists(st.sampled_from("ef"), unique=True)):
            kind = self.one_of(PRIMITIVES)
            added = {"name": name, "type": kind}
            if self.draw(st.integers(0, 3)):
                added["default"] = DEFAULTS[kind]
            changed.append(added)
        return changed


def witnesses(schema: Any) -> list[Any]:
    """Return values that together take every way there is through a schema."""
    if isinstance(schema, list):
        return [Chosen(member, value) for member in schema for value in witnesses(member)]
    if isinstance(schema, str):
        return VALUES[schema]
    kind = schema["type"]
    if kind == "enum":
        return list(schema["symbols"])
    if kind == "fixed":
        return [b"x" * schema["size"]]
    if kind == "array":
        return [[value] for value in witnesses(schema["items"])]
    if kind == "map":
        return [{"k": value} for value in witnesses(schema["values"])]
    of_fields = {field["name"]: witnesses(field["type"]) for field in schema["fields"]}
    count = max([1, *map(len, of_fields.values())])
    return [{name: values[n % len(values)] for name, values in of_fields.items()} for n in range(count)]


def for_fastavro(value: Any) -> Any:
    """Return a value as fastavro writes it: with the name of the member of a union that it is of."""
    if isinstance(value, Chosen):
        kind = value.member if isinstance(value.member, str) else value.member["type"]
        name = value.member["name"] if kind in ("record", "enum", "fixed") else kind
        return name, for_fastavro(value.value)
    if isinstance(value, dict):
        return {key: for_fastavro(inner) for key, inner in value.items()}
    return [for_fastavro(inner) for inner in value] if isinstance(value, list) else value


def resolved(value: Any, old: Any, new: Any) -> Any:
    """Return what a value becomes, by Avro's rules, between two schemas of which it is known that it can."""
    if isinstance(value, Chosen):
        return resolved(value.value, value.member, new)
    if isinstance(new, list):
        taking = [member for member in new if _takes(old, member)]
        same = [member for member in taking if _kind(member) == _kind(old)]
        return resolved(value, old, (same or taking)[0])
    kind = new if isinstance(new, str) else new["type"]
    if kind == "array":
        return [resolved(inner, old["items"], new["items"]) for inner in value]
    if kind == "map":
        return {key: resolved(inner, old["values"], new["values"]) for key, inner in value.items()}
    if kind == "enum":
        return value if value in new["symbols"] else new["default"]
    if kind == "record":
        before = {field["name"]: field["type"] for field in old["fields"]}
        record = {}
        for field in new["fields"]:
            name = next((name for name in [field["name"], *field.get("aliases", [])] if name in before), None)
            if name is None:
                record[field["name"]] = field["default"].encode() if field["type"] == "bytes" else field["default"]
            else:
                record[field["name"]] = resolved(value[name], before[name], field["type"])
        return record
    if kind in ("float", "double"):
        return float(value)
    if kind == "bytes" and isinstance(value, str):
        return value.encode()
    return value.decode() if kind == "string" and isinstance(value, bytes) else value


def _kind(schema: Any) -> str:
    return str(schema if isinstance(schema, str) else schema["type"])


def _takes(old: Any, new: Any) -> bool:
    if isinstance(old, list) or isinstance(new, list):
        return True
    old_kind = old if isinstance(old, str) else old["type"]
    kind = new if isinstance(new, str) else new["type"]
    if old_kind != kind:
        order = ["int", "long", "float", "double"]
        texts = {"bytes", "string"}
        if old_kind in order and kind in order:
            return order.index(old_kind) < order.index(kind)
        return {old_kind, kind} == texts
    if kind == "array":
        return _takes(old["items"], new["items"])
    if kind == "map":
        return _takes(old["values"], new["values"])
    if kind in ("record", "enum", "fixed"):
        same_size = old.get("size") == new.get("size")
        return same_size and (old["name"] == new["name"] or old["name"] in new.get("aliases", []))
    return True
