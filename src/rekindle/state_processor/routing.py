"""Sends the rows of DataFrames to the slots whose state they become: what Spark's tasks do before the shuffle.

What is shuffled is the same for all: slot, operator, step (a DataFrame of it), key group, and pickled pairs of key and
value. Pairs of one key group travel together.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as t

from rekindle.columns.python_values import column_values
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.exceptions import ConfigurationError
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer
from rekindle.state.key_hash import key_group_of
from rekindle.state_processor.shipped_program import Program
from rekindle.state_processor.spark_types import PICKLED, column_of
from rekindle.types.spark_rows import row_maker
from rekindle.types.type_serializer import TypeSerializer

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

ROUTED = t.StructType(
    [
        t.StructField("slot", t.IntegerType()),
        t.StructField("operator", t.IntegerType()),
        t.StructField("step", t.IntegerType()),
        t.StructField("key_group", t.IntegerType()),
        t.StructField("pairs", t.BinaryType()),
    ]
)
_NO_KEY_GROUP = -1


@dataclass(frozen=True, slots=True)
class Column:
    """Say what a column of a DataFrame is to a state.

    Attributes:
        name: Its name.
        serializer: Of the values that it holds.
        pickled: Whether it holds pickles of them.
    """

    name: str
    serializer: TypeSerializer[Any]
    pickled: bool = False

    @staticmethod
    def of(schema: StructType, name: str, serializer: TypeSerializer[Any]) -> Column:
        """Find a column of a DataFrame."""
        return Column(name, serializer, bool((schema[name].metadata or {}).get(PICKLED)))

    def values(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the values of a batch as the state has them."""
        values = column_values(batch.column(batch.schema.get_field_index(self.name)))
        if self.pickled:
            return [_unpickled(value) for value in values]
        if type(self.serializer) is PickleSerializer:
            return values
        convert = column_of(self.serializer).from_spark
        return [None if value is None else convert(value) for value in values]


def _unpickled(value: Any) -> Any:
    if isinstance(value, list):  # of a list state
        return [pickle.loads(element) for element in value]
    return None if value is None else pickle.loads(value)


@dataclass(frozen=True, slots=True)
class KeyedRouting:
    """Send rows with keys to the slots of their key groups.

    Attributes:
        operator: The number of the operator.
        step: The number of the DataFrame.
        parallelism: That of the operator.
        max_parallelism: That of the operator.
        pairs: A pickled function that gives the keys and values of a batch.
        program: What there is of the user's program.
    """

    operator: int
    step: int
    parallelism: int
    max_parallelism: int
    pairs: bytes
    program: Program

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        self.program.unpack()
        pairs_of: Callable[[pa.RecordBatch], tuple[list[Any], list[Any]]] = pickle.loads(self.pairs)
        for batch in batches:
            groups: dict[int, list[tuple[Any, Any]]] = {}
            for key, value in zip(*pairs_of(batch), strict=True):
                groups.setdefault(key_group_of(key, self.max_parallelism), []).append((key, value))
            yield _routed(
                (
                    subtask_of_key_group(group, self.parallelism, self.max_parallelism),
                    self.operator,
                    self.step,
                    group,
                    pickle.dumps(pairs, 5),
                )
                for group, pairs in groups.items()
            )


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Give whole rows as values, and their keys by columns or by a function of the row."""

    key: str | tuple[str, ...] | Callable[[Any], Any]
    key_serializer: TypeSerializer[Any]

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        columns = [column_values(column) for column in batch.columns]
        rows: list[Any] = list(map(row_maker(tuple(batch.schema.names)), zip(*columns, strict=True)))
        if callable(self.key):
            keys = [self.key(row) for row in rows]
        elif isinstance(self.key, str):
            keys = columns[batch.schema.get_field_index(self.key)]
        else:
            indexes = [batch.schema.get_field_index(name) for name in self.key]
            keys = list(zip(*(columns[index] for index in indexes), strict=True))
        return checked_keys(keys, self.key_serializer), rows


@dataclass(frozen=True, slots=True)
class ColumnPairs:
    """Give what columns hold as keys, with namespaces if there are any, and as values."""

    key: Column | tuple[Column, ...]
    values: tuple[Column, ...]
    key_serializer: TypeSerializer[Any]
    namespace: Column | None = None

    def __call__(self, batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
        if isinstance(self.key, Column):
            keys = self.key.values(batch)
        else:
            keys = list(zip(*(column.values(batch) for column in self.key), strict=True))
        keys = checked_keys(keys, self.key_serializer)
        columns = [column.values(batch) for column in self.values]
        values: list[Any] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        if self.namespace is None:
            return keys, values
        return keys, list(zip(self.namespace.values(batch), values, strict=True))


@dataclass(frozen=True, slots=True)
class ListRouting:
    """Deal out the items of an operator state to slots, or give all of them to each."""

    operator: int
    step: int
    parallelism: int
    to_all: bool
    values: tuple[Column, ...]
    program: Program

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        self.program.unpack()
        first = 0
        for batch in batches:
            columns = [column.values(batch) for column in self.values]
            items: list[Any] = list(zip(*columns, strict=True)) if len(columns) > 1 else columns[0]
            shares = [
                items if self.to_all else items[(i - first) % self.parallelism :: self.parallelism]
                for i in range(self.parallelism)
            ]
            first += len(items)
            yield _routed(
                (slot, self.operator, self.step, _NO_KEY_GROUP, pickle.dumps(share, 5))
                for slot, share in enumerate(shares)
                if share
            )


def checked_keys(keys: list[Any], serializer: TypeSerializer[Any]) -> list[Any]:
    """Return keys as they are after a way through their type; refuse what can be none."""
    for key in keys[:1]:
        try:
            hash(key)
        except TypeError:
            raise ConfigurationError(
                f"{key!r} ({type(key).__name__}) cannot be a key: it is not hashable. Give the key a type, such as a "
                "tuple, or make it one with a function"
            ) from None
    typed = not isinstance(serializer, PickleSerializer | HintedSerializer)
    return serializer.converted(keys) if typed else keys


def _routed(rows: Iterator[tuple[int, int, int, int, bytes]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * 5
    kinds = [pa.int32(), pa.int32(), pa.int32(), pa.int32(), pa.binary()]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=ROUTED.names)
