"""No checkpoint completes that cannot be restored, whatever is put into whichever piece of state.

A value is put somewhere: then either the call raises, or the checkpoint is declined with words, or a job restored from
the checkpoint has an equal value there.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekindle.checkpoint.metadata import CheckpointMetadata, decode_metadata, encode_metadata
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Time, Types
from rekindle.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.base import Sink, SinkWriter, SinkWriterContext
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    ListCheckpointed,
    ProcessWindowFunction,
    SourceFunction,
)
from rekindle.datastream.operators import (
    AbstractStreamOperator,
    OneInputStreamOperator,
    StateInitializationContext,
    StateSnapshotContext,
    StreamRecord,
    Triggerable,
)
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.datastream.window import GlobalWindows, Trigger, TriggerResult, Window, WindowAssigner
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.wire import messages as m
from rekindle.serialization import SimpleTypeSerializerSnapshot, TypeSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from support.in_process_job import DeclinedError, InProcessJob
from support.odd_values import ODD, UNREADABLE, NeedsTwoArguments, RefusesUnpickling, alike
from support.processes import wait_until

NOTHING = object()
EXAMPLES = 10


@dataclass
class Case:
    """What the functions of the job under test, which run in this process, work with."""

    value: Any = None
    found: Any = NOTHING
    calls: list[str] = field(default_factory=list)


CASE = Case()


# --- pieces of state: each is a stream that keeps CASE.value when it gets "put", and finds it for "find" ---


class Keeper(KeyedProcessFunction):
    """Keep the value in one keyed state."""

    def __init__(
        self, state: Callable[[Any], Any], put: Callable[[Any, Any], None], find: Callable[[Any], Any]
    ) -> None:
        self._of, self._put, self._find = state, put, find

    def open(self, runtime_context: Any) -> None:
        self.state = self._of(runtime_context)

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        if value == "put":
            self._put(self.state, CASE.value)
        elif value == "find":
            CASE.found = self._find(self.state)
        return ()


class First(AggregateFunction):
    """Let the accumulator be what is added."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise AssertionError


def keyed(
    state: Callable[[Any], Any], put: Callable[[Any, Any], None], find: Callable[[Any], Any]
) -> Callable[[DataStream], DataStream]:
    return lambda stream: stream.key_by(lambda _: "key").process(Keeper(state, put, find))


def value_of(type_info: Any = None, ttl: bool = False) -> Callable[[DataStream], DataStream]:
    descriptor = ValueStateDescriptor("odd", type_info)
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    return keyed(lambda c: c.get_state(descriptor), lambda s, v: s.update(v), lambda s: s.value())


def _list(context: Any) -> Any:
    return context.get_list_state(ListStateDescriptor("odd"))


def _map(context: Any) -> Any:
    return context.get_map_state(MapStateDescriptor("odd"))


def _reducing(context: Any) -> Any:
    return context.get_reducing_state(ReducingStateDescriptor("odd", lambda one, _: one))


def _aggregating(context: Any) -> Any:
    return context.get_aggregating_state(AggregatingStateDescriptor("odd", First()))


def _folding(context: Any) -> Any:
    with pytest.warns(DeprecationWarning, match="Folding"):
        return context.get_folding_state(FoldingStateDescriptor("odd", 0, lambda _, value: value))


class Store(ProcessFunction, CheckpointedFunction):
    """Keep the value in one operator state."""

    def __init__(
        self, state: Callable[[Any], Any], put: Callable[[Any, Any], None], find: Callable[[Any], Any]
    ) -> None:
        self._of, self._put, self._find = state, put, find

    def initialize_state(self, context: Any) -> None:
        self.state = self._of(context.get_operator_state_store())

    def snapshot_state(self, context: Any) -> None:
        pass

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        if value == "put":
            self._put(self.state, CASE.value)
        elif value == "find":
            CASE.found = self._find(self.state)
        return ()


def operator(
    state: Callable[[Any], Any], put: Callable[[Any, Any], None], find: Callable[[Any], Any]
) -> Callable[[DataStream], DataStream]:
    return lambda stream: stream.process(Store(state, put, find))


class Listed(ProcessFunction, ListCheckpointed):
    """Return the value from ``snapshot_state``."""

    kept: list[Any]

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[Any]:
        return self.kept

    def restore_state(self, state: list[Any]) -> None:
        self.kept = state

    def open(self, runtime_context: Any) -> None:
        self.kept = getattr(self, "kept", [])

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        if value == "put":
            self.kept = [CASE.value]
        elif value == "find":
            CASE.found = first(self.kept)
        return ()


