"""Fields of records, packed and unpacked one by one or, of many records, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import call
from typing import Any

from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer


class Columns:
    """Hold the serializers of the fields of a record.

    Attributes:
        packed_type: The type of a tuple of the packed fields.
        plain_type: The type of a tuple of fields that are packed as they are; None where there is none.
        unpacks: Whether any field has to be unpacked.
    """

    def __init__(self, parts: Sequence[MsgpackSerializer[Any]]) -> None:
        self._parts = parts
        self.packed_type = _tuple_type([part.packed_type for part in parts])
        plain = [part.plain_type for part in parts]
        self.plain_type = None if any(plain_type is None for plain_type in plain) else _tuple_type(plain)
        self.unpacks = any(part.unpacks for part in parts)
        self._packers = [part.pack for part in parts]
        self._unpackers = [part.unpack for part in parts]

    def pack(self, fields: Iterable[Any]) -> tuple[Any, ...]:
        """Pack the fields of a record; there must be as many as there are serializers."""
        return tuple(map(call, self._packers, fields))

    def unpack(self, fields: Iterable[Any]) -> tuple[Any, ...]:
        """Unpack the fields of a record."""
        return tuple(map(call, self._unpackers, fields))

    def pack_all(self, records: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]] | None:
        """Pack the fields of many records; None if they have not all as many as there are serializers."""
        try:
            columns = list(zip(*records, strict=True))
        except ValueError:
            return None
        if len(columns) != len(self._parts):
            return None
        return list(
            zip(*[part.pack_all(column) for part, column in zip(self._parts, columns, strict=True)], strict=True)
        )

    def unpack_all(self, records: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Unpack the fields of many records."""
        if not records:
            return []
        columns = [
            part.unpack_all(list(column)) if part.unpacks else column
            for part, column in zip(self._parts, zip(*records, strict=True), strict=True)
        ]
        return list(zip(*columns, strict=True))


def _tuple_type(types: list[Any]) -> Any:
    return tuple[tuple(types)] if types else tuple[()]  # type: ignore[misc]
