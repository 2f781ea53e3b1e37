"""A program with every kind of state, run in the test's process, whose types a later version of it may change.

All states of the program hold values of one type. What a program of another version makes of them is then one table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.snapshot_file import SnapshotReader
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.wire import messages as m
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.blocks import TIMERS
from support.in_process_job import DeclinedError, InProcessJob

OPERATOR, UID = "everything", "everything-uid"
KEYED = ("value", "list", "map", "reducing", "aggregating", "windowed")
OPERATOR_STATES = ("split", "union", "broadcast")


class Last(AggregateFunction):
    """Keep the last value."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_b


def last(one: Any, other: Any) -> Any:
    """Reduce to the last value."""
    return other


class Everything(KeyedProcessFunction, CheckpointedFunction):
    """Keep values of one type in every kind of state."""

    def __init__(
        self,
        kind: Any,
        map_key: Any = str,
        broadcast_key: Any = str,
        asks: Sequence[str] = (*KEYED, *OPERATOR_STATES),
    ) -> None:
        """Choose the types.

        Args:
            kind: The type of all values.
            map_key: The type of the keys of the map state.
            broadcast_key: The type of the keys of the broadcast state.
            asks: Which states to ask for.
        """
        self.kind = kind
        self.map_key = map_key
        self.broadcast_key = broadcast_key
        self.asks = asks

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        if "split" in self.asks:
            self.split = store.get_list_state(ListStateDescriptor("split", self.kind))
        if "union" in self.asks:
            self.union = store.get_union_list_state(ListStateDescriptor("union", self.kind))
        if "broadcast" in self.asks:
            self.broadcast = store.get_broadcast_state(MapStateDescriptor("broadcast", self.broadcast_key, self.kind))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        pass

    def open(self, runtime_context: RuntimeContext) -> None:
        gets = {
            "value": runtime_context.get_state,
            "list": runtime_context.get_list_state,
            "map": runtime_context.get_map_state,
            "reducing": runtime_context.get_reducing_state,
            "aggregating": runtime_context.get_aggregating_state,
        }
        for name, get in gets.items():
            if name in self.asks:
                setattr(self, name, get(self.descriptor(name)))  # type: ignore[operator]

    def descriptor(self, name: str) -> StateDescriptor:
        """Describe a keyed state."""
        match name:
            case "list":
                return ListStateDescriptor(name, self.kind)
            case "map":
                return MapStateDescriptor(name, self.map_key, self.kind)
            case "reducing":
                return ReducingStateDescriptor(name, last, self.kind)
            case "aggregating":
                return AggregatingStateDescriptor(name, Last(), self.kind)
        return ValueStateDescriptor(name, self.kind)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        return iter(())


def program(function: Everything, key_type: Any = None) -> StreamExecutionEnvironment:
    """Make the job of the function."""
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection([]).uid("nothing")
    stream.key_by(lambda record: record, key_type).process(function).uid(UID).name(OPERATOR)
    return environment


