"""The operators of a slot: how records, watermarks and ends move through them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.contracts.functions.function_adapters import as_map_function
from rekindle.contracts.key_groups import key_group_range
from rekindle.datastream.functions import KeyedProcessFunction, ProcessFunction
from rekindle.datastream.time_domain import TimeDomain
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import FORWARD, REBALANCE, Partitioner, Partitioning
from rekindle.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from rekindle.graph.transformations.one_input import KeyedProcessTransformation, MapTransformation
from rekindle.graph.transformations.sources import CollectionSourceTransformation, RowsTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.metrics.slot_metrics import SlotMetricGroup
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Progress, decode
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.keyed import KeyedProcessOperator
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK, Operator
from rekindle.runtime.operators.operator_context import JobInfo, OperatorContext, SlotServices, TaskInfo
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.runtime.operators.roles import (
    BackgroundWork,
    InputGatherer,
    OutputCommitter,
    ProcessingTimeOperator,
    WatermarkEmitter,
)
from rekindle.runtime.operators.stateless import ProcessOperator
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.slot.operator_graph import OperatorGraph
from rekindle.runtime.slot.progress import InputProgress
from rekindle.runtime.slot.task_output import Exchanges, TaskOutput
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.state_owner import StateOwner
from rekindle.testing import ManualClock, OperatorHarness
from support.ready_operators import ready


def hash_by(selector: Callable[[Any], Any]) -> Partitioner:
    return Partitioner(Partitioning.HASH, selector)


class Recorder(Operator):
    """Note all that happens to it, and pass records on."""

    def __init__(self, log: list[Any] | None = None, name: str = "") -> None:
        self.log = [] if log is None else log
        self.name = name

    def process(self, chunk: Chunk) -> Chunk:
        self._note(list(chunk.values))
        return chunk

    def advance_watermark(self, watermark: int) -> Chunk:
        self._note("end of time" if watermark == MAX_WATERMARK else watermark)
        return Chunk([f"{self.name} saw {self.log[-1]}"]) if self.name else Chunk([])

    def finish(self) -> Chunk | None:
        self._note("finish")
        return None

    def _note(self, what: Any) -> None:
        self.log.append((self.name, what) if self.name else what)


class Running:
    """Run a graph in one slot by hand."""

    def __init__(
        self, graph: StreamGraph, parallelism: int = 1, slot: int = 0, clock: ManualClock | None = None
    ) -> None:
        self.job: JobGraph = compile_job(graph, parallelism, None)
        self.clock = clock or ManualClock()
        self.operators = OperatorGraph(self.job, slot)
        self.output = TaskOutput(Exchanges(self.job, slot))
        for running in self.operators:
            running.operator.open(self._context(running.node, slot))

    def _context(self, node: Any, slot: int) -> OperatorContext:
        own = key_group_range(slot, node.parallelism, node.max_parallelism)

        def backend(*, on_heap: bool = False) -> HeapKeyedStateBackend:
            return HeapKeyedStateBackend(StateOwner(node.name), own, node.max_parallelism, lambda: 0)

        return OperatorContext(
            task=TaskInfo(node.uid, node.name, slot, node.parallelism, node.max_parallelism),
            job_parameters={},
            metrics=SlotMetricGroup(self.clock),
            job=JobInfo("job"),
            slot=SlotServices(self.clock, EventLoopThread(), lambda: None, tempfile.mkdtemp),
            keyed_backend=backend,
            to_driver=lambda channel, data: None,
            restored=RestoredOperatorState(),
        )

    def poll(self, max_records: int = 1_000) -> None:
        """Let the sources of the slot read once."""
        for running, source in self.operators.sources():
            chunk = source.poll(max_records)
            if chunk is not None:
                self.operators.receive_polled(running, chunk, self.output)

    def receive_progress(self, edge: int, progress: Progress) -> None:
        self.operators.receive_progress(edge, progress, self.output)

    def finish(self, level: int = 0, cluster_fed: bool = False) -> None:
        self.operators.finish_level(level, self.clock.now(), self.output, cluster_fed)

    def sent(self) -> list[tuple[int, int, Any]]:
        """Open what left over exchanges: edge, target, and the records or the word of progress."""
        return [(edge, target, open_envelope((edge, target, data))) for edge, target, data in self.output.finish()]


def open_envelope(envelope: Envelope) -> Any:
    item = decode(bytearray(envelope[2]))
    return item if isinstance(item, Progress) else item.values


class Program:
    def __init__(self) -> None:
        self.graph = StreamGraph()

    def add(
        self, operator: Operator | Transformation, *inputs: StreamNode | tuple[StreamNode, Partitioner], **settings: Any
    ) -> StreamNode:
        edges = [edge if isinstance(edge, tuple) else (edge, FORWARD) for edge in inputs]
        name = settings.pop("name", type(operator).__name__)
        transformation = ready(operator) if isinstance(operator, Operator) else operator
        return self.graph.add(name, transformation, tuple(StreamEdge(node.id, p) for node, p in edges), **settings)

    def source(self, values: list[Any], **settings: Any) -> StreamNode:
        return self.add(CollectionSourceTransformation(values), **settings)

    def map(self, function: Callable[[Any], Any], *inputs: Any, **settings: Any) -> StreamNode:
        return self.add(MapTransformation(as_map_function(function)), *inputs, **settings)


class TestRecords:
    def test_records_run_through_a_chain_chunk_by_chunk(self) -> None:
        program, seen = Program(), Recorder()
        source = program.source([1, 2, 3])
        program.add(seen, program.map(lambda n: n * 10, program.map(lambda n: n + 1, source)))
        running = Running(program.graph)
        running.poll(max_records=2)
        running.poll(max_records=2)
        assert seen.log == [[20, 30], [40]]
        assert running.sent() == []

    def test_every_consumer_gets_all_records(self) -> None:
        program, left, right = Program(), Recorder(), Recorder()
        source = program.source([1, 2])
        program.add(left, source)
        program.add(right, source)
        running = Running(program.graph)
        running.poll()
        assert left.log == right.log == [[1, 2]]

    @pytest.mark.parametrize("branches", [2, 3])
    def test_what_one_branch_changes_in_a_record_no_other_branch_sees(self, branches: int) -> None:
        program = Program()
        source = program.source([[0], {"n": 0}, (["in a tuple"],)])
        recorders = []
        for branch in range(branches):
            changed = program.map(lambda record, branch=branch: spoil(record, branch), source)
            recorders.append(Recorder())
            program.add(recorders[-1], changed)
        untouched = Recorder()
        program.add(untouched, source)
        running = Running(program.graph)
        running.poll()
        for branch, recorder in enumerate(recorders):
            assert recorder.log == [[[0, branch], {"n": 0, "branch": branch}, (["in a tuple", branch],)]]
        assert untouched.log == [[[0], {"n": 0}, (["in a tuple"],)]]

    def test_what_a_branch_in_the_slot_changes_is_not_what_leaves_over_an_exchange(self) -> None:
        program = Program()
        source = program.source([[0]], parallelism=1)
        program.map(lambda record: spoil(record, "here"), source, parallelism=1)
        program.add(Recorder(), (source, REBALANCE), parallelism=2)
        running = Running(program.graph)
        running.poll()
        assert [item for _, _, item in running.sent()] == [[[0]]]

    def test_records_that_cannot_be_changed_are_not_copied(self) -> None:
        program, left, right = Program(), Recorder(), Recorder()
        text = "a string that is no literal" + str(object())
        source = program.source([text])
        program.add(left, source)
        program.add(right, source)
        running = Running(program.graph)
        running.poll()
        assert left.log[0][0] is text
        assert right.log[0][0] is text

    def test_an_operator_that_gives_nothing_feeds_nobody(self) -> None:
        class Nothing(Operator):
            def process(self, chunk: Chunk) -> None:
                return None

        program, seen = Program(), Recorder()
        program.add(seen, program.add(Nothing(), program.source([1])))
        running = Running(program.graph)
        running.poll()
        assert seen.log == []

    def test_records_from_an_exchange_or_from_spark_enter_at_their_operator(self) -> None:
        program, seen = Program(), Recorder()
        source = program.add(RowsTransformation(), data_frame=object())
        program.add(seen, (source, REBALANCE))
        running = Running(program.graph)
        running.operators.receive(0, Chunk(["over the exchange"]), running.output)
        running.operators.receive_source(source.id, Chunk(["from Spark"]), running.output)
        assert seen.log == [["over the exchange"]]
        assert running.sent() == [(0, 0, ["from Spark"])]

    def test_on_a_keyed_edge_within_the_slot_records_get_their_keys(self) -> None:
        keys: list[Any] = []

        class Keys(KeyedProcessFunction):
            def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
                keys.append(ctx.get_current_key())

        program = Program()
        program.add(KeyedProcessTransformation(Keys()), (program.source(["a", "bb", "cc"]), hash_by(len)))
        Running(program.graph).poll()
        assert keys == [1, 2, 2]


def spoil(record: Any, mark: Any) -> Any:
    """Change a record in place, whatever it is."""
    if isinstance(record, dict):
        record["branch"] = mark
    elif isinstance(record, tuple):
        record[0].append(mark)
    else:
        record.append(mark)
    return record


class TestErrors:
    def test_an_error_names_the_operator_that_raised_not_those_before_it(self) -> None:
        program = Program()
        source = program.source([1])
        program.map(lambda n: n / 0, program.map(lambda n: n, source, name="fine"), name="divides")
        with pytest.raises(OperatorError) as info:
            Running(program.graph).poll()
        assert info.value.node.name == "divides"
        assert isinstance(info.value.__cause__, ZeroDivisionError)

    @pytest.mark.parametrize("parallelism", [1, 2], ids=["in the slot", "over an exchange"])
    def test_an_unhashable_key_raises_naming_the_selector(self, parallelism: int) -> None:
        program = Program()
        source = program.source([[1]], parallelism=1)
        program.add(Recorder(), (source, hash_by(lambda record: record)), name="the counter", parallelism=parallelism)
        running = Running(program.graph)
        with pytest.raises(OperatorError) as info:
            running.poll()
        assert isinstance(info.value.__cause__, InvalidProgramError)
        assert "the key selector of key_by before operator 'the counter' returned a list" in str(info.value.__cause__)

    @pytest.mark.parametrize("parallelism", [1, 2], ids=["in the slot", "over an exchange"])
    def test_an_error_in_the_key_selector_says_so(self, parallelism: int) -> None:
        program = Program()
        source = program.source([{}], parallelism=1)
        program.add(Recorder(), (source, hash_by(lambda r: r["user"])), name="the counter", parallelism=parallelism)
        running = Running(program.graph)
        with pytest.raises(OperatorError) as info:
            running.poll()
        assert isinstance(info.value.__cause__, KeyError)
        assert "key selector of key_by, before operator 'the counter'" in "".join(info.value.__cause__.__notes__)

    def test_an_error_in_a_timer_names_the_operator(self) -> None:
        class Bad(KeyedProcessFunction):
            def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
                ctx.timer_service().register_event_time_timer(5)

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
                raise ValueError("too late")

        program = Program()
        program.add(KeyedProcessTransformation(Bad()), (program.source([1]), hash_by(lambda n: n)), name="the timer")
        running = Running(program.graph)
        running.poll()
        with pytest.raises(OperatorError) as info:
            running.finish()
        assert info.value.node.name == "the timer"


class TestEnds:
    def test_the_end_of_a_bounded_source_is_the_end_of_time_then_the_finish(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, program.source([1]))
        running = Running(program.graph)
        running.poll()
        running.finish()
        assert seen.log == [[1], "end of time", "finish"]
        assert running.operators.finished()
        assert running.operators.watermark() == MAX_WATERMARK

    def test_nothing_ends_while_the_source_has_more(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, program.source([1, 2]))
        running = Running(program.graph)
        running.poll(max_records=1)
        running.finish()
        assert seen.log == [[1]]
        assert not running.operators.finished()
        assert running.operators.watermark() == MIN_WATERMARK

    def test_operators_finish_from_the_source_on_and_each_sees_what_those_before_it_emit_last(self) -> None:
        log: list[Any] = []
        program = Program()
        first = program.add(Recorder(log, "first"), program.source([1]))
        program.add(Recorder(log, "second"), first)
        running = Running(program.graph)
        running.poll()
        running.finish()
        assert log == [
            ("first", [1]),
            ("second", [1]),
            ("first", "end of time"),
            ("second", ["first saw ('first', 'end of time')"]),
            ("first", "finish"),
            ("second", "end of time"),
            ("second", "finish"),
        ]

    def test_an_operator_finishes_once(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, program.source([]))
        running = Running(program.graph)
        for _ in range(3):
            running.finish()
        assert seen.log == ["end of time", "finish"]

    def test_a_union_ends_when_all_its_inputs_have_ended(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, program.source([]), program.source([1, 2]))
        running = Running(program.graph)
        running.poll(max_records=1)
        running.finish()
        assert seen.log == [[1]]
        running.poll()
        running.finish()
        assert seen.log[-2:] == ["end of time", "finish"]

    def test_an_end_leaves_over_an_exchange_for_every_target_after_the_records_and_once(self) -> None:
        program = Program()
        program.add(Recorder(), (program.source([1, 2, 3], parallelism=1), REBALANCE), parallelism=2)
        running = Running(program.graph)
        running.poll()
        running.finish()
        sent = running.sent()
        end = Progress(0, MIN_WATERMARK, True)
        assert sent == [(0, 0, [1, 3]), (0, 1, [2]), (0, 0, end), (0, 1, end)]
        running.finish()
        assert running.sent() == []

    def test_an_operator_behind_an_exchange_ends_when_all_subtasks_before_it_have(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, (program.source([], parallelism=2), REBALANCE), parallelism=1)
        running = Running(program.graph)
        for producer in range(2):
            running.receive_progress(0, Progress(producer, MIN_WATERMARK, True))
            running.finish(level=1)
            assert ("finish" in seen.log) == (producer == 1)

    def test_what_a_spark_source_feeds_ends_when_the_job_master_says_so(self) -> None:
        program, seen = Program(), Recorder()
        source = program.add(RowsTransformation(), data_frame=object())
        program.add(seen, program.map(lambda row: row, source))
        running = Running(program.graph)
        running.operators.receive_source(source.id, Chunk([1]), running.output)
        running.finish(cluster_fed=True)
        assert seen.log == [[1]]
        running.operators.end_spark_sources([source.id])
        running.operators.receive_source(source.id, Chunk([2]), running.output)
        running.finish(cluster_fed=True)
        assert seen.log == [[1], [2], "end of time", "finish"]
        assert running.operators.finished()

    def test_a_stream_that_two_spark_sources_feed_ends_with_the_second(self) -> None:
        program, seen = Program(), Recorder()
        sources = [program.add(RowsTransformation(), data_frame=object()) for _ in range(2)]
        program.add(seen, program.map(lambda row: row, *sources))
        running = Running(program.graph)
        running.operators.end_spark_sources([sources[0].id])
        running.finish(cluster_fed=True)
        assert seen.log == []
        running.operators.end_spark_sources([source.id for source in sources])
        running.finish(cluster_fed=True)
        assert seen.log == ["end of time", "finish"]

    def test_behind_an_exchange_a_spark_source_counts_as_one_producer_that_the_job_master_ends(self) -> None:
        program, seen = Program(), Recorder()
        source = program.add(RowsTransformation(), data_frame=object(), parallelism=3)
        program.add(seen, (source, REBALANCE), parallelism=1)
        running = Running(program.graph)
        running.finish(level=1)
        assert seen.log == []
        running.operators.end_spark_sources([source.id])
        running.finish(level=1)
        assert seen.log == ["end of time", "finish"]

    def test_a_union_of_a_spark_source_and_a_hosted_one_ends_when_both_have(self) -> None:
        program, seen = Program(), Recorder()
        spark = program.add(RowsTransformation(), data_frame=object())
        program.add(seen, spark, program.source([]))
        running = Running(program.graph)
        running.finish()
        running.finish(level=1)
        assert seen.log == []
        running.operators.end_spark_sources([spark.id])
        running.finish(level=1)
        assert seen.log == ["end of time", "finish"]

    def test_a_slot_runs_only_the_operators_that_reach_its_index(self) -> None:
        program = Program()
        narrow = program.source([], parallelism=1)
        program.add(Recorder(), (narrow, REBALANCE), parallelism=2)
        assert [[r.node.id for r in Running(program.graph, slot=slot).operators] for slot in range(2)] == [[0, 1], [1]]


class TestWatermarks:
    def receiving(self) -> tuple[Running, Recorder]:
        program, seen = Program(), Recorder()
        program.add(seen, (program.source([], parallelism=2), REBALANCE), parallelism=1)
        return Running(program.graph), seen

    def advance(self, running: Running, producer: int, watermark: int) -> None:
        running.receive_progress(0, Progress(producer, watermark, False))
        running.finish(level=1)

    def test_the_watermark_is_that_of_the_slowest_subtask_before(self) -> None:
        running, seen = self.receiving()
        self.advance(running, 0, 100)
        assert seen.log == [], "nothing is known of the other subtask"
        self.advance(running, 1, 50)
        self.advance(running, 1, 80)
        self.advance(running, 1, 300)
        assert seen.log == [50, 80, 100]

    def test_a_watermark_never_goes_back(self) -> None:
        running, seen = self.receiving()
        self.advance(running, 0, 100)
        self.advance(running, 1, 100)
        self.advance(running, 1, 20)
        assert seen.log == [100]

    def test_a_subtask_that_has_ended_holds_nobody_back(self) -> None:
        running, seen = self.receiving()
        self.advance(running, 0, 100)
        running.receive_progress(0, Progress(1, 20, True))
        running.finish(level=1)
        assert seen.log == [100]

    def test_a_watermark_passes_through_a_chain_and_on_over_the_next_exchange(self) -> None:
        program, seen = Program(), Recorder()
        source = program.source([], parallelism=1)
        chained = program.add(seen, program.map(lambda n: n, (source, REBALANCE), parallelism=2), parallelism=2)
        program.add(Recorder(), (chained, REBALANCE), parallelism=1)
        running = Running(program.graph, slot=1)
        running.receive_progress(0, Progress(0, 70, False))
        running.finish(level=1)
        assert seen.log == [70]
        assert running.sent() == [(2, 0, Progress(1, 70, False))]

    def test_of_two_inputs_the_slower_one_counts(self) -> None:
        program, seen = Program(), Recorder()
        sources = [program.source([], parallelism=1) for _ in range(2)]
        program.add(seen, *((source, REBALANCE) for source in sources), parallelism=2)
        running = Running(program.graph)
        running.receive_progress(0, Progress(0, 90, False))
        running.finish(level=1)
        running.receive_progress(1, Progress(0, 40, False))
        running.finish(level=1)
        assert seen.log == [40]

    @given(
        st.integers(1, 4).flatmap(
            lambda n: st.tuples(
                st.just(n), st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 100), st.booleans()), max_size=30)
            )
        )
    )
    def test_progress_never_goes_back_and_never_beyond_the_slowest(
        self, steps: tuple[int, list[tuple[int, int, bool]]]
    ) -> None:
        producers, updates = steps
        progress = InputProgress(producers)
        highest = dict.fromkeys(range(producers), MIN_WATERMARK)
        ended: set[int] = set()
        last = MIN_WATERMARK
        for producer, watermark, ends in updates:
            if producer in ended:
                continue  # nobody speaks after its end
            progress.update(Progress(producer, watermark, ends))
            highest[producer] = max(highest[producer], watermark)
            ended |= {producer} if ends else set()
            running = [mark for other, mark in highest.items() if other not in ended]
            assert progress.watermark == (min(running) if running else MAX_WATERMARK)
            assert progress.watermark >= last
            assert progress.ended == (not running)
            last = progress.watermark


class Alarm(KeyedProcessFunction):
    """Set a timer at the time each record says, and tell when it rings."""

    def __init__(self, domain: TimeDomain) -> None:
        self.domain = domain

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        if self.domain is TimeDomain.EVENT_TIME:
            timers.register_event_time_timer(value[1])
        else:
            timers.register_processing_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        assert ctx.time_domain() is self.domain
        assert ctx.timestamp() == timestamp
        yield ctx.get_current_key(), timestamp


class TestTimers:
    def alarm(self, domain: TimeDomain, records: list[Any]) -> tuple[Running, Recorder]:
        program, seen = Program(), Recorder()
        keyed = (program.source(records), hash_by(lambda r: r[0]))
        alarm = program.add(KeyedProcessTransformation(Alarm(domain)), keyed)
        program.add(seen, alarm)
        running = Running(program.graph)
        return running, seen

    def test_event_time_timers_fire_at_the_end_of_the_input_in_order(self) -> None:
        running, seen = self.alarm(TimeDomain.EVENT_TIME, [("a", 30), ("b", 10), ("a", 20), ("a", MAX_WATERMARK)])
        running.poll()
        assert seen.log == []
        running.finish()
        assert seen.log == [[("b", 10), ("a", 20), ("a", 30), ("a", MAX_WATERMARK)], "end of time", "finish"]

    def test_processing_time_timers_fire_when_the_clock_has_reached_them(self) -> None:
        running, seen = self.alarm(TimeDomain.PROCESSING_TIME, [("a", 100), ("b", 50), ("c", 200), ("rest", 1 << 60)])
        running.poll(max_records=3)
        running.finish()
        assert seen.log == []
        assert running.operators.next_processing_timer() == 50
        running.clock.set(100)
        running.finish()
        assert seen.log == [[("b", 50), ("a", 100)]]
        assert running.operators.next_processing_timer() == 200
        running.finish()
        assert len(seen.log) == 1

    def test_overdue_processing_time_timers_fire_after_a_restore(self) -> None:
        before = OperatorHarness.keyed(Alarm(TimeDomain.PROCESSING_TIME), lambda r: r[0])
        before.process(("a", 100), ("b", 50), ("c", 10_000))
        after = OperatorHarness.keyed(
            Alarm(TimeDomain.PROCESSING_TIME), lambda r: r[0], restored=[before.snapshot()], clock=ManualClock(5_000)
        )
        assert after.advance_processing_time(5_000) == [("b", 50), ("a", 100)]

    def test_event_time_timers_are_restored_with_their_keys_at_any_parallelism(self) -> None:
        before = OperatorHarness.keyed(Alarm(TimeDomain.EVENT_TIME), lambda r: r[0])
        before.process(*((f"key-{n}", n) for n in range(50)))
        fired = []
        for subtask in range(3):
            after = OperatorHarness.keyed(
                Alarm(TimeDomain.EVENT_TIME),
                lambda r: r[0],
                subtask=subtask,
                parallelism=3,
                restored=[before.snapshot()],
            )
            own = after.finish()
            assert 0 < len(own) < 50
            fired += own
        assert sorted(fired) == sorted((f"key-{n}", n) for n in range(50))

    def test_a_timer_may_set_delete_and_meet_others_of_its_own_time(self) -> None:
        class Chain(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
                ctx.timer_service().register_event_time_timer(1)
                ctx.timer_service().register_event_time_timer(2)

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
                yield timestamp
                if timestamp == 1:
                    ctx.timer_service().delete_event_time_timer(2)
                    ctx.timer_service().register_event_time_timer(3)
                    ctx.timer_service().register_event_time_timer(9)

        harness = OperatorHarness.keyed(Chain(), lambda n: n)
        harness.process(0)
        assert harness.advance_watermark(5) == [1, 3]
        assert harness.finish() == [9]

    def test_current_watermark_starts_at_the_lowest_and_ends_at_the_highest(self) -> None:
        class Watermarks(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
                ctx.timer_service().register_event_time_timer(MAX_WATERMARK)
                yield ctx.timer_service().current_watermark()

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[int]:
                yield ctx.timer_service().current_watermark()

        harness = OperatorHarness.keyed(Watermarks(), lambda n: n)
        assert harness.process(1) == [-(2**63)]
        harness.advance_watermark(77)
        assert harness.process(1) == [77]
        assert harness.finish() == [2**63 - 1]

    def test_records_have_their_timestamps_and_what_timers_emit_has_the_timers(self) -> None:
        class Stamps(KeyedProcessFunction):
            def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
                ctx.timer_service().register_event_time_timer(value)
                yield ctx.timestamp()

            def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
                yield "timer"

        operator = KeyedProcessOperator(Stamps())
        harness = OperatorHarness(operator, lambda n: n)
        assert harness.process(5, 6, timestamps=[50, 60]) == [50, 60]
        assert harness.process(7) == [None]
        chunk = operator.advance_watermark(6)
        assert chunk is not None
        assert (chunk.values, chunk.timestamps) == (["timer"] * 2, [5, 6])

    def test_timers_without_a_key_raise_and_say_what_to_do(self) -> None:
        class NoKey(ProcessFunction):
            def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
                ctx.timer_service().register_event_time_timer(1)

        harness = OperatorHarness(ProcessOperator(NoKey()), name="the process")
        with pytest.raises(TypeError, match=r"'the process' has no key: call key_by\(...\) before it"):
            harness.process(1)


class Watch(ProcessingTimeOperator):
    """Look at the clock."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def process(self, chunk: Chunk) -> Chunk:
        return chunk

    def advance_processing_time(self, now: int) -> Chunk:
        self.seen.append(now)
        return Chunk([f"it is {now}"])

    def next_processing_timer(self) -> int:
        return 70


