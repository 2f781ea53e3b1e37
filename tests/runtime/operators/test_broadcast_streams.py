"""The broadcast state pattern: contexts of both sides, every key's state, timers, checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    TimeDomain,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import KeyedStateFunction
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import OperatorHarness
from support.in_process_job import InProcessJob, collect

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
NAMES = MapStateDescriptor("names", Types.INT(), Types.STRING())
TOTAL = ValueStateDescriptor("total", Types.LONG())
SEEN = ListStateDescriptor("seen", Types.LONG())

BACKENDS = {
    "heap": BackendSettings(),
    "incremental heap": BackendSettings(incremental=True),
    "rocksdb": BackendSettings(rocksdb=RocksDBSettings()),
    "small cache": BackendSettings(rocksdb=RocksDBSettings(cache_entries=5)),
    "no cache": BackendSettings(rocksdb=RocksDBSettings(cache_entries=0)),
}
each_backend = pytest.mark.parametrize("backend", BACKENDS.values(), ids=BACKENDS)

Full = KeyedBroadcastProcessFunction.Context
ReadOnly = KeyedBroadcastProcessFunction.ReadOnlyContext
OnTimer = KeyedBroadcastProcessFunction.OnTimerContext


class Count(BroadcastProcessFunction[int, str, Any]):
    """Count how often each word was broadcast."""

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield value, sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: str, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        state.put(value, (state.get(value) or 0) + 1)
        yield value, state.get(value)


class Summary(KeyedBroadcastProcessFunction[int, int, str, Any]):
    """Add up the numbers of a key, and tell at the end what was broadcast."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(TOTAL)

    def process_element(self, value: int, ctx: ReadOnly) -> None:
        self.total.update((self.total.value() or 0) + value)
        ctx.timer_service().register_event_time_timer(5)

    def process_broadcast_element(self, value: str, ctx: Full) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value, len(value))
        ctx.get_broadcast_state(NAMES).put(len(value), value)
        yield "broadcast", value

    def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterator[Any]:
        rules, names = ctx.get_broadcast_state(RULES), ctx.get_broadcast_state(NAMES)
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield timestamp, ctx.get_current_key(), self.total.value(), sorted(rules.items()), sorted(names.items())


