"""Values of an older Avro schema as values of a newer one.

fastavro can do this, too, but takes the first member of a union to which a value could be promoted, and would make
strings bytes and integers floats where the union has the very type, further on. Avro in Java looks for that one first.
"""

from __future__ import annotations

from typing import Any

from rekindle.serialization.avro.avro_compatibility import Matching
from rekindle.serialization.avro.avro_parsing import Schema, named_types, type_of

_KINDS_OF_PYTHON: dict[type, tuple[str, ...]] = {
    type(None): ("null",),
    bool: ("boolean",),
    int: ("int", "long"),
    float: ("float", "double"),
    str: ("string",),
    bytes: ("bytes",),
    list: ("array",),
    dict: ("map",),
}


class Resolver:
    """Make values of a schema of such of an older one. Both are in normal form, and have no logical types.

    Values are as fastavro reads them with ``return_named_type``: those of named types in unions with their names. They
    become as it writes them, members of unions with the names of their types. Defaults are left for it to fill in.
    """

    def __init__(self, written: Schema, wanted: Schema) -> None:
        self._written = written
        self._wanted = wanted
        self._matching = Matching(named_types(written), named_types(wanted))

    def resolved(self, value: Any) -> Any:
        """Return what a value becomes; both schemas are known to be compatible."""
        return self._resolved(value, self._written, self._wanted)

    def _resolved(self, value: Any, old: Schema, new: Schema) -> Any:
        old, new = self._matching.defined_before(old), self._matching.defined_now(new)
        if isinstance(old, list):
            member, value = self._written_member(value, old)
            return self._resolved(value, member, new)
        if isinstance(new, list):
            member = self._matching.best_member(old, new)
            return _name(member), self._resolved(value, old, member)
        kind = type_of(new)
        if kind == "array":
            return [self._resolved(item, old["items"], new["items"]) for item in value]
        if kind == "map":
            return {key: self._resolved(item, old["values"], new["values"]) for key, item in value.items()}
        if kind == "record":
            return {
                now["name"]: self._resolved(value[before["name"]], before["type"], now["type"])
                for before, now in self._matching.fields(old, new)
                if now is not None
            }
        if kind == "enum":
            return value if value in new["symbols"] else new["default"]
        if kind in ("float", "double"):
            return float(value)
        if kind == "bytes" and isinstance(value, str):
            return value.encode()
        return value.decode() if kind == "string" and isinstance(value, bytes) else value

    def _written_member(self, value: Any, members: list[Any]) -> tuple[Any, Any]:
        if isinstance(value, tuple):
            name, value = value
            return next(member for member in members if _name(member) == name), value
        kinds = _KINDS_OF_PYTHON[type(value)]
        fitting = [member for member in members if type_of(member) in kinds]
        # Of two kinds of numbers the wider one: the value says no more which it was, and loses nothing in that.
        return next((member for member in fitting if type_of(member) in ("double", "long")), fitting[0]), value


def _name(member: Schema) -> str:
    return str(member["name"]) if isinstance(member, dict) and "name" in member else type_of(member)