class RunningProgram:
    """Run the program; use as a context manager."""

    def __init__(
        self,
        function: Everything,
        directory: Path,
        backend: BackendSettings,
        restore: StoredCheckpoint | None = None,
        key_type: Any = None,
    ) -> None:
        """Start it.

        Args:
            function: What runs.
            directory: Where its checkpoints go.
            backend: Where its keyed state is.
            restore: What to restore from.
            key_type: The type of its keys, if it declares one.

        Raises:
            Exception: What the restore raised.
        """
        files = LocalCheckpointFiles(str(directory))
        backend = replace(backend, local_directories=(str(directory / "local"),))
        try:
            self.job = InProcessJob(program(function, key_type), files=files, restore=restore, backend=backend)
        except OperatorError as error:
            raise (error.__cause__ or error) from None
        operator = next(run.operator for run in self.job.slots[0]._graph if isinstance(run.operator, KeyedOperator))
        self.operator = operator
        self.function: Any = operator.function
        self._directory = directory
        try:
            if "windowed" in self.function.asks:
                self.windowed = operator.backend.get_or_create_namespaced(function.descriptor("windowed"))
        except BaseException:
            self.job.close()
            raise

    def __enter__(self) -> RunningProgram:
        return self

    def __exit__(self, *error: object) -> None:
        self.job.close()

    def ask_for_keyed(self, name: str) -> None:
        """Ask for a keyed state that the function did not ask for."""
        descriptor = self.function.descriptor(name)
        if name == "windowed":
            self.operator.backend.get_or_create_namespaced(descriptor)
        else:
            self.operator.backend.get_or_create(descriptor)

    def put_keyed(self, key: Any, values: list[Any], map_keys: Sequence[Any] = ("one", "two")) -> None:
        """Put two values into every keyed state of a key."""
        first, second = values
        state = self.function
        self.operator.backend.key = key
        state.value.update(first)
        state.list.add_all([first, second])
        state.map.put_all({map_keys[0]: first, map_keys[1]: second})
        for accumulating in (state.reducing, state.aggregating):
            accumulating.add(first)
            accumulating.add(second)
        for window, value in enumerate(values):
            self.windowed.use(window).update(value)  # type: ignore[attr-defined]

    def keyed(self, key: Any) -> dict[str, Any]:
        """Return what the keyed states of a key hold, those that were asked for."""
        self.operator.backend.key = key
        found = {
            name: read(getattr(self.function, name)) for name, read in _READ_KEYED.items() if name in self.function.asks
        }
        if "windowed" in self.function.asks:
            found["windowed"] = [self.windowed.use(window).value() for window in range(2)]  # type: ignore[attr-defined]
        return found

    def put_operator(self, values: list[Any], keys: Sequence[Any] = ("one", "two")) -> None:
        """Put two values into every operator state, instead of what is there."""
        self.function.split.update(list(values))
        self.function.union.update(list(values))
        self.function.broadcast.clear()
        self.function.broadcast.put_all({**dict(zip(keys, values, strict=True))})

    def operator_states(self) -> dict[str, Any]:
        """Return what the operator states hold, those that were asked for."""
        reads = {"split": list, "union": list, "broadcast": lambda state: dict(state.items())}
        return {name: read(getattr(self.function, name)) for name, read in reads.items() if name in self.function.asks}

    def checkpoint(self) -> StoredCheckpoint:
        """Take a checkpoint."""
        return self.job.checkpoint()

    def savepoint(self) -> StoredCheckpoint:
        """Take a savepoint."""
        job = self.job
        savepoints = job._executor._savepoints
        future = savepoints.request(str(self._directory / "savepoints"))
        job.clock.advance(1_000)
        assert savepoints.begin(job.coordinator.next_checkpoint_id)
        job._executor.run(job.coordinator, job.coordinator.trigger(job.clock.now(), 0, savepoint=True))
        for _ in job.slots:
            index, answer = job._answers.get(timeout=30)
            if isinstance(answer, m.SnapshotFailed):
                raise DeclinedError(answer.reason)
            assert isinstance(answer, m.SnapshotDone)
            now = job.clock.now()
            then = job.coordinator.acknowledge(now, answer.attempt, answer.checkpoint_id, index, answer.snapshot())
            job._executor.run(job.coordinator, then)
        return RestorePath(future.result(0)).current


_READ_KEYED: dict[str, Any] = {
    "value": lambda state: state.value(),
    "list": list,
    "map": lambda state: dict(state.items()),
    "reducing": lambda state: state.get(),
    "aggregating": lambda state: state.get(),
}


def held(values: list[Any], map_keys: Sequence[Any] = ("one", "two")) -> dict[str, Any]:
    """Return what the keyed states of a key hold after two values were put there."""
    first, second = values
    return {
        "value": first,
        "list": [first, second],
        "map": {map_keys[0]: first, map_keys[1]: second},
        "reducing": second,
        "aggregating": second,
        "windowed": [first, second],
    }


def held_by_operator(values: list[Any], keys: Sequence[Any] = ("one", "two")) -> dict[str, Any]:
    """Return what the operator states hold after two values were put there."""
    return {"split": list(values), "union": list(values), "broadcast": dict(zip(keys, values, strict=True))}


def stored_serializers(savepoint: StoredCheckpoint) -> dict[str, set[bytes]]:
    """Return the snapshots of the serializers of values, by the names of the states, as they are in the files."""
    found: dict[str, set[bytes]] = {}
    assert savepoint.files is not None
    files = [file for handle in savepoint.metadata.handles for file in (*handle.before, handle.file)]
    for file in files:
        with savepoint.files.open(f"{savepoint.directory}/{file.path}") as source:
            for operator in SnapshotReader(source, "savepoint").index.operators:
                if operator.uid != UID:
                    continue
                for state in operator.keyed:
                    if state.kind != TIMERS and state.serializers is not None:
                        found.setdefault(state.name, set()).add(state.serializers.value)
                for items in operator.lists:
                    for part in items.parts:
                        found.setdefault(items.name, set()).add(part.serializers[-1])
    return found