class TimerSetter(KeyedProcessFunction):
    """Set a timer for the value."""

    def __init__(self, event_time: bool) -> None:
        self._event_time = event_time

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        if value == "put" and self._event_time:
            timers.register_event_time_timer(CASE.value)
        elif value == "put":
            timers.register_processing_time_timer(CASE.value)
        elif value == "find":
            queue = ctx.event_timers if self._event_time else ctx.processing_timers
            CASE.found = queue.latest_timestamp()
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        CASE.found = timestamp
        return ()


class TimerOfKey(KeyedProcessFunction):
    """Set a timer for a key that is the value."""

    def process_element(self, value: str, ctx: Any) -> Iterable[Any]:
        if value == "put":
            ctx.timer_service().register_event_time_timer(1_000)
        elif value == "find":
            CASE.found = next(iter(ctx.event_timers._live), (NOTHING,))[0]
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        return ()


class NamespaceTimer(AbstractStreamOperator, OneInputStreamOperator, Triggerable):
    """Set a timer whose namespace is the value."""

    def open(self) -> None:
        self.timers = self.get_internal_timer_service("odd", None, self)

    def process_element(self, record: StreamRecord[Any]) -> None:
        if record.value == "put":
            self.timers.register_event_time_timer(CASE.value, 1_000)
        elif record.value == "find":
            live: Any = self.timers
            CASE.found = next(iter(live.event._live), ((None, NOTHING), 0))[0][1]

    def on_event_time(self, timer: Any) -> None:
        pass

    def on_processing_time(self, timer: Any) -> None:
        pass


class RawWriter(AbstractStreamOperator, OneInputStreamOperator):
    """Write the value as raw state."""

    def __init__(self, keyed: bool) -> None:
        self._keyed = keyed
        self._kept: Any = None
        self._restored: Any = NOTHING

    def initialize_state(self, context: StateInitializationContext) -> None:
        inputs = (
            (part.stream for part in context.get_raw_keyed_state_inputs())
            if self._keyed
            else context.get_raw_operator_state_inputs()
        )
        self._restored = next((stream.read() for stream in inputs), NOTHING)

    def process_element(self, record: StreamRecord[Any]) -> None:
        if record.value == "put":
            self._kept = (CASE.value,)
        elif record.value == "find":
            CASE.found = self._restored

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        if self._kept is None:
            return
        if self._keyed:
            output = context.get_raw_keyed_operator_state_output()
            output.start_new_key_group(next(iter(output.get_key_group_list())))
            output.write(self._kept[0])
        else:
            context.get_raw_operator_state_output().write(self._kept[0])


class OddWindow(Window):
    """Be a window that holds the value."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def max_timestamp(self) -> int:
        return 1_000

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OddWindow)

    def __hash__(self) -> int:
        return 7


class OddWindows(WindowAssigner[Any, OddWindow]):
    """Put everything into a window that holds the value."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[OddWindow]:
        return [OddWindow(CASE.value)] if element == "put" else []

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return Kept()

    def get_window_serializer(self) -> TypeSerializer[Any]:
        return PickleSerializer()

    def is_event_time(self) -> bool:
        return True


class Kept(Trigger):
    """Keep the value in the trigger's state, and show it."""

    descriptor = ValueStateDescriptor("odd")

    def on_element(self, element: str, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        state = ctx.get_partitioned_state(self.descriptor)
        if element == "put":
            state.update(CASE.value)
        elif element == "find":
            CASE.found = state.value()
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: Any, ctx: Any) -> None:
        raise AssertionError

    def clear(self, window: Any, ctx: Any) -> None:
        pass


