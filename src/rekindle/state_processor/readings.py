"""What can be read of a snapshot as a DataFrame: the columns, made on the driver, and the rows, made by the tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as t

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.state.plain_values import RawBytes
from rekindle.state_processor.contents import Entry, SnapshotContents
from rekindle.state_processor.spark_types import Convert, SparkColumn, column_of, converter_to
from rekindle.state_processor.state_types import StateType
from rekindle.state_processor.stored_types import RawSerializer, readable_serializer
from rekindle.types.type_serializer import TypeSerializer

Part = KeyGroupRange | range
"""Some key groups, or some subtasks."""

_RAW = SparkColumn(t.BinaryType(), lambda value: value.data if isinstance(value, RawBytes) else bytes(value), RawBytes)
_LONG = SparkColumn(t.LongType(), int, int)
_INT = SparkColumn(t.IntegerType(), int, int)
_STRING = SparkColumn(t.StringType(), str, str)


class Reading(ABC):
    """Read something of a snapshot as rows."""

    @abstractmethod
    def columns(self) -> list[tuple[str, SparkColumn]]:
        """Return the columns by name, with the types that the snapshot knows."""

    @abstractmethod
    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        """Return the rows of a part, each as the values of its columns."""

    def schema(self) -> t.StructType:
        """Return the schema of the DataFrame."""
        return t.StructType([column.field(name) for name, column in self.columns()])

    def converters(self) -> list[Convert]:
        """Return what turns the values of each column into what Arrow takes."""
        return [column.to_spark for _, column in self.columns()]

    def arrow_rows(self, contents: SnapshotContents, part: Part) -> Iterator[list[Any]]:
        """Yield the rows of a part as Arrow takes them."""
        converters = self.converters()
        for row in self.rows(contents, part):
            yield [None if v is None else convert(v) for convert, v in zip(converters, row, strict=True)]


@dataclass(frozen=True, slots=True)
class KeyedReading(Reading):
    """Read a keyed state: a row for each key, in maps for each entry; lists are arrays.

    Attributes:
        uid: The operator.
        state: The name of the state.
        type: What it is; None: no key has any, and it is not known.
    """

    uid: str
    state: str
    type: StateType | None

    def columns(self) -> list[tuple[str, SparkColumn]]:
        if self.type is None:
            return [("key", column_of(PickleSerializer())), ("value", column_of(PickleSerializer()))]
        stored, shape = self.type.serializers, self.type.shape
        columns = [("key", column_for(stored.key))]
        if self.type.namespaced:
            columns.append(("namespace", column_for(stored.namespace)))
        value = column_for(stored.value)
        stamp = _LONG
        if shape.has_map_keys:
            columns += [("map_key", column_for(stored.map_key)), ("map_value", value)]
        elif shape.several:
            columns.append(("value", _array_of(value)))
            stamp = _array_of(_LONG)
        else:
            columns.append(("value", value))
        return [*columns, ("last_access", stamp)] if self.type.ttl else columns

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        assert isinstance(part, KeyGroupRange)
        if self.type is None:
            return
        a_row_per_entry = self.type.shape.has_map_keys
        for entry in contents.entries(self.uid, self.state, part):
            head = (entry.key, entry.namespace) if self.type.namespaced else (entry.key,)
            if a_row_per_entry:
                for map_key, map_value in entry.value.items():
                    stamps = (entry.last_access[map_key],) if self.type.ttl else ()
                    yield (*head, map_key, map_value, *stamps)
            else:
                yield (*head, entry.value, entry.last_access) if self.type.ttl else (*head, entry.value)


@dataclass(frozen=True, slots=True)
class ConvertedReading(Reading):
    """Read a keyed state by a function of the user's: it makes a row of each entry, or none.

    Attributes:
        reading: Reads the state.
        given: The schema of the rows.
        convert: Gets key, namespace and value of an entry and gives a tuple, dict or Row; None: no row.
    """

    reading: KeyedReading
    given: t.StructType
    convert: Callable[[Any, Any, Any], Any]

    def columns(self) -> list[tuple[str, SparkColumn]]:
        return [(f.name, SparkColumn(f.dataType, converter_to(f.dataType), _same)) for f in self.given.fields]

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        assert isinstance(part, KeyGroupRange)
        to_row = converter_to(self.given)
        entries: Iterator[Entry] = contents.entries(self.reading.uid, self.reading.state, part)
        for entry in entries:
            made = self.convert(entry.key, entry.namespace, entry.value)
            if made is not None:
                yield tuple(to_row(made).values())

    def converters(self) -> list[Convert]:
        return [_same] * len(self.given.fields)


@dataclass(frozen=True, slots=True)
class GivenTypes(Reading):
    """Read something with the columns' names and types as the user gives them, in their order."""

    reading: Reading
    given: t.StructType

    def columns(self) -> list[tuple[str, SparkColumn]]:
        return [(f.name, SparkColumn(f.dataType, converter_to(f.dataType), _same)) for f in self.given.fields]

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        return self.reading.rows(contents, part)


@dataclass(frozen=True, slots=True)
class TimersReading(Reading):
    """Read the timers of an operator."""

    uid: str
    type: StateType | None

    def columns(self) -> list[tuple[str, SparkColumn]]:
        key = column_of(PickleSerializer()) if self.type is None else column_for(self.type.serializers.key)
        columns = [("domain", _STRING), ("timestamp", _LONG), ("key", key)]
        if self.type is not None and self.type.namespaced:
            columns.append(("namespace", column_for(self.type.serializers.namespace)))
        return columns

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        assert isinstance(part, KeyGroupRange)
        namespaced = self.type is not None and self.type.namespaced
        for timer in contents.timers(self.uid, part):
            row = (timer.domain, timer.timestamp, timer.key)
            yield (*row, timer.namespace) if namespaced else row


@dataclass(frozen=True, slots=True)
class ListReading(Reading):
    """Read an operator's list state, split or union: a row for each item, with the subtask that wrote it."""

    uid: str
    state: str
    serializers: tuple[bytes, ...]

    def columns(self) -> list[tuple[str, SparkColumn]]:
        value = column_for(self.serializers[0]) if self.serializers else _RAW
        return [("subtask", _INT), ("value", value)]

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        assert isinstance(part, range)
        return contents.items(self.uid, self.state, part)


@dataclass(frozen=True, slots=True)
class BroadcastReading(Reading):
    """Read an operator's broadcast state: a row for each entry."""

    uid: str
    state: str
    serializers: tuple[bytes, ...]

    def columns(self) -> list[tuple[str, SparkColumn]]:
        pickled = column_of(PickleSerializer())
        key, value = map(column_for, self.serializers) if self.serializers else (pickled, pickled)
        return [("key", key), ("value", value)]

    def rows(self, contents: SnapshotContents, part: Part) -> Iterator[tuple[Any, ...]]:
        return contents.broadcast_entries(self.uid, self.state)


def column_for(stored: bytes) -> SparkColumn:
    """Return how a stored type looks to Spark; classes that are not here are stood in for."""
    serializer: TypeSerializer[Any] = readable_serializer(stored)[0]
    return _RAW if isinstance(serializer, RawSerializer) else column_of(serializer)


def _array_of(element: SparkColumn) -> SparkColumn:
    def convert(values: Any) -> list[Any]:
        return [None if value is None else element.to_spark(value) for value in values]

    return SparkColumn(t.ArrayType(element.data_type), convert, list, element.pickled)


def _same(value: Any) -> Any:
    return value
