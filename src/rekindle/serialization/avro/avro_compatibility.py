"""Avro's rules of schema resolution: whether what was written by one schema can be read by another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rekindle.serialization.avro.avro_parsing import Schema, is_primitive, named_types, type_of

_PROMOTIONS = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


@dataclass(slots=True)
class Resolution:
    """Say what becomes of values of an older schema.

    Attributes:
        problems: Why they cannot be read, one sentence each; none: they can.
        changes: What becomes of them.
    """

    problems: list[str] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


def resolution(written: Schema, wanted: Schema) -> Resolution:
    """Compare two schemas in normal form.

    Args:
        written: The schema by which values were written.
        wanted: The schema by which they are to be read.
    """
    comparison = _Comparison(Matching(named_types(written), named_types(wanted)))
    comparison.compare(written, wanted, "")
    return comparison.result


class Matching:
    """Say which types of two schemas in normal form belong together."""

    def __init__(self, old_types: dict[str, Any], new_types: dict[str, Any]) -> None:
        """Compare two schemas.

        Args:
            old_types: The named types of the older one, by name.
            new_types: Those of the newer one.
        """
        self._old_types = old_types
        self._new_types = new_types

    def defined_before(self, schema: Schema) -> Schema:
        """Return a type of the older schema itself where its name is used."""
        return self._old_types.get(schema, schema) if isinstance(schema, str) else schema

    def defined_now(self, schema: Schema) -> Schema:
        """Return a type of the newer schema itself where its name is used."""
        return self._new_types.get(schema, schema) if isinstance(schema, str) else schema

    def best_member(self, old: Schema, members: list[Any]) -> Schema | None:
        """Return the member of a newer union that takes what was written: the same type, else the first it becomes."""
        defined = [self.defined_now(member) for member in members]
        taking = [member for member in defined if self.matches(old, member)]
        same = [member for member in taking if type_of(member) == type_of(self.defined_before(old))]
        return next(iter(same or taking), None)

    def matches(self, old: Schema, new: Schema) -> bool:
        """Return whether two types are of one kind, and named alike."""
        old, new = self.defined_before(old), self.defined_now(new)
        if isinstance(old, list) or isinstance(new, list):
            return True
        kind, new_kind = type_of(old), type_of(new)
        if kind != new_kind:
            return new_kind in _PROMOTIONS.get(kind, ())
        if kind == "array":
            return self.matches(old["items"], new["items"])
        if kind == "map":
            return self.matches(old["values"], new["values"])
        if is_primitive(kind):
            return True
        if kind == "fixed" and old["size"] != new["size"]:
            return False
        aliases = new.get("aliases", ())
        return bool(
            _unqualified(old["name"]) == _unqualified(new["name"])
            or old["name"] in aliases
            or _unqualified(old["name"]) in aliases
        )

    def fields(self, old: Any, new: Any) -> list[tuple[Any, Any]]:
        """Return the fields of a record that was written, each with the field it becomes; None: it is dropped."""
        by_name = {field["name"]: field for field in new["fields"]}
        by_alias = {alias: field for field in new["fields"] for alias in field.get("aliases", ())}
        return [(field, by_name.get(field["name"]) or by_alias.get(field["name"])) for field in old["fields"]]


class _Comparison:
    """Walk along two schemas."""

    def __init__(self, matching: Matching) -> None:
        self._matching = matching
        self._seen: set[tuple[str, str]] = set()
        self.result = Resolution()

    def compare(self, old: Schema, new: Schema, path: str) -> None:
        old, new = self._matching.defined_before(old), self._matching.defined_now(new)
        if isinstance(old, list):
            for member in old:
                self._compare_member(member, new, path)
            if old != new:
                self._changed(path, old, new)
        elif isinstance(new, list):
            self._compare_member(old, new, path)
            self._changed(path, old, new)
        elif not self._matching.matches(old, new):
            self._mismatch(path, old, new)
        else:
            self._compare_inside(old, new, path)

    def _compare_member(self, old: Schema, new: Schema, path: str) -> None:
        """Compare what may be written with that member of a union which takes it, or with all there is."""
        old = self._matching.defined_before(old)
        member = self._matching.best_member(old, new if isinstance(new, list) else [new])
        if member is None:
            self._mismatch(path, old, new)
        else:
            self._compare_inside(old, member, path)

    def _compare_inside(self, old: Schema, new: Schema, path: str) -> None:
        if isinstance(old, list) or isinstance(new, list):
            self.compare(old, new, path)
            return
        self._compare_logical_types(old, new, path)
        kind = type_of(old)
        if kind in ("record", "enum", "fixed") and old["name"] != new["name"]:
            self._changed(path, old, new)
        if kind == "array":
            self.compare(old["items"], new["items"], f"{path}[]")
        elif kind == "map":
            self.compare(old["values"], new["values"], f"{path}{{}}")
        elif kind == "enum":
            self._compare_enums(old, new, path)
        elif kind == "record":
            if (old["name"], new["name"]) not in self._seen:
                self._seen.add((old["name"], new["name"]))
                self._compare_records(old, new, path)
        elif kind != type_of(new):
            self.result.changes.append(f"{_place(path)} was {kind} and becomes {type_of(new)}")

    def _compare_logical_types(self, old: Schema, new: Schema, path: str) -> None:
        before, now = _logical_type(old), _logical_type(new)
        if before == now:
            return
        if before and now:
            self.result.problems.append(
                f"{_place(path)} was {before} and is {now} now, and Avro would take the one for the other as it is"
            )
        else:
            self.result.changes.append(f"{_place(path)} was {before or type_of(old)} and becomes {now or type_of(new)}")

    def _compare_enums(self, old: Any, new: Any, path: str) -> None:
        gone = [symbol for symbol in old["symbols"] if symbol not in new["symbols"]]
        default = new.get("default")
        if gone and default not in new["symbols"]:
            self.result.problems.append(
                f"{_place(path)}: the enum {new['name']} had the symbols {', '.join(gone)}, and has neither these nor "
                "a default now"
            )
        elif gone:
            self.result.changes.append(f"{_place(path)}: {', '.join(gone)} of the enum {new['name']} become {default}")
        elif old["symbols"] != new["symbols"]:
            self.result.changes.append(f"{_place(path)}: the symbols of the enum {new['name']} changed")

    def _compare_records(self, old: Any, new: Any, path: str) -> None:
        sources: dict[str, str] = {}
        for before, now in self._matching.fields(old, new):
            name = before["name"]
            inside = f"{path}.{name}" if path else name
            if now is None:
                self.result.changes.append(f"{_place(inside)} was removed; its values are dropped")
                continue
            other = sources.setdefault(now["name"], name)
            if other != name:
                self.result.problems.append(
                    f"{_place(inside)} and the field {other!r} would both be {now['name']!r} now"
                )
                continue
            if now["name"] != name:
                self.result.changes.append(f"{_place(inside)} is called {now['name']!r} now")
            self.compare(before["type"], now["type"], inside)
        for now in new["fields"]:
            if now["name"] in sources:
                continue
            inside = f"{path}.{now['name']}" if path else now["name"]
            if "default" in now:
                self.result.changes.append(f"{_place(inside)} was added; it starts as {now['default']!r}")
            else:
                self.result.problems.append(
                    f"{_place(inside)} of type {_shown(now['type'])} was added without a default; give it one"
                )
        kept = [sources[field["name"]] for field in new["fields"] if field["name"] in sources]
        if kept != [field["name"] for field in old["fields"] if field["name"] in kept]:
            self.result.changes.append(f"{_place(path)}: the fields of {new['name']} were reordered")

    def _mismatch(self, path: str, old: Schema, new: Schema) -> None:
        self.result.problems.append(f"{_place(path)} was {_shown(old)} and is {_shown(new)} now")

    def _changed(self, path: str, old: Schema, new: Schema) -> None:
        if _shown(old) != _shown(new):
            change = f"{_place(path)} was {_shown(old)} and becomes {_shown(new)}"
            if change not in self.result.changes:  # a type may be met in several places
                self.result.changes.append(change)


def _unqualified(name: str) -> str:
    return name.rpartition(".")[2]


def _logical_type(schema: Schema) -> str | None:
    if not isinstance(schema, dict) or "logicalType" not in schema:
        return None
    name = str(schema["logicalType"])
    if name == "decimal":
        return f"decimal({schema.get('precision')}, {schema.get('scale', 0)})"
    return name


def _place(path: str) -> str:
    return f"field {path!r}" if path else "the value"


def _shown(schema: Schema) -> str:
    if isinstance(schema, list):
        return f"one of {', '.join(map(_shown, schema))}"
    if not isinstance(schema, dict):
        return str(schema)
    logical_type = _logical_type(schema)
    if logical_type:
        return f"{schema['type']} ({logical_type})"
    if "name" in schema:
        size = f" of {schema['size']} bytes" if "size" in schema else ""
        return f"{schema['type']} {schema['name']}{size}"
    part = schema.get("items", schema.get("values"))
    return f"{schema['type']} of {_shown(part)}"