class Committing(Sink):
    """Prepare the value as a committable."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return CommittingWriter()


class CommittingWriter(SinkWriter):
    def __init__(self) -> None:
        self.kept: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        self.kept = [CASE.value for value in values if value == "put"]

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        kept, self.kept = self.kept, []
        return kept

    def commit(self, committables: list[bytes]) -> None:
        CASE.found = first(committables)

    def abort_leftovers(self) -> None:
        pass

    def close(self) -> None:
        pass


class Emitting(SourceFunction, CheckpointedFunction):
    """Have the value as an element that nobody has taken yet, or as its state."""

    def __init__(self, as_state: bool) -> None:
        self._as_state = as_state
        self._cancelled = False

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("odd"))
        if self._as_state and context.is_restored():
            CASE.found = first(self.state.get())
        self._restored = context.is_restored()

    def snapshot_state(self, context: Any) -> None:
        if self._as_state and not self._restored:
            self.state.update([CASE.value])

    def run(self, ctx: Any) -> None:
        ctx.collect("ready")
        while not self._cancelled and "go" not in CASE.calls:
            asyncio.run(asyncio.sleep(0.001))
        if not self._as_state and not self._restored:
            ctx.collect(CASE.value)
            CASE.calls.append("emitted")
        while not self._cancelled:
            asyncio.run(asyncio.sleep(0.001))

    def cancel(self) -> None:
        self._cancelled = True


class Found(ProcessFunction):
    """Note what comes, apart from the commands."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if not (isinstance(value, str) and value in ("put", "find", "rest", "ready")):
            CASE.found = value
        return ()


class Odd(ProcessFunction):
    """Turn "put" into the value."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if isinstance(value, str) and value == "put":
            yield CASE.value


class OddOrAsked(Odd):
    """Turn "put" into the value, and pass "find" on."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield from super().process_element(value, ctx)
        if isinstance(value, str) and value == "find":
            yield value


class FiresWhenAsked(Kept):
    """Fire when "find" comes."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if isinstance(element, str) and element == "find" else TriggerResult.CONTINUE


class ShowsFirst(ProcessWindowFunction):
    """Show the first element of the window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        CASE.found = first(elements)
        return ()


class Unanswered(AsyncFunction):
    """Never answer, and note what is asked."""

    async def async_invoke(self, value: Any) -> list[Any]:
        CASE.found = value
        await asyncio.sleep(3_600)
        return []


def loop(stream: DataStream) -> DataStream:
    looped = stream.process(Odd()).iterate()
    looped.close_with(looped.process(Passed()))
    return looped


