"""Writes a new savepoint from DataFrames, or from another savepoint with some of it changed.

What needs Spark is imported where it is used: the command line looks into savepoints without it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import msgspec

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, SourcePosition, encode_metadata
from rekindle.checkpoint.row_staging import copied_rows, marker_directory
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.contracts.key_groups import check_parallelism
from rekindle.exceptions import CheckpointError, ConfigurationError, StateNotFoundError
from rekindle.graph.struct_pickling import dumps
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state_processor.bootstrap import ListTransformation, StateTransformation
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.spark_checkpoint import source_position

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rekindle.state_processor.slot_writing import OperatorPlan, WrittenSlot

__all__ = ["SavepointWriter"]

_DEFAULT_MAX_PARALLELISM = 128


@dataclass(slots=True)
class _Operator:
    """Collect what is said about an operator."""

    uid: str
    carried: OperatorMetadata | None = None
    transformations: list[StateTransformation] = field(default_factory=list)


class SavepointWriter:
    """Write a savepoint: a normal one, from which jobs of any parallelism and backend are restored.

    Example::

        fixed = reader.keyed_state("counts", "count").replace(-1, 0, "value")
        writer = SavepointWriter.from_existing_savepoint(spark, path)
        writer.with_state("counts", keyed_state(fixed, ValueStateDescriptor("count", Types.LONG())))
        writer.write("/savepoints/fixed")
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot | None, max_parallelism: int, parallelism: int) -> None:
        from rekindle.runtime.spark.session import prepare_session

        check_parallelism(parallelism, max_parallelism)
        prepare_session(spark)
        self._spark = spark
        self._snapshot = snapshot
        self._max_parallelism = max_parallelism
        self._parallelism = parallelism
        self._operators: dict[str, _Operator] = {}
        self._positions: list[SourcePosition] = []
        if snapshot is not None:
            self._operators = {o.uid: _Operator(o.uid, o) for o in snapshot.metadata.operators}
            self._positions = list(snapshot.metadata.positions)

    @staticmethod
    def new_savepoint(
        spark: SparkSession, max_parallelism: int = _DEFAULT_MAX_PARALLELISM, parallelism: int | None = None
    ) -> SavepointWriter:
        """Begin with nothing.

        Args:
            spark: The session that writes it.
            max_parallelism: The number of key groups: no job restored from it can have a higher parallelism.
            parallelism: In how many files state is written, one task each; None: as Spark's default parallelism.
        """
        chosen = spark.sparkContext.defaultParallelism if parallelism is None else parallelism
        return SavepointWriter(spark, None, max_parallelism, min(chosen, max_parallelism))

    @staticmethod
    def from_existing_savepoint(spark: SparkSession, path: str) -> SavepointWriter:
        """Begin with all that a savepoint or checkpoint has. It stays as it is: what is taken over is copied."""
        snapshot = Snapshot.open(path)
        operators = snapshot.metadata.operators
        max_parallelism = max((o.max_parallelism for o in operators), default=_DEFAULT_MAX_PARALLELISM)
        return SavepointWriter(spark, snapshot, max_parallelism, max((o.parallelism for o in operators), default=1))

    # --- what to write ---

    def with_operator(self, uid: str, *transformations: StateTransformation) -> SavepointWriter:
        """Add an operator.

        Args:
            uid: Its uid in the job.
            transformations: What becomes its state.

        Raises:
            ConfigurationError: There is one with that uid; remove it before, or change one of its states.
        """
        if uid in self._operators:
            raise ConfigurationError(
                f"the savepoint has an operator with uid {uid!r} already. Remove it with remove_operator, or change "
                "single states of it with with_state"
            )
        self._operators[uid] = _Operator(uid, None, _checked(transformations))
        return self

    def with_state(self, uid: str, *transformations: StateTransformation) -> SavepointWriter:
        """Add states to an operator, or replace those of the same names; its other states and timers stay.

        Raises:
            StateNotFoundError: There is no such operator.
        """
        operator = self._find(uid)
        for transformation in _checked(transformations):
            if not transformation.states:
                raise ConfigurationError(
                    f"with_state of operator {uid!r} cannot tell which states a function writes; use keyed_state, or "
                    "write the operator anew with remove_operator and with_operator"
                )
            operator.transformations = [
                other for other in operator.transformations if not other.states & transformation.states
            ]
            operator.transformations.append(transformation)
        return self

    def with_source_position(
        self, uid: str, query_checkpoint: str, sources: Sequence[int] | None = None
    ) -> SavepointWriter:
        """Let a DataFrame source begin where a streaming query of Spark's has ended.

        Args:
            uid: The uid of the source in the job: that of ``from_data_frame``.
            query_checkpoint: The query's checkpoint location; the query has been stopped.
            sources: Which sources of the query are those of the DataFrame, counted from 0; None: all.

        Raises:
            StateNotFoundError: The query has committed no batch.
            ConfigurationError: The query has no such sources, or the savepoint has a position for that uid.
            CheckpointCorruptError: The query's offsets are in a format that is not known.
        """
        if uid in {position.uid for position in self._positions}:
            raise ConfigurationError(
                f"the savepoint has a position for the source with uid {uid!r} already. Remove it with remove_operator"
            )
        self._positions.append(source_position(uid, query_checkpoint, sources))
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave out an operator, and the position if it is a source."""
        if uid not in {position.uid for position in self._positions}:
            self._find(uid)
        self._operators.pop(uid, None)
        self._positions = [position for position in self._positions if position.uid != uid]
        return self

    def change_operator_identifier(self, uid: str, new_uid: str) -> SavepointWriter:
        """Change the uid of an operator."""
        operator = self._find(uid)
        if new_uid in self._operators:
            raise ConfigurationError(f"the savepoint has an operator with uid {new_uid!r} already")
        operator.uid = new_uid
        self._operators = {known.uid: known for known in self._operators.values()}
        self._positions = [
            msgspec.structs.replace(position, uid=new_uid) if position.uid == uid else position
            for position in self._positions
        ]
        return self

    # --- writing ---

    def write(self, path: str) -> str:
        """Write the savepoint; it is there when its metadata is, which is written last.

        Args:
            path: Its directory, which must be empty or not exist. All machines of the cluster must reach it.

        Returns:
            The directory.

        Raises:
            ConfigurationError: There is something in the directory.
        """
        from rekindle.state_processor.new_metadata import metadata_of

        files = checkpoint_files(path)
        if files.list(""):
            raise ConfigurationError(f"{files.root} is not empty: a savepoint needs a directory of its own")
        try:
            plans, written = self._write_slots(files.root)
            before = None if self._snapshot is None else self._snapshot.metadata
            modes = {operator.uid: self._modes(operator) for operator in self._operators.values()}
            metadata = metadata_of(before, plans, modes, written, self._positions, round(time.time() * 1000))
            self._remove_leftovers(files.root, metadata)
            metadata = self._with_rows(metadata, files)
            files.create(paths.METADATA, encode_metadata(metadata))
        except BaseException:
            with suppress(CheckpointError):
                files.delete("")
            raise
        return files.root

    def _write_slots(self, target: str) -> tuple[list[OperatorPlan], list[WrittenSlot]]:
        from pyspark.sql import functions as F  # noqa: N812 - the customary name

        from rekindle.runtime.spark.versions import repartition_by_id
        from rekindle.state_processor.planning import planned
        from rekindle.state_processor.routing import ROUTED
        from rekindle.state_processor.shipped_program import Program
        from rekindle.state_processor.slot_writing import WriteSlots, WrittenSlot

        program = Program.of_driver()
        plans: list[OperatorPlan] = []
        routed: list[DataFrame] = []
        for operator in self._operators.values():
            plan, rows = planned(
                self._spark,
                self._snapshot,
                operator.uid,
                operator.carried,
                operator.transformations,
                (self._parallelism, self._max_parallelism),
                len(plans),
                program,
            )
            plans.append(plan)
            routed += rows
        slots = max((plan.parallelism for plan in plans), default=1)
        nothing = [F.lit(-1).alias(name) for name in ("operator", "step", "key_group")]
        each = self._spark.range(0, slots, 1, 1).select(
            F.col("id").cast("int").alias("slot"), *nothing, F.lit(b"").alias("pairs")
        )
        everything = reduce(lambda one, other: one.union(other), [each, *routed])
        source = None if self._snapshot is None else self._snapshot.location
        task = WriteSlots(dumps(plans), target, source, program)
        reports: list[Any] = (
            repartition_by_id(everything, slots, "slot")
            .sortWithinPartitions(*ROUTED.names[:4])
            .mapInArrow(task, "written binary")
            .collect()
        )
        found = [msgspec.msgpack.decode(row[0], type=WrittenSlot) for row in reports]
        return plans, sorted(found, key=lambda written: written.slot)

    def _modes(self, operator: _Operator) -> dict[str, DistributionMode]:
        """Return how the operator states of an operator are dealt out."""
        carried = {} if operator.carried is None else operator.carried.list_states
        return {name: state.mode for name, state in carried.items()} | {
            transformation.descriptor.get_name(): transformation.mode
            for transformation in operator.transformations
            if isinstance(transformation, ListTransformation)
        }

    def _remove_leftovers(self, target: str, metadata: CheckpointMetadata) -> None:
        """Delete what tasks left behind that Spark ran twice."""
        files = checkpoint_files(target)
        known = {handle.file.path for handle in metadata.handles}
        for name in files.list(""):
            if name not in known:
                files.delete(name)

    def _with_rows(self, metadata: CheckpointMetadata, files: CheckpointFiles) -> CheckpointMetadata:
        """Take along rows that wait for the driver to commit them."""
        if self._snapshot is None or not self._snapshot.metadata.has_staged_rows:
            return metadata
        stored, before = self._snapshot.stored, self._snapshot.metadata
        assert stored.files is not None
        markers = stored.files.list(marker_directory(stored.directory, before.savepoint))
        operators = []
        for operator in metadata.operators:
            carried = self._operators[operator.uid].carried
            if carried is not None:
                done = paths.committed_version(markers, f"{before.job_id}-{carried.uid}")
                waiting = [rows for rows in carried.staged if done is None or rows.version > done]
                staged = copied_rows(waiting, stored.files, stored.directory, files)
                operator = msgspec.structs.replace(operator, staged=staged)
            operators.append(operator)
        return msgspec.structs.replace(metadata, operators=operators)

    def _find(self, uid: str) -> _Operator:
        operator = self._operators.get(uid)
        if operator is None:
            known = ", ".join(map(repr, self._operators)) or "none"
            raise StateNotFoundError(f"the savepoint has no operator with uid {uid!r}; it has {known}")
        return operator


def _checked(transformations: Sequence[Any]) -> list[StateTransformation]:
    for transformation in transformations:
        if not isinstance(transformation, StateTransformation):
            raise TypeError(
                f"{transformation!r} is nothing that becomes state; make one with keyed_state, list_state, "
                "broadcast_state or OperatorTransformation.bootstrap_with(…).key_by(…).transform(…)"
            )
    return list(transformations)
