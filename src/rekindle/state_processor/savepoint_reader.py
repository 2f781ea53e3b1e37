"""Reads the state of a savepoint or checkpoint as DataFrames.

What needs Spark is imported where it is used: the command line looks into savepoints without it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from rekindle.contracts.declared_types import declared_type
from rekindle.contracts.key_groups import key_group_range
from rekindle.exceptions import ConfigurationError
from rekindle.state.blocks import EVENT_TIMERS, PROCESSING_TIMERS
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state_processor.contents import SnapshotContents, cut
from rekindle.state_processor.description import OperatorDescription, describe_contents
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.state_types import keyed_state_types, list_state_serializers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rekindle.state_processor.reader_function import KeyedStateReaderFunction
    from rekindle.state_processor.readings import Part, Reading

__all__ = ["SavepointReader"]

_PART_BYTES = 64 << 20


class SavepointReader:
    """Read a savepoint or checkpoint, of any format, with Spark. Its tasks read the parts; the driver sees no state.

    Example::

        reader = SavepointReader.read(spark, "/savepoints/savepoint-4f5e60-9d2c")
        reader.keyed_state("counts", "count").where("value > 100").show()
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        from rekindle.runtime.spark.session import prepare_session

        prepare_session(spark)
        self._spark = spark
        self.snapshot = snapshot

    @staticmethod
    def read(spark: SparkSession, path: str) -> SavepointReader:
        """Open a savepoint or checkpoint.

        Args:
            spark: The session that reads it.
            path: Its directory, its metadata file, or the directory of a job, whose newest checkpoint is read. All
                machines of the cluster must reach it.

        Raises:
            StateRestoreError: There is none.
        """
        return SavepointReader(spark, Snapshot.open(path))

    def operators(self) -> list[OperatorDescription]:
        """Describe the operators: their states, types and sizes."""
        found: list[OperatorDescription] = self._ask(describe_contents)
        return found

    def keyed_state(
        self,
        uid: str,
        name: str,
        schema: str | StructType | None = None,
        convert: Callable[[Any, Any, Any], Any] | None = None,
    ) -> DataFrame:
        """Read a keyed state.

        The columns are ``key``, in the state of windows ``namespace``, then ``value``, with time-to-live
        ``last_access`` in milliseconds. A list is an array. A map has a row for each entry, with ``map_key`` and
        ``map_value``. Values whose type Spark has nothing for are pickles.

        Args:
            uid: The operator.
            name: The name of the state.
            schema: Other names and types for the columns, in their order: for values without a type.
            convert: Makes the row of an entry, given its key, namespace and value: a tuple, dict or Row of ``schema``;
                None: no row.

        Raises:
            StateNotFoundError: There is no such operator or state.
        """
        from rekindle.state_processor.readings import ConvertedReading, KeyedReading

        types = self._ask(partial(_types_of, uid=uid, name=name))
        reading = KeyedReading(uid, name, types.get(name))
        if convert is None:
            return self._read(reading, self._key_groups(uid), schema)
        if schema is None:
            raise ConfigurationError("keyed_state with convert= needs the schema= of the rows that it makes")
        return self._read(ConvertedReading(reading, _struct(schema), convert), self._key_groups(uid), None)

    def list_state(self, uid: str, name: str, schema: str | StructType | None = None) -> DataFrame:
        """Read an operator's list state that is split at a restore: columns ``subtask`` and ``value``."""
        return self._list(uid, name, DistributionMode.SPLIT, schema)

    def union_state(self, uid: str, name: str, schema: str | StructType | None = None) -> DataFrame:
        """Read an operator's union list state: columns ``subtask`` and ``value``."""
        return self._list(uid, name, DistributionMode.UNION, schema)

    def broadcast_state(self, uid: str, name: str, schema: str | StructType | None = None) -> DataFrame:
        """Read an operator's broadcast state: columns ``key`` and ``value``."""
        from rekindle.state_processor.readings import BroadcastReading

        stored = self._list_serializers(uid, name, DistributionMode.BROADCAST)
        return self._read(BroadcastReading(uid, name, stored), [range(1)], schema)

    def timers(self, uid: str, schema: str | StructType | None = None) -> DataFrame:
        """Read the timers of an operator: columns ``domain`` (event, processing), ``timestamp``, ``key``, and for
        windows ``namespace``.
        """
        from rekindle.state_processor.readings import TimersReading

        types = self._ask(partial(keyed_state_types, uid=uid))
        known = types.get(EVENT_TIMERS) or types.get(PROCESSING_TIMERS)
        return self._read(TimersReading(uid, known), self._key_groups(uid), schema)

    def read_keyed_state(
        self,
        uid: str,
        function: KeyedStateReaderFunction,
        schema: str | StructType,
        key_type: Any = None,
    ) -> DataFrame:
        """Read several states of an operator at once, key by key, with a function.

        Args:
            uid: The operator.
            function: Asks for states in ``open`` and makes rows for each key in ``read_key``.
            schema: The schema of these rows.
            key_type: The type of the keys; None: as they were written.
        """
        from rekindle.state_processor.keyed_state_reader import FunctionReading

        self.snapshot.operator(uid)
        declared = None if key_type is None else declared_type(key_type, "key_type of read_keyed_state")
        reading = FunctionReading(uid, function, _struct(schema), declared)
        return self._read(reading, self._key_groups(uid), None)

    # --- parts ---

    def _list(self, uid: str, name: str, mode: DistributionMode, schema: str | StructType | None) -> DataFrame:
        from rekindle.state_processor.readings import ListReading

        reading = ListReading(uid, name, self._list_serializers(uid, name, mode))
        subtasks = range(self.snapshot.operator(uid).parallelism)
        return self._read(reading, [range(subtask, subtask + 1) for subtask in subtasks], schema)

    def _list_serializers(self, uid: str, name: str, mode: DistributionMode) -> tuple[bytes, ...]:
        stored: tuple[bytes, ...] = self._ask(partial(list_state_serializers, uid=uid, name=name))
        found = self.snapshot.operator(uid).list_states[name].mode
        if found is not mode:
            raise ConfigurationError(
                f"state {name!r} of operator {uid!r} is {found} state, not {mode}; read it with "
                f"{'list' if found is DistributionMode.SPLIT else found}_state()"
            )
        return stored

    def _key_groups(self, uid: str) -> list[Part]:
        """Cut the key groups of an operator into parts: files of RocksDB are one, others as many as are worth it."""
        operator, metadata = self.snapshot.operator(uid), self.snapshot.metadata
        wanted = max(self._spark.sparkContext.defaultParallelism, metadata.state_size // _PART_BYTES)
        native = {handle.slot for handle in metadata.handles if any(part.uid == uid for part in handle.native)}
        parts: list[Part] = []
        for old in range(operator.parallelism if operator.keyed_states else 0):
            written = key_group_range(old, operator.parallelism, operator.max_parallelism)
            parts += [written] if old in native else cut(written, -(-wanted // operator.parallelism))
        return parts

    def _read(self, reading: Reading, parts: list[Part], schema: str | StructType | None) -> DataFrame:
        from rekindle.state_processor.reading_tasks import read_as_data_frame
        from rekindle.state_processor.readings import GivenTypes

        if schema is not None:
            given, columns = _struct(schema), [name for name, _ in reading.columns()]
            if len(given.fields) != len(columns):
                raise ConfigurationError(
                    f"the schema {given.simpleString()} has {len(given.fields)} columns, and there are {len(columns)}: "
                    f"{', '.join(columns)}"
                )
            reading = GivenTypes(reading, given)
        return read_as_data_frame(self._spark, self.snapshot, reading, parts)

    def _ask(self, question: Callable[[SnapshotContents], Any]) -> Any:
        from rekindle.state_processor.reading_tasks import ask

        return ask(self._spark, self.snapshot, question)


def _types_of(contents: SnapshotContents, uid: str, name: str) -> Any:
    contents.keyed_operator(uid, name)
    return keyed_state_types(contents, uid)


def _struct(schema: str | StructType) -> StructType:
    from pyspark.sql.types import StructType

    if isinstance(schema, str):
        parsed = StructType.fromDDL(schema)
        assert isinstance(parsed, StructType)
        return parsed
    return schema
