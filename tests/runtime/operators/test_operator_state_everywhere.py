"""Every function that an operator runs, every source and every sink can have operator state and hear of checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AsyncDataStream, DataStream, StreamExecutionEnvironment, functions
from rekindle.datastream.functions import CheckpointedFunction, CheckpointListener
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from support.in_process_job import InProcessJob, collect

heard: list[Any] = []
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))
RULES = MapStateDescriptor("rules")


class Remembering(CheckpointedFunction, CheckpointListener):
    """Keep three items in every checkpoint, and note what is called."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("three", Types.LONG()))
        heard.append(("initialize", context.is_restored(), list(self.state)))

    def snapshot_state(self, context: Any) -> None:
        self.state.update([1, 2, 3])
        heard.append(("snapshot", context.get_checkpoint_id()))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        heard.append(("complete", checkpoint_id))


def remembering(kind: type, *methods: str) -> Any:
    """Make a function of a kind whose methods give their first argument, or a list of it."""

    def of(name: str) -> Callable[..., Any]:
        if name == "async_invoke":

            async def answer(self: Any, value: Any) -> list[Any]:
                return [value]

            return answer
        single = name.startswith("map") or name in ("join", "reduce", "filter", "cancel", "clear", "invoke")
        return lambda self, *given: (given[0] if given else None) if single else [0]

    return type(f"Remembering{kind.__name__}", (Remembering, kind), {name: of(name) for name in methods})()


def emit_one(self: Any, ctx: Any) -> None:
    ctx.collect(1)


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def source(kind: type) -> Any:
    return type("RememberingSource", (Remembering, kind), {"run": emit_one, "cancel": lambda self: None})()


def keyed(stream: DataStream) -> Any:
    return stream.key_by(lambda n: n % 2)


def paired(stream: DataStream, way: str) -> Any:
    both = getattr(stream, way)(stream.map(lambda n: n)).where(lambda n: n).equal_to(lambda n: n)
    return both.window(WINDOWS)


def interval(stream: DataStream) -> Any:
    return keyed(stream).interval_join(keyed(stream.map(lambda n: n))).between(Time.seconds(-1), Time.seconds(1))


def sunk(stream: DataStream) -> DataStream:
    stream.add_sink(remembering(functions.SinkFunction, "invoke"))
    return stream


PROGRAMS: dict[str, Callable[[DataStream], Any]] = {
    "map": lambda s: s.map(remembering(functions.MapFunction, "map")),
    "keyed map": lambda s: keyed(s).map(remembering(functions.MapFunction, "map")),
    "flat_map": lambda s: s.flat_map(remembering(functions.FlatMapFunction, "flat_map")),
    "keyed flat_map": lambda s: keyed(s).flat_map(remembering(functions.FlatMapFunction, "flat_map")),
    "filter": lambda s: s.filter(remembering(functions.FilterFunction, "filter")),
    "keyed filter": lambda s: keyed(s).filter(remembering(functions.FilterFunction, "filter")),
    "reduce": lambda s: keyed(s).reduce(remembering(functions.ReduceFunction, "reduce")),
    "process": lambda s: s.process(remembering(functions.ProcessFunction, "process_element")),
    "keyed process": lambda s: keyed(s).process(remembering(functions.KeyedProcessFunction, "process_element")),
    "co-map": lambda s: s.connect(s).map(remembering(functions.CoMapFunction, "map1", "map2")),
    "co-flat-map": lambda s: s.connect(s).flat_map(remembering(functions.CoFlatMapFunction, "flat_map1", "flat_map2")),
    "co-process": lambda s: s.connect(s).process(
        remembering(functions.CoProcessFunction, "process_element1", "process_element2")
    ),
    "keyed co-process": lambda s: (
        keyed(s)
        .connect(keyed(s))
        .process(remembering(functions.KeyedCoProcessFunction, "process_element1", "process_element2"))
    ),
    "broadcast": lambda s: s.connect(s.broadcast(RULES)).process(
        remembering(functions.BroadcastProcessFunction, "process_element", "process_broadcast_element")
    ),
    "keyed broadcast": lambda s: (
        keyed(s)
        .connect(s.broadcast(RULES))
        .process(remembering(functions.KeyedBroadcastProcessFunction, "process_element", "process_broadcast_element"))
    ),
    "window apply": lambda s: keyed(s).window(WINDOWS).apply(remembering(functions.WindowFunction, "apply")),
    "window process": lambda s: (
        keyed(s).window(WINDOWS).process(remembering(functions.ProcessWindowFunction, "process", "clear"))
    ),
    "window reduce and process": lambda s: (
        keyed(s).window(WINDOWS).reduce(max, remembering(functions.ProcessWindowFunction, "process", "clear"))
    ),
    "window join": lambda s: paired(s, "join").apply(remembering(functions.JoinFunction, "join")),
    "window flat join": lambda s: paired(s, "join").apply(
        type("Flat", (Remembering, functions.FlatJoinFunction), {"join": lambda self, first, second: [first]})()
    ),
    "co-group": lambda s: paired(s, "co_group").apply(remembering(functions.CoGroupFunction, "co_group")),
    "interval join": lambda s: interval(s).process(remembering(functions.ProcessJoinFunction, "process_element")),
    "async": lambda s: AsyncDataStream.ordered_wait(
        s, remembering(functions.AsyncFunction, "async_invoke"), Time.seconds(60)
    ),
    "sink": sunk,
    "parallel source": lambda s: s.get_execution_environment().add_source(source(functions.ParallelSourceFunction)),
    "rich parallel source": lambda s: s.get_execution_environment().add_source(
        source(functions.RichParallelSourceFunction)
    ),
}
IN_ONE_SUBTASK: dict[str, Callable[[DataStream], Any]] = {
    "window_all": lambda s: s.window_all(WINDOWS).process(
        remembering(functions.ProcessAllWindowFunction, "process", "clear")
    ),
    "source": lambda s: s.get_execution_environment().add_source(source(functions.SourceFunction)),
}


def job(program: Callable[[DataStream], Any], parallelism: int, **settings: Any) -> InProcessJob:
    heard.clear()
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OwnTime())
    numbers = env.from_collection([1, 2, 3]).assign_timestamps_and_watermarks(strategy)
    collect(program(numbers))
    return InProcessJob(env, parallelism, **settings)


@pytest.mark.parametrize("name", [*PROGRAMS, *IN_ONE_SUBTASK])
def test_a_function_is_called_for_checkpoints_and_its_items_are_dealt_out(name: str) -> None:
    program = (PROGRAMS | IN_ONE_SUBTASK)[name]
    with job(program, 1) as first:
        first.run_epoch(max_records=1)
        checkpoint = first.checkpoint()
        assert heard == [("initialize", False, []), ("snapshot", 1), ("complete", 1)]
        first.run_to_end()
    with job(program, 2, restore=checkpoint):
        shares = [call for call in heard if call[0] == "initialize"]
    expected = [[1, 2], [3]] if name in PROGRAMS else [[1, 2, 3]]
    assert shares == [("initialize", True, share) for share in expected]


@pytest.mark.parametrize("name", [*PROGRAMS, *IN_ONE_SUBTASK])
def test_in_a_batch_it_is_initialized_and_nothing_else(name: str) -> None:
    with job((PROGRAMS | IN_ONE_SUBTASK)[name], 1, batch_memory=100) as batch:
        batch.run_to_end()
    assert heard == [("initialize", False, [])]