class Passed(ProcessFunction):
    """Note what goes round."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        CASE.found = value
        yield value


def odd_key(_: Any) -> Any:
    return CASE.value


def first(values: Iterable[Any]) -> Any:
    return next(iter(values), NOTHING)


PIECES: dict[str, Callable[[DataStream], Any]] = {
    "value": value_of(),
    "value, pickled": value_of(Types.PICKLED_BYTE_ARRAY()),
    "value with time to live": value_of(ttl=True),
    "long": value_of(Types.LONG()),
    "big int": value_of(Types.BIG_INT()),
    "string": value_of(Types.STRING()),
    "double": value_of(Types.DOUBLE()),
    "list of longs": value_of(Types.LIST(Types.LONG())),
    "tuple with a pickle": value_of(Types.TUPLE([Types.PICKLED_BYTE_ARRAY()])),
    "list": keyed(_list, lambda s, v: s.add(v), lambda s: first(s.get())),
    "map value": keyed(_map, lambda s, v: s.put("key", v), lambda s: s.get("key")),
    "map key": keyed(_map, lambda s, v: s.put(v, 1), lambda s: first(s.keys())),
    "reducing": keyed(_reducing, lambda s, v: s.add(v), lambda s: s.get()),
    "aggregating": keyed(_aggregating, lambda s, v: s.add(v), lambda s: s.get()),
    "folding": keyed(_folding, lambda s, v: s.add(v), lambda s: s.get()),
    "split list": operator(
        lambda s: s.get_list_state(ListStateDescriptor("odd")), lambda s, v: s.add(v), lambda s: first(s.get())
    ),
    "union list": operator(
        lambda s: s.get_union_list_state(ListStateDescriptor("odd")), lambda s, v: s.add(v), lambda s: first(s.get())
    ),
    "broadcast value": operator(
        lambda s: s.get_broadcast_state(MapStateDescriptor("odd")), lambda s, v: s.put(1, v), lambda s: s.get(1)
    ),
    "broadcast key": operator(
        lambda s: s.get_broadcast_state(MapStateDescriptor("odd")), lambda s, v: s.put(v, 1), lambda s: first(s.keys())
    ),
    "list checkpointed": lambda stream: stream.process(Listed()),
    "event-time timer": lambda stream: stream.key_by(lambda _: "key").process(TimerSetter(True)),
    "processing-time timer": lambda stream: stream.key_by(lambda _: "key").process(TimerSetter(False)),
    "key": lambda stream: stream.key_by(odd_key).process(
        Keeper(
            lambda c: c.get_state(ValueStateDescriptor("odd")),
            lambda s, v: s.update([v]),
            lambda s: first(s.value() or ()),
        )
    ),
    "key of a timer": lambda stream: stream.key_by(odd_key).process(TimerOfKey()),
    "namespace of a timer": lambda stream: stream.key_by(lambda _: "key").transform(
        "odd", Types.PICKLED_BYTE_ARRAY(), NamespaceTimer()
    ),
    "raw keyed state": lambda stream: stream.key_by(lambda _: "key").transform(
        "odd", Types.PICKLED_BYTE_ARRAY(), RawWriter(True)
    ),
    "raw operator state": lambda stream: stream.transform("odd", Types.PICKLED_BYTE_ARRAY(), RawWriter(False)),
    "trigger's state": lambda stream: (
        stream.key_by(lambda _: "key").window(GlobalWindows.create()).trigger(Kept()).reduce(lambda one, _: one)
    ),
    "element of a window": lambda stream: (
        stream.process(OddOrAsked())
        .key_by(lambda _: "key")
        .window(GlobalWindows.create())
        .trigger(FiresWhenAsked())
        .process(ShowsFirst())
    ),
    "async element": lambda stream: AsyncDataStream.unordered_wait(
        stream.process(Odd()), Unanswered(), Time.hours(1), 10
    ),
    "committable": lambda stream: stream.sink_to(Committing()),
    "record in a loop": loop,
}
TYPES = {
    "long": Types.LONG(),
    "big int": Types.BIG_INT(),
    "string": Types.STRING(),
    "double": Types.DOUBLE(),
    "list of longs": Types.LIST(Types.LONG()),
    "tuple with a pickle": Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]),
}
KEYED = [*list(PIECES)[: list(PIECES).index("folding") + 1], "key", "trigger's state"]

FORMS: dict[str, BackendSettings] = {
    "heap": BackendSettings(),
    "heap, incremental": BackendSettings(incremental=True),
    "heap, savepoint": BackendSettings(),
    "RocksDB": BackendSettings(RocksDBSettings()),
    "RocksDB without a cache": BackendSettings(RocksDBSettings(cache_entries=0)),
    "RocksDB, incremental": BackendSettings(RocksDBSettings(), incremental=True),
    "RocksDB, savepoint": BackendSettings(RocksDBSettings()),
}


def program(piece: str, commands: list[str]) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(commands).uid("/".join(commands))
    result = PIECES[piece](stream)
    result.uid("odd").name("Odd")
    return environment


def outcome(piece: str, value: Any, form: str, directory: Path) -> str:
    """Put a value into a piece of state, take a checkpoint, restore from it, and tell what came of it."""
    if piece in ("key", "key of a timer", "map key", "broadcast key") and not alike_itself(value):
        return "not to be found by itself"
    if piece == "processing-time timer" and type(value) in (int, np.int64) and value < 1_000_000:
        return "fired before the checkpoint"
    CASE.value, CASE.found, CASE.calls = value, NOTHING, []
    files = LocalCheckpointFiles(str(directory))
    try:
        job = InProcessJob(program(piece, ["rest", "put", "rest"]), files=files, backend=FORMS[form])
    except OperatorError:
        return "refused"
    try:
        with job:
            job.run_epoch(1)
            if "incremental" in form:
                job.checkpoint()
            job.run_epoch(1)
            if piece == "async element":
                wait_until(lambda: CASE.found is not NOTHING, "the request is under way")
            stored = savepoint(job, directory / "savepoints") if "savepoint" in form else job.checkpoint(notify=False)
    except OperatorError:
        return "refused"
    except DeclinedError as error:
        return _declined(str(error), piece)
    CASE.found = NOTHING
    again = InProcessJob(
        program(piece, ["find", "rest"]), backend=FORMS[form], files=files, restore=allowed(stored, piece)
    )
    with again:
        again.run_epoch(1)
        if piece == "async element":
            wait_until(lambda: CASE.found is not NOTHING, "the request is under way again")
    expected = kept(piece, value)
    assert alike(CASE.found, expected), f"{expected!r} was restored as {CASE.found!r}"
    return "restored"


def _declined(message: str, piece: str) -> str:
    assert "operator 'Odd'" in message
    if piece in KEYED:
        assert "state 'odd'" in message or "state '_trigger-odd'" in message
    return "declined"


def alike_itself(key: Any) -> bool:
    """Return whether a key equals itself: what does not, such as what is no number, is found by nobody."""
    try:
        return bool(key == pickle.loads(pickle.dumps(key)))
    except Exception:
        return True


def kept(piece: str, value: Any) -> Any:
    """Return what a piece of state has after a value was put there."""
    if piece in ("list", "split list", "union list", "list checkpointed", "committable"):
        return value if value is not None else NOTHING
    if piece in TYPES and value is not None:
        return serializer_of(TYPES[piece]).converted([value])[0]
    if piece in ("raw keyed state", "raw operator state"):
        return memoryview(value).tobytes()  # as every stream of bytes, it takes whatever is made of them
    return value


def allowed(stored: Any, piece: str) -> Any:
    """Leave the position of the source out: the job that asks has another."""
    import msgspec

    operators = [operator for operator in stored.metadata.operators if operator.uid != "rest/put/rest"]
    metadata = msgspec.structs.replace(stored.metadata, operators=operators)
    return type(stored)(metadata, stored.files, stored.directory)


def savepoint(job: InProcessJob, directory: Path) -> Any:
    """Take a savepoint, or raise what the slot says against it."""
    savepoints = job._executor._savepoints
    future = savepoints.request(str(directory))
    job.clock.advance(1_000)
    assert savepoints.begin(job.coordinator.next_checkpoint_id)
    job._executor.run(job.coordinator, job.coordinator.trigger(job.clock.now(), 0, savepoint=True))
    answer = job.hear_snapshot()
    if isinstance(answer, m.SnapshotFailed):
        raise DeclinedError(answer.reason)
    return RestorePath(future.result(0)).current


RANDOM = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(),
        st.binary(),
        st.sampled_from(list(ODD.values())),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.text(), inner)),
    max_leaves=5,
)


@pytest.mark.parametrize("piece", PIECES)
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=RANDOM, form=st.sampled_from(list(FORMS)))
def test_what_is_put_into_state_is_refused_or_declined_or_restored(
    piece: str, value: Any, form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outcome(piece, value, form, tmp_path_factory.mktemp("checkpoints"))


# --- rules, one by one ---


@pytest.mark.parametrize("form", ["heap", "heap, incremental", "RocksDB", "RocksDB, savepoint"])
@pytest.mark.parametrize("odd", UNREADABLE)
@pytest.mark.parametrize(
    "piece",
    ["value", "list", "map value", "reducing", "tuple with a pickle", "trigger's state", "element of a window"],
)
def test_what_can_be_written_and_not_be_read_declines_the_checkpoint(
    piece: str, odd: str, form: str, tmp_path: Path
) -> None:
    value = (ODD[odd],) if piece == "tuple with a pickle" else ODD[odd]
    assert outcome(piece, value, form, tmp_path) == "declined"


@pytest.mark.parametrize("odd", UNREADABLE)
@pytest.mark.parametrize(
    "piece",
    ["split list", "union list", "broadcast value", "list checkpointed", "namespace of a timer", "async element"],
)
def test_so_it_does_in_what_is_always_on_the_heap(piece: str, odd: str, tmp_path: Path) -> None:
    value = RefusesUnpickling() if piece == "namespace of a timer" else ODD[odd]
    assert outcome(piece, value, "heap", tmp_path) == "declined"


def test_a_cache_of_no_entries_raises_at_the_call(tmp_path: Path) -> None:
    assert outcome("value", RefusesUnpickling(), "RocksDB without a cache", tmp_path) == "refused"


@pytest.mark.parametrize("piece", ["value", "key", "map key", "event-time timer", "split list"])
@pytest.mark.parametrize("form", ["heap", "RocksDB"])
def test_what_a_forked_child_wrote_is_read_back_there(
    piece: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rekindle.runtime.slot.snapshotter._FORK_FROM_ENTRIES", 0)
    read = []
    monkeypatch.setattr("rekindle.runtime.slot.taken_snapshot.read_back", lambda *_: read.append("in the slot"))
    good = 7
    assert outcome(piece, good, form, tmp_path / "good") == "restored"
    if piece != "event-time timer":
        assert outcome(piece, RefusesUnpickling(), form, tmp_path / "bad") == "declined"
    assert read == []


@pytest.mark.parametrize("form", ["heap", "heap, incremental", "RocksDB", "RocksDB, incremental"])
def test_once_the_value_is_replaced_the_next_checkpoint_completes(form: str, tmp_path: Path) -> None:
    CASE.value = RefusesUnpickling()
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program("value", ["put", "rest", "put", "rest"]), files=files, backend=FORMS[form]) as job:
        job.run_epoch(1)
        for _ in range(2):
            with pytest.raises(DeclinedError):
                job.checkpoint()
        job.run_epoch(1)
        CASE.value = 7
        job.run_epoch(1)
        job.checkpoint()


class Deaf(TypeSerializer[Any]):
    """Write anything and read nothing."""

    def serialize(self, element: Any, stream: Any) -> None:
        stream.write(b"something")

    def deserialize(self, stream: Any) -> Any:
        raise LookupError("nothing is understood")

    def snapshot_configuration(self) -> Any:
        return DeafSnapshot()


class DeafSnapshot(SimpleTypeSerializerSnapshot[Any]):
    def __init__(self) -> None:
        super().__init__(Deaf)


@pytest.mark.parametrize("form", ["heap", "RocksDB"])
def test_a_serializer_that_cannot_read_what_it_wrote_declines_the_checkpoint(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PIECES, "deaf", value_of(Deaf()))
    CASE.value = 7
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program("deaf", ["put", "rest"]), files=files, backend=FORMS[form]) as job:
        job.run_epoch(1)
        with pytest.raises(DeclinedError, match="LookupError: nothing is understood"):
            job.checkpoint()


def test_the_message_names_operator_and_state_and_says_what_is_wrong(tmp_path: Path) -> None:
    CASE.value = NeedsTwoArguments(1, 2)
    with InProcessJob(program("value", ["put", "rest"]), files=LocalCheckpointFiles(str(tmp_path))) as job:
        job.run_epoch(1)
        with pytest.raises(DeclinedError) as caught:
            job.checkpoint()
    said = str(caught.value)
    assert said.startswith(
        "state 'odd' of operator 'Odd' (uid 'odd') cannot be part of a snapshot: what was written of "
    )
    assert "TypeError: NeedsTwoArguments.__init__() missing 1 required positional argument: 'second'" in said


def test_a_committable_that_is_not_bytes_declines_the_checkpoint(tmp_path: Path) -> None:
    CASE.value = "a name"
    with InProcessJob(program("committable", ["put", "rest"]), files=LocalCheckpointFiles(str(tmp_path))) as job:
        job.run_epoch(1)
        with pytest.raises(DeclinedError, match=r"prepare_commit of CommittingWriter returned 'a name' \(str\)"):
            job.checkpoint()


@pytest.mark.parametrize("name", [7, None, b"job", "\ud800"])
def test_metadata_that_could_not_be_read_back_is_not_written(name: Any) -> None:
    metadata = CheckpointMetadata(1, "id", name, 0, 0, [], [], [])
    with pytest.raises(InvalidProgramError, match="the metadata of checkpoint 1 cannot be written"):
        encode_metadata(metadata)
    good = CheckpointMetadata(1, "id", "job", 0, 0, [], [], [])
    assert decode_metadata(encode_metadata(good), "x") == good


@pytest.mark.parametrize("as_state", [True, False])
@pytest.mark.parametrize("value", [7, RefusesUnpickling()])
def test_what_a_source_function_holds_is_read_back(as_state: bool, value: Any, tmp_path: Path) -> None:
    CASE.value, CASE.found, CASE.calls = value, NOTHING, []

    def emitting() -> StreamExecutionEnvironment:
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.add_source(Emitting(as_state)).uid("odd").name("Odd").process(Found())
        return environment

    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(emitting(), files=files) as job:
        job.run_epoch()
        CASE.calls.append("go")
        if not as_state:
            wait_until(lambda: "emitted" in CASE.calls, "the element waits")
        if isinstance(value, RefusesUnpickling):
            with pytest.raises(DeclinedError, match=r"state '(~source-buffer|odd)' of operator 'Odd'"):
                job.checkpoint()
            return
        stored = job.checkpoint(notify=False)
    with InProcessJob(emitting(), files=files, restore=stored) as again:
        again.run_epoch()
        wait_until(lambda: again.run_epoch() and CASE.found == 7, "the element came")


@pytest.mark.parametrize(("start", "end"), [(0, 1e6), (0.0, 5), (0, 1 << 63), (True, 5), ("0", 5)])
def test_a_number_sequence_has_ends_that_a_position_can_hold(start: Any, end: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="number sequence"):
        NumberSequenceSource(start, end)


@pytest.mark.parametrize("count", [1e6, 1 << 64, "7"])
def test_and_so_has_a_generator(count: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="number sequence"):
        DataGeneratorSource(str, count)