class Doing(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Keep the numbers of each key, and do what a test wants for each broadcast record."""

    def __init__(self, act: Callable[[Doing, Any, Full], Any]) -> None:
        self.act = act

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(TOTAL)
        self.seen = runtime_context.get_list_state(SEEN)

    def process_element(self, value: int, ctx: ReadOnly) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value)
        self.seen.add(value)
        yield ctx.get_current_key(), self.total.value()

    def process_broadcast_element(self, value: Any, ctx: Full) -> Any:
        return self.act(self, value, ctx)


def doing(act: Callable[[Doing, Any, Full], Any]) -> OperatorHarness:
    """Run a function on the key ``value % 3``."""
    return OperatorHarness.keyed(Doing(act), lambda value: value % 3, RULES)


def results(build: Callable[[StreamExecutionEnvironment], DataStream], parallelism: int = 1) -> list[Any]:
    env = StreamExecutionEnvironment()
    collect(build(env))
    with InProcessJob(env, parallelism) as job:
        return job.run_to_end(3)


def integers(env: StreamExecutionEnvironment, *values: int) -> DataStream:
    return env.from_collection(values, Types.INT())


def words(env: StreamExecutionEnvironment, *values: str) -> DataStream:
    return env.from_collection(values, Types.STRING())


class TestContexts:
    def test_the_data_side_reads_what_the_broadcast_side_wrote(self) -> None:
        harness = OperatorHarness.unkeyed(Count(), RULES)
        assert harness.process(1) == [(1, [])]
        assert harness.process_second("a", "b", "a") == [("a", 1), ("b", 1), ("a", 2)]
        assert harness.process(2) == [(2, [("a", 2), ("b", 1)])]

    @pytest.mark.parametrize(
        "write",
        [
            lambda state: state.put("a", 1),
            lambda state: state.put_all({"a": 1}),
            lambda state: state.remove("a"),
            lambda state: state.clear(),
            lambda state: state.__setitem__("a", 1),
            lambda state: state.__delitem__("a"),
        ],
        ids=["put", "put_all", "remove", "clear", "set item", "delete item"],
    )
    def test_the_data_side_cannot_write(self, write: Callable[[Any], None]) -> None:
        class Writing(Count):
            def process_element(self, value: Any, ctx: Any) -> Any:
                write(ctx.get_broadcast_state(RULES))

        harness = OperatorHarness.unkeyed(Writing(), RULES)
        harness.process_second("a")
        with pytest.raises(StateAccessError, match="'rules' can only be read here"):
            harness.process(1)
        with pytest.raises(StateAccessError, match="'rules' can only be read here"):
            OperatorHarness.keyed(_as_keyed(Writing()), lambda value: value, RULES).process(1)

    def test_everything_can_be_read(self) -> None:
        class Reading(Count):
            def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
                state = ctx.get_broadcast_state(RULES)
                yield from (state.get("a"), state["a"], "a" in state, state.contains("z"), state.get("z"))
                yield from (list(state), list(state.values()), list(state.immutable_entries()), state.is_empty())

        harness = OperatorHarness.unkeyed(Reading(), RULES)
        harness.process_second("a")
        assert harness.process(1) == [1, 1, True, False, None, ["a"], [1], [("a", 1)], False]

    def test_both_sides_tell_the_time(self) -> None:
        class Telling(Count):
            def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
                yield value, ctx.timestamp(), ctx.current_watermark(), ctx.current_processing_time()

            process_broadcast_element = process_element

        for harness in (
            OperatorHarness.unkeyed(Telling(), RULES),
            OperatorHarness.keyed(_as_keyed(Telling()), lambda value: value, RULES),
        ):
            harness.clock.set(99)
            harness.advance_watermark(40)
            assert harness.process("data", timestamps=[50]) == [("data", 50, 40, 99)]
            assert harness.process_second("rule", timestamps=[60]) == [("rule", 60, 40, 99)]
            assert harness.process_second("rule") == [("rule", None, 40, 99)]

    def test_a_state_that_was_not_given_to_broadcast_is_refused(self) -> None:
        class Asking(Count):
            def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Any:
                ctx.get_broadcast_state(value)

            process_broadcast_element = process_element  # type: ignore[assignment]

        harness = OperatorHarness.unkeyed(Asking(), RULES)
        for unknown in (NAMES, MapStateDescriptor("rules", Types.STRING(), Types.STRING())):
            with pytest.raises(InvalidProgramError, match=r"pass this descriptor to broadcast"):
                harness.process(unknown)
            with pytest.raises(InvalidProgramError, match=r"pass this descriptor to broadcast"):
                harness.process_second(unknown)
        harness.process(MapStateDescriptor("rules", Types.STRING(), Types.INT()))

    def test_there_are_no_timers_on_the_broadcast_side(self) -> None:
        harness = doing(lambda function, value, ctx: ctx.timer_service().register_event_time_timer(1))  # type: ignore[attr-defined]
        with pytest.raises(TypeError, match="none on the broadcast side"):
            harness.process_second("a")

    def test_there_is_no_keyed_state_on_the_broadcast_side(self) -> None:
        harness = doing(lambda function, value, ctx: [function.total.value()])
        harness.process(1, 2)
        with pytest.raises(StateAccessError, match="on the broadcast side"):
            harness.process_second("a")


class TestEveryKey:
    def test_the_state_of_every_key_is_visited_once(self) -> None:
        def look(function: Doing, value: Any, ctx: Full) -> list[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(TOTAL, lambda key, state: found.append((key, state.value())))
            return sorted(found)

        harness = doing(look)
        assert harness.process_second("a") == []
        harness.process(1, 2, 3, 4)
        assert harness.process_second("a") == [(0, 3), (1, 5), (2, 2)]

    def test_what_a_visit_writes_and_clears_stays(self) -> None:
        class Change(KeyedStateFunction):
            def process(self, key: Any, state: Any) -> None:
                if key == 1:
                    state.clear()
                else:
                    state.update(100 + key)

        harness = doing(lambda function, value, ctx: ctx.apply_to_keyed_state(TOTAL, Change()))
        harness.process(1, 2, 3)
        harness.process_second("change")
        assert harness.process(1, 2, 3) == [(1, 1), (2, 104), (0, 103)]

    def test_states_of_every_kind_can_be_visited(self) -> None:
        def look(function: Doing, value: Any, ctx: Full) -> list[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(SEEN, lambda key, state: found.append((key, list(state.get()))))
            return sorted(found)

        harness = doing(look)
        harness.process(1, 2, 4)
        assert harness.process_second("a") == [(1, [1, 4]), (2, [2])]

    def test_a_state_that_no_key_has_is_visited_nowhere(self) -> None:
        def look(function: Doing, value: Any, ctx: Full) -> list[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(ReducingStateDescriptor("new", max), lambda key, state: found.append(key))
            return found

        harness = doing(look)
        harness.process(1)
        assert harness.process_second("a") == []

    def test_after_a_visit_there_is_no_key_even_if_it_failed(self) -> None:
        def act(function: Doing, value: Any, ctx: Full) -> Any:
            with pytest.raises(ZeroDivisionError):
                ctx.apply_to_keyed_state(TOTAL, lambda key, state: 1 // 0)  # type: ignore[arg-type,return-value]
            function.total.value()

        harness = doing(act)
        harness.process(1)
        with pytest.raises(StateAccessError):
            harness.process_second("a")

    @each_backend
    def test_visits_change_the_state_of_all_keys_of_all_subtasks(self, backend: BackendSettings) -> None:
        class Reset(KeyedBroadcastProcessFunction[int, int, str, Any]):
            def open(self, runtime_context: RuntimeContext) -> None:
                self.total = runtime_context.get_state(TOTAL)

            def process_element(self, value: int, ctx: ReadOnly) -> None:
                self.total.update(value)
                ctx.timer_service().register_event_time_timer(1)

            def process_broadcast_element(self, value: str, ctx: Full) -> None:
                ctx.apply_to_keyed_state(TOTAL, lambda key, state: state.update(state.value() + 1_000))

            def on_timer(self, timestamp: int, ctx: OnTimer) -> Iterator[Any]:
                yield ctx.get_current_key(), self.total.value()

        env = StreamExecutionEnvironment()
        numbers = env.from_source(NumberSequenceSource(0, 499), WatermarkStrategy.no_watermarks(), "numbers")
        late = env.from_source(NumberSequenceSource(0, 1_999), WatermarkStrategy.no_watermarks(), "late")
        orders = late.filter(lambda number: number in (1_998, 1_999)).map(str).broadcast(RULES)
        collect(numbers.key_by(lambda number: number).connect(orders).process(Reset()))
        with InProcessJob(env, 2, backend=backend) as job:
            job.run_epoch(550)  # all numbers, and some of what is late, but none of the last two
            assert job.collected == []
            assert sorted(job.run_to_end(200)) == [(key, key + 2_000) for key in range(500)]


class TestWithPyFlink:
    """Results of these programs are those that PyFlink gives."""

    @pytest.mark.parametrize("parallelism", [1, 2])
    def test_timers_see_all_broadcast_states_at_the_end(self, parallelism: int) -> None:
        def build(env: StreamExecutionEnvironment) -> DataStream:
            data = integers(env, *range(1, 8)).key_by(lambda value: value % 3, Types.INT())
            return data.connect(words(env, "a", "bb", "a", "ccc").broadcast(RULES, NAMES)).process(Summary())

        rules, names = [("a", 1), ("bb", 2), ("ccc", 3)], [(1, "a"), (2, "bb"), (3, "ccc")]
        broadcast = [("broadcast", word) for word in ("a", "a", "bb", "ccc") for _ in range(parallelism)]
        fired = [(5, key, total, rules, names) for key, total in ((0, 9), (1, 12), (2, 7))]
        assert sorted(results(build, parallelism), key=str) == sorted(broadcast + fired, key=str)

    def test_every_subtask_sees_every_broadcast_record(self) -> None:
        class Ten(Count):
            def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
                yield value * 10

        def build(env: StreamExecutionEnvironment) -> DataStream:
            data = integers(env, *range(1, 8))
            return data.connect(words(env, "a", "bb", "a", "ccc").broadcast(RULES)).process(Ten())

        counts = [("a", 1), ("a", 2), ("bb", 1), ("ccc", 1)]
        expected = [*range(10, 80, 10), *counts, *counts]
        assert sorted(results(build, 2), key=str) == sorted(expected, key=str)


class TestRefused:
    @staticmethod
    def broadcast(stream: DataStream) -> BroadcastStream:
        return stream.broadcast(RULES)

    def test_a_function_for_keyed_streams_on_one_without_a_key(self) -> None:
        stream = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(TypeError, match="KeyedBroadcastProcessFunction should be applied to keyed DataStream"):
            stream.connect(self.broadcast(stream)).process(Summary())

    def test_a_function_for_streams_without_a_key_on_a_keyed_one(self) -> None:
        stream = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(TypeError, match="BroadcastProcessFunction should be applied to non-keyed DataStream"):
            stream.key_by(lambda value: value).connect(self.broadcast(stream)).process(Count())

    def test_a_function_of_another_kind(self) -> None:
        class Other(CoProcessFunction):
            def process_element1(self, value: Any, ctx: Any) -> Any: ...

            def process_element2(self, value: Any, ctx: Any) -> Any: ...

        stream = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(TypeError, match="was given a Other"):
            stream.connect(self.broadcast(stream)).process(Other())  # type: ignore[arg-type]

    def test_a_state_that_is_no_map(self) -> None:
        stream = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(TypeError, match="broadcast_state_descriptor must be MapStateDescriptor"):
            stream.broadcast(TOTAL)  # type: ignore[call-overload]

    def test_two_states_of_one_name(self) -> None:
        stream = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(InvalidProgramError, match="two broadcast states have the name 'rules'"):
            stream.broadcast(RULES, MapStateDescriptor("rules", Types.INT(), Types.INT()))

    def test_streams_of_two_programs(self) -> None:
        other = StreamExecutionEnvironment().from_collection([1])
        with pytest.raises(InvalidProgramError, match="one environment"):
            StreamExecutionEnvironment().from_collection([1]).connect(self.broadcast(other))


def test_the_parts_of_a_connected_broadcast_stream_can_be_asked_for() -> None:
    stream = StreamExecutionEnvironment().from_collection([1])
    broadcast = stream.broadcast(RULES, NAMES)
    connected = stream.connect(broadcast)
    assert isinstance(connected, BroadcastConnectedStream)
    assert connected.non_broadcast_stream is stream
    assert connected.broadcast_stream is broadcast
    assert connected.broadcast_state_descriptors == [RULES, NAMES]


class TestCheckpoints:
    def test_every_subtask_has_a_copy_at_any_parallelism(self) -> None:
        old = []
        for subtask in range(2):
            harness = OperatorHarness.unkeyed(Count(), RULES, subtask=subtask, parallelism=2)
            harness.process_second("a", "b", "a")
            old.append(harness.snapshot())
        for parallelism in (1, 2, 3, 5):
            for subtask in range(parallelism):
                harness = OperatorHarness.unkeyed(
                    Count(), RULES, subtask=subtask, parallelism=parallelism, restored=old
                )
                assert harness.process(0) == [(0, [("a", 2), ("b", 1)])]

    def test_a_state_that_the_function_does_not_ask_for_is_kept(self) -> None:
        first = OperatorHarness.unkeyed(Count(), RULES, NAMES)
        first.process_second("a")
        second = OperatorHarness.unkeyed(Count(), NAMES, restored=[first.snapshot()])
        third = OperatorHarness.unkeyed(Count(), RULES, restored=[second.snapshot()])
        assert third.process(0) == [(0, [("a", 1)])]

    def test_keyed_state_and_timers_are_restored_with_the_broadcast_state(self) -> None:
        first = OperatorHarness.keyed(Summary(), lambda value: value % 10, RULES, NAMES)
        first.process_second("a", "bb")
        first.process(*range(20))
        snapshot = first.snapshot()
        fired = []
        for subtask in range(3):
            again = OperatorHarness.keyed(
                Summary(),
                lambda value: value % 10,
                RULES,
                NAMES,
                subtask=subtask,
                parallelism=3,
                restored=[snapshot],
            )
            fired += again.advance_watermark(5)
        rules, names = [("a", 1), ("bb", 2)], [(1, "a"), (2, "bb")]
        assert sorted(fired) == [(5, key, 10 + 2 * key, rules, names) for key in range(10)]

    @each_backend
    @pytest.mark.parametrize("then", [1, 2, 3])
    def test_rules_and_state_go_on_after_a_restore_at_any_parallelism(
        self, backend: BackendSettings, then: int, tmp_path: Path
    ) -> None:
        class Multiples(KeyedBroadcastProcessFunction[int, int, int, Any]):
            """Find the multiples of every broadcast number, whichever of the two comes first."""

            def open(self, runtime_context: RuntimeContext) -> None:
                self.seen = runtime_context.get_list_state(SEEN)

            def process_element(self, value: int, ctx: ReadOnly) -> Iterator[Any]:
                self.seen.add(value)
                yield from ((divisor, value) for divisor in ctx.get_broadcast_state(NAMES) if value % divisor == 0)

            def process_broadcast_element(self, value: int, ctx: Full) -> Iterator[Any]:
                ctx.get_broadcast_state(NAMES).put(value, str(value))
                found: list[Any] = []
                ctx.apply_to_keyed_state(
                    SEEN, lambda key, state: found.extend((value, n) for n in state.get() if n % value == 0)
                )
                yield from found

        def job(parallelism: int, **settings: Any) -> InProcessJob:
            env = StreamExecutionEnvironment()
            source = NumberSequenceSource(1, 80), WatermarkStrategy.no_watermarks()
            numbers = env.from_source(*source, "numbers").uid("numbers")
            divisors = env.from_source(*source, "divisors").uid("divisors").set_parallelism(1)
            rules = divisors.filter(lambda number: number % 9 == 2).uid("rules").set_parallelism(1)
            connected = numbers.key_by(lambda number: number % 13).connect(rules.broadcast(NAMES))
            collect(connected.process(Multiples()).uid("multiples"))
            files = LocalCheckpointFiles(str(tmp_path))
            return InProcessJob(env, parallelism, files=files, backend=backend, **settings)

        with job(2) as first:
            first.run_epoch(30)
            before = list(first.collected)
            checkpoint = first.checkpoint()
            first.run_epoch(20)  # lost
        with job(then, restore=checkpoint) as second:
            after = second.run_to_end(11)
        golden = [(d, number) for d in range(2, 81, 9) for number in range(d, 81, d)]
        assert before
        assert after
        assert sorted(before + after) == golden


def _as_keyed(function: BroadcastProcessFunction[Any, Any, Any]) -> KeyedBroadcastProcessFunction[Any, Any, Any, Any]:
    class Keyed(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            return function.process_element(value, ctx)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            return function.process_broadcast_element(value, ctx)

    return Keyed()