class Worker(BackgroundWork):
    """Have results when told."""

    def __init__(self) -> None:
        self.ready = False

    def process(self, chunk: Chunk) -> Chunk:
        return chunk

    def has_more(self) -> bool:
        return self.ready

    def under_way(self) -> bool:
        return False


class Behind(WatermarkEmitter):
    """Let time be ten milliseconds earlier, and cut behind each record."""

    def process(self, chunk: Chunk) -> Chunk:
        return chunk

    def pieces(self, chunk: Chunk, side: int = 0) -> Iterator[Chunk]:
        return (chunk.cut(place, place + 1) for place in range(len(chunk.values)))

    def output_watermark(self, watermark: int) -> int:
        return watermark if watermark in (MIN_WATERMARK, MAX_WATERMARK) else watermark - 10

    def output_idle(self, idle: bool) -> bool:
        return idle


class Last(InputGatherer):
    """Hold everything back."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def process(self, chunk: Chunk) -> None:
        self.chunks.append(chunk)

    def held_back(self) -> list[Chunk]:
        return self.chunks


class TestRoles:
    def test_who_plays_none_is_asked_for_nothing(self) -> None:
        program = Program()
        program.add(Recorder(), (program.add(RowsTransformation(), data_frame=object()), REBALANCE))
        running = Running(program.graph)
        assert not running.operators.has_more()
        assert running.operators.next_processing_timer() is None
        assert running.operators.background == []
        assert running.operators.keepers(1) == []

    def test_who_goes_by_the_clock_hears_of_it_at_the_end_of_a_level(self) -> None:
        program, watch, seen = Program(), Watch(), Recorder()
        program.add(seen, program.add(watch, program.source([1])))
        running = Running(program.graph)
        running.clock.set(42)
        running.finish()
        assert watch.seen == [42]
        assert seen.log == [["it is 42"]]
        assert running.operators.next_processing_timer() == 70

    def test_who_has_results_between_epochs_asks_for_one_until_it_has_finished(self) -> None:
        program, worker = Program(), Worker()
        program.add(worker, (program.add(RowsTransformation(), data_frame=object()), REBALANCE))
        running = Running(program.graph)
        assert not running.operators.has_more()
        worker.ready = True
        assert running.operators.has_more()
        running.receive_progress(0, Progress(0, MAX_WATERMARK, True))
        running.finish(level=1)
        assert not running.operators.has_more()

    def test_who_has_watermarks_of_its_own_cuts_its_records_and_tells_them(self) -> None:
        program, seen = Program(), Recorder()
        source = program.add(RowsTransformation(), data_frame=object())
        program.add(seen, program.add(Behind(), (source, REBALANCE)))
        running = Running(program.graph)
        running.operators.receive(0, Chunk([1, 2]), running.output)
        running.receive_progress(0, Progress(0, 50, False))
        running.finish(level=1)
        assert seen.log == [[1], [2], 40]

    def test_what_was_held_back_comes_before_the_last_watermark(self) -> None:
        program, seen = Program(), Recorder()
        program.add(seen, program.add(Last(), program.source([1, 2])))
        running = Running(program.graph)
        running.poll()
        assert seen.log == []
        running.finish()
        assert seen.log == [[1, 2], "end of time", "finish"]

    @pytest.mark.parametrize("batch", [False, True])
    def test_in_a_batch_only_sources_and_what_commits_are_part_of_checkpoints(self, batch: bool) -> None:
        class Committer(Recorder, OutputCommitter):
            def snapshot_lists(self) -> dict[str, Any]:
                return {}

            def read_lists_back(self, lists: dict[str, Any]) -> None: ...
            def notify_complete(self, checkpoint_id: int) -> None: ...
            def notify_aborted(self, checkpoint_id: int) -> None: ...
            def savepoint_completed(self, checkpoint_id: int) -> None: ...
            def commit_final(self, version: int) -> None: ...

        program = Program()
        program.add(Committer(), program.add(Recorder(), program.source([1], name="source"), name="plain"), name="sink")
        graph = OperatorGraph(replace(Running(program.graph).job, batch=batch), 0)
        names = [running.node.name for running in graph.checkpointed]
        assert names == (["source", "sink"] if batch else ["source", "plain", "sink"])
