"""Rows out of JSON messages, a chunk at a time.

Most values are what their type says: then a whole column is taken as it is, after one look at the classes in it. A
message with five fields is read in 1.1 microseconds this way, and in 3.1 field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any

from rekindle.formats.java_format import unwrapped
from rekindle.formats.json_nodes import Node
from rekindle.formats.json_reading import JsonReading, Read
from rekindle.types.row import Row, row_from
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo

_AS_IS: dict[BasicType, frozenset[type]] = {
    BasicType.STRING: frozenset({str, NoneType}),
    BasicType.BOOLEAN: frozenset({bool, NoneType}),
    BasicType.DOUBLE: frozenset({float, NoneType}),
    BasicType.BIG_INT: frozenset({int, NoneType}),
}
_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_INTEGERS = frozenset({int, NoneType})

ReadColumn = Callable[[list[Node]], list[Any]]


class JsonRowReader:
    """Make rows of a type out of objects."""

    def __init__(self, type_info: RowTypeInfo, reading: JsonReading) -> None:
        """Prepare for a type.

        Raises:
            ConfigurationError: JSON has no form for one of its fields.
        """
        self._names = type_info.get_field_names()
        self._reading = reading
        self._columns = [
            (name, _column(field_type, reading.read_nullable(field_type)))
            for name, field_type in zip(self._names, type_info.get_field_types(), strict=True)
        ]
        self.read = reading.read_row(type_info)

    def read_all(self, nodes: Sequence[Node]) -> list[Row]:
        """Return a row for each object.

        Raises:
            ValueError: One of them is not an object, or does not match the type.
        """
        if any(type(node) is not dict for node in nodes):
            return [self.read(node) for node in nodes]
        if self._reading.fail_on_missing_field:
            for node in nodes:
                self._reading.require_fields(node, self._names)
        names = self._names
        columns = [read([node.get(name) for node in nodes]) for name, read in self._columns]
        return [row_from(list(values), names) for values in zip(*columns, strict=True)]


def _column(type_info: TypeInformation, read: Read) -> ReadColumn:
    inner = unwrapped(type_info)
    basic_type = inner.basic_type if isinstance(inner, BasicTypeInfo) else None
    if basic_type in _BITS:
        bits = _BITS[basic_type]
        return lambda nodes: nodes if _are_integers(nodes, bits) else list(map(read, nodes))
    if basic_type in _AS_IS:
        as_is = _AS_IS[basic_type]
        return lambda nodes: nodes if as_is.issuperset(map(type, nodes)) else list(map(read, nodes))
    return lambda nodes: list(map(read, nodes))


def _are_integers(nodes: list[Node], bits: int) -> bool:
    if not _INTEGERS.issuperset(map(type, nodes)):
        return False
    numbers = [node for node in nodes if node is not None] if None in nodes else nodes
    return not numbers or (-(1 << bits - 1) <= min(numbers) and max(numbers) < 1 << bits - 1)
