"""Changes of a database's tables, as Debezium writes them in JSON.

    {"before": {…}, "after": {…}, "op": "u", "source": {…}, "ts_ms": …}

A change of a row is one message, and up to two rows of a changelog.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from rekindle.exceptions import NotSupportedError, SerializationError
from rekindle.formats.json_nodes import Node, node_parser
from rekindle.formats.json_reading import JsonReading, require
from rekindle.formats.json_row_reader import JsonRowReader
from rekindle.formats.json_schemas import has_decimals
from rekindle.formats.schemas import DeserializationSchema
from rekindle.types.row import Row, RowKind
from rekindle.types.typeinfo import RowTypeInfo

__all__ = ["DebeziumJsonDeserializationSchema"]

Change = tuple[RowKind, Node]

_NO_BEFORE = (
    'The "before" field of {} message is null, if you are using Debezium Postgres Connector, please check the Postgres '
    "table has been set REPLICA IDENTITY to FULL level."
)


class DebeziumJsonDeserializationSchema(DeserializationSchema[Row]):
    """Read changes as a changelog: rows with a ``RowKind``.

    A row that was created or read in a snapshot is ``+I``, one that was changed ``-U`` and then ``+U``, one that was
    deleted ``-D``. Messages without a value, which follow deletions, hold nothing. Fields are read as
    :class:`JsonRowDeserializationSchema` reads them.
    """

    def __init__(self, row_type: RowTypeInfo, schema_include: bool = False, ignore_parse_errors: bool = False) -> None:
        """Prepare for the rows of a table.

        Args:
            row_type: The type of the rows, with the names of the columns.
            schema_include: Messages have the schema beside the change, as ``{"schema": …, "payload": …}``.
            ignore_parse_errors: Skip messages that are not changes of such rows.

        Raises:
            ConfigurationError: JSON has no form for the type of a column.
        """
        self._row_type = row_type
        self._schema_include = schema_include
        self._ignore_parse_errors = ignore_parse_errors
        self._prepare()

    def deserialize(self, message: bytes) -> NoReturn:
        """Raise: a message may hold two rows."""
        raise NotSupportedError("a change of Debezium may be two rows: call deserialize_all")

    def deserialize_all(self, messages: Sequence[bytes]) -> tuple[list[Row], list[int] | None]:
        """Return the rows of changes, and for each the index of its message.

        Raises:
            SerializationError: A message is not a change, or one of other rows.
        """
        try:
            return self._rows([(index, message) for index, message in enumerate(messages) if message])
        except Exception:  # one by one: who it was, or what is left without it
            rows, origins = [], []
            for index, message in enumerate(messages):
                for row in self._rows_of(index, message):
                    rows.append(row)
                    origins.append(index)
            return rows, origins

    def get_produced_type(self) -> RowTypeInfo:
        """Return the type of the rows."""
        return self._row_type

    def _rows(self, messages: Sequence[tuple[int, bytes]]) -> tuple[list[Row], list[int]]:
        kinds, nodes, origins = [], [], []
        for index, message in messages:
            for kind, node in self._changes(self._parse(message)):
                kinds.append(kind)
                nodes.append(node)
                origins.append(index)
        rows = self._reader.read_all(nodes)
        for row, kind in zip(rows, kinds, strict=True):
            row._row_kind = kind
        return rows, origins

    def _rows_of(self, index: int, message: bytes) -> list[Row]:
        if not message:
            return []
        try:
            return self._rows([(index, message)])[0]
        except Exception as error:
            if self._ignore_parse_errors:
                return []
            text = bytes(message[:400]).decode("utf-8", "replace")
            raise SerializationError(f"Corrupt Debezium JSON message '{text}'. {error}") from error

    def _changes(self, node: Node) -> list[Change]:
        payload = require(node, dict, "an object")
        if self._schema_include:
            payload = require(payload.get("payload"), dict, 'an object as "payload": is schema_include right?')
        elif "op" not in payload and "payload" in payload:
            raise ValueError('the change is in "payload": set schema_include=True')
        before, after = payload.get("before"), payload.get("after")
        match payload.get("op"):
            case "c" | "r":
                return [(RowKind.INSERT, after)]
            case "u":
                if before is None:
                    raise ValueError(_NO_BEFORE.format("UPDATE"))
                return [(RowKind.UPDATE_BEFORE, before), (RowKind.UPDATE_AFTER, after)]
            case "d":
                if before is None:
                    raise ValueError(_NO_BEFORE.format("DELETE"))
                return [(RowKind.DELETE, before)]
            case other:
                raise ValueError(f'Unknown "op" value "{other}".')

    def _prepare(self) -> None:
        self._reader = JsonRowReader(self._row_type, JsonReading(ignore_parse_errors=self._ignore_parse_errors))
        self._parse = node_parser(has_decimals(self._row_type))

    def __getstate__(self) -> tuple[RowTypeInfo, bool, bool]:
        return self._row_type, self._schema_include, self._ignore_parse_errors

    def __setstate__(self, state: tuple[RowTypeInfo, bool, bool]) -> None:
        self._row_type, self._schema_include, self._ignore_parse_errors = state
        self._prepare()
