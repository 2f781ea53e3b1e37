"""The epochs of an attempt: the test calls as a cluster does, and answers as the slots do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.checkpoint.metadata import SourcePosition
from rekindle.exceptions import JobExecutionError
from rekindle.graph.job_graph import JobIteration
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.master.epochs.epoch_runner import EpochRunner
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.runtime.spark.positions import SourceLayout, SparkScratch
from rekindle.runtime.wire import messages as m
from rekindle.testing import ManualClock

SLOTS = 2


def report(epoch: int, **changes: Any) -> m.EpochReport:
    values = {"records_in": 5, "records_polled": 3, "finished": False, "more": False, "now": 50, "next_timer": None}
    return m.EpochReport(epoch=epoch, watermark=7, **(values | changes))


class World:
    """The cluster and the slots. ``stream`` is a streaming source, ``table`` a bounded one."""

    def __init__(
        self,
        directory: Path,
        bounded: bool = False,
        iterations: tuple[JobIteration, ...] = (),
        end: str | None = None,
    ) -> None:
        self.scratch = directory
        self.closed = False
        self.clock = ManualClock(50)
        self.told: list[Any] = []
        self.actions: list[set[str]] = []
        self.without = 0
        self.tick = 0  # how often an epoch was asked for
        self.ends: list[EpochEnded] = []
        self.notices: list[str] = []
        self.leave: Callable[[int], None] | None = lambda epoch: self.runner.begin(epoch)
        self.failures: list[BaseException] = []
        self.summaries: list[EpochSummary] = []
        self.answers: Callable[[int], list[m.EpochReport]] = lambda epoch: [report(epoch), report(epoch)]
        self.trouble: BaseException | None = None
        self.splits: list[tuple[str, int]] | None = None
        sources = [
            SimpleNamespace(uid="stream", node=1, bounded=bounded),
            SimpleNamespace(uid="table", node=2, bounded=True),
        ]
        positions = SparkScratch(str(directory), (SourceLayout("stream", 0, 1),))
        epochs = SimpleNamespace(
            bounded_frames={"table"},
            prepare=positions.prepare,
            start=lambda slots, run: SimpleNamespace(tick=self.ask),
            positions=positions.positions,
            moved=positions.moved,
            delimited=set() if end is None else {"stream"},
            ended=lambda epoch: {"stream"} if positions.offset("stream", epoch) == end else set(),
            splits=lambda epoch: {} if self.splits is None else {"stream": self.splits},
            close=self.close,
        )
        shared: Any = SimpleNamespace(
            cluster=SimpleNamespace(epochs=lambda graph: epochs),
            graph=SimpleNamespace(slots=SLOTS, polled_slots=2, cluster_sources=sources, iterations=iterations),
            settings=SimpleNamespace(epoch_target_ms=1_000, epoch_max_records=101),
            clock=self.clock,
            slot_pool=SimpleNamespace(broadcast=self.tell),
            view=SimpleNamespace(epoch_finished=self.summaries.append, notice=self.notices.append),
        )
        self.runner = EpochRunner(shared, self.hear, self.failures.append)

    def start(self, *restored: SourcePosition) -> None:
        self.runner.prepare(restored)
        slots: Any = SimpleNamespace()
        self.runner.start(slots)

    def ask(self) -> None:
        self.tick += 1

    def close(self) -> None:
        self.closed = True

    def action(self, unread: set[str], draining: bool) -> None:
        self.actions.append(unread)
        self.without += draining
        if self.trouble is not None:
            raise self.trouble

    def tell(self, order: Any) -> None:
        self.told.append(order)
        if isinstance(order, m.EndEpoch):
            for slot, answer in enumerate(self.answers(order.epoch)):
                self.runner.report(slot, answer)

    def hear(self, event: EpochWaits | EpochEnded) -> None:
        if isinstance(event, EpochEnded):
            self.ends.append(event)
        elif self.leave is not None:
            self.leave(event.epoch)

    def epoch(self, number: int, offset: str) -> None:
        """Run a micro-batch, as Spark does: first its offsets are logged."""
        lines = ["v1", "{}", offset, str(number)]
        (self.scratch / "offsets" / str(number)).write_text("\n".join(lines))
        epoch: Any = SimpleNamespace(number=number, source_tasks=lambda: 0, run=self.action)
        self.runner._run(epoch)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_an_epoch_is_opened_run_closed_and_told(world: World) -> None:
    world.start()
    world.epoch(1, '"a"')
    assert world.told == [m.BeginEpoch(1, 50, [2], 51), m.EndEpoch(1)]
    assert world.ends == [EpochEnded(1)]
    assert world.failures == []
    [summary] = world.summaries
    assert (summary.records, summary.polled, summary.watermark) == (10, 6, 7)


def test_a_table_is_read_in_the_first_epoch_and_is_consumed_then(world: World) -> None:
    world.start()
    assert world.runner.positions(0) == [SourcePosition("stream", [], [])]
    world.epoch(1, '"a"')
    world.epoch(2, '"b"')
    assert world.actions == [{"table"}, set()]
    assert world.runner.positions(2) == [
        SourcePosition("stream", ['"b"'], []),
        SourcePosition("table", [], [], consumed=True),
    ]


def test_what_a_checkpoint_has_consumed_is_not_read_again(world: World) -> None:
    world.start(SourcePosition("stream", ['"x"'], []), SourcePosition("table", [], [], consumed=True))
    assert world.runner.positions(0)[0] == SourcePosition("stream", ['"x"'], [])
    world.epoch(1, '"x"')
    assert world.actions == [set()]


def test_the_first_epoch_is_asked_for_and_the_end_of_each_says_whether_another_is_wanted(world: World) -> None:
    world.start()
    assert world.tick == 1
    world.answers = lambda epoch: [report(epoch, more=epoch == 1), report(epoch)]
    world.epoch(1, '"a"')
    world.epoch(2, '"a"')
    assert world.ends == [EpochEnded(1, more=True), EpochEnded(2)]
    world.runner.tick()
    assert world.tick == 2


def test_a_loop_that_is_not_empty_wants_an_epoch_and_gets_orders(tmp_path: Path) -> None:
    world = World(tmp_path, iterations=(JobIteration(5, frozenset({5, 6}), (), False, None, False),))
    world.start()
    waiting = m.IterationReport(5, ended=False, busy=False, fed_back=2, criterion=0, round=0)
    world.answers = lambda epoch: [report(epoch, iterations=[waiting])] * SLOTS
    world.epoch(1, '"a"')
    empty = m.IterationReport(5, ended=True, busy=False, fed_back=0, criterion=0, round=0)
    world.answers = lambda epoch: [report(epoch, iterations=[empty])] * SLOTS
    for number in (2, 3, 4, 5):
        world.epoch(number, '"a"')
    phases = [[i.phase for i in order.iterations] for order in world.told if isinstance(order, m.BeginEpoch)]
    run, drain, over = IterationPhase.RUN, IterationPhase.DRAIN, IterationPhase.OVER
    assert phases == [[run], [run], [drain], [over], []]
    assert [ended.more for ended in world.ends] == [True, True, True, False, False]


def test_a_bounded_stream_is_asked_again_until_nothing_is_new_and_once_more_to_say_so(tmp_path: Path) -> None:
    world = World(tmp_path, bounded=True)
    world.start()
    world.epoch(1, '"a"')
    world.epoch(2, '"a"')
    assert [order.ended_sources for order in world.told if isinstance(order, m.BeginEpoch)] == [[2], [2]]
    world.epoch(3, '"a"')
    assert world.told[-2].ended_sources == [1, 2]
    assert [ended.more for ended in world.ends] == [True, True, False]


@pytest.mark.parametrize("bounded", [True, False])
def test_a_stream_that_knows_its_end_ends_there_and_not_when_nothing_is_new(tmp_path: Path, bounded: bool) -> None:
    world = World(tmp_path, bounded=bounded, end='"z"')
    world.start()
    for number, offset in enumerate(('"a"', '"a"', '"z"', '"z"'), 1):
        world.epoch(number, offset)
    ended = [order.ended_sources for order in world.told if isinstance(order, m.BeginEpoch)]
    assert ended == [[2], [2], [2], [1, 2]]
    assert [ended.more for ended in world.ends] == [False, False, True, False]


def test_slots_are_told_of_splits_when_these_change(world: World) -> None:
    world.start()
    for number, splits in enumerate(([("t", 0)], [("t", 0)], [("t", 0), ("t", 1)]), 1):
        world.splits = splits
        world.epoch(number, '"a"')
    told = [order.splits for order in world.told if isinstance(order, m.BeginEpoch)]
    assert told == [{1: [("t", 0)]}, {}, {1: [("t", 0), ("t", 1)]}]


def test_the_earliest_timer_of_all_slots_is_told(world: World) -> None:
    world.start()
    world.answers = lambda epoch: [report(epoch, next_timer=90), report(epoch, next_timer=80)]
    world.epoch(1, '"a"')
    assert world.ends == [EpochEnded(1, next_timer=80)]


@pytest.mark.parametrize("ahead", [-3_600_000, 3_600_000])
def test_a_timer_is_due_when_the_time_until_then_has_passed_whatever_the_clock_of_its_slot_says(
    world: World, ahead: int
) -> None:
    world.start()
    world.answers = lambda epoch: [report(epoch, now=50 + ahead, next_timer=90 + ahead), report(epoch)]
    world.epoch(1, '"a"')
    assert world.ends == [EpochEnded(1, next_timer=90)]


def test_a_clock_that_was_set_is_told_of_once_for_each_machine(world: World) -> None:
    world.start()
    world.answers = lambda epoch: [report(epoch, clock_set=-2_500 if epoch == 2 else 0) for _ in range(SLOTS)]
    for epoch in (1, 2, 3):
        world.epoch(epoch, '"a"')
    (notice,) = world.notices
    assert notice.startswith("the clock of the machine of slot 0 was set 2.5 s back: processing-time timers wait")


def test_the_input_has_ended_when_all_operators_of_all_slots_are_finished(world: World) -> None:
    world.start()
    world.answers = lambda epoch: [report(epoch, finished=epoch == 2), report(epoch, finished=True)]
    world.epoch(1, '"a"')
    world.epoch(2, '"b"')
    assert [ended.finished for ended in world.ends] == [False, True]


def test_an_epoch_that_is_skipped_does_nothing(world: World) -> None:
    world.start()
    world.leave = world.runner.skip
    world.epoch(1, '"a"')
    assert (world.told, world.actions, world.ends) == ([], [], [])


def test_a_failure_is_told_and_the_clusters_thread_is_held_until_the_attempt_ends(world: World) -> None:
    world.start()
    world.trouble = JobExecutionError("boom")
    thread = threading.Thread(target=world.epoch, args=(1, '"a"'))
    thread.start()
    thread.join(0.2)
    assert thread.is_alive(), "the cluster is not told"
    world.runner.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert world.failures == [world.trouble]
    assert world.ends == []


def test_a_failure_elsewhere_ends_the_wait_for_the_slots(world: World) -> None:
    world.start()
    world.answers = lambda epoch: [report(epoch)]  # the other slot is lost
    lost = JobExecutionError("slot 1 was lost")
    world.failures.clear()
    timer = threading.Timer(0.1, lambda: world.runner.fail(lost))
    timer.start()
    thread = threading.Thread(target=world.epoch, args=(1, '"a"'))
    thread.start()
    timer.join()
    thread.join(0.2)
    world.runner.stop()
    thread.join(10)
    assert world.failures == [lost]


def test_after_the_stop_no_epoch_begins_and_the_cluster_may_let_go(world: World) -> None:
    world.start()
    world.leave = None
    world.runner.stop()
    world.epoch(1, '"a"')
    assert world.told == []
    world.runner.close()
    assert world.closed


def test_an_epoch_waits_until_it_gets_leave(world: World) -> None:
    world.start()
    world.leave = None
    thread = threading.Thread(target=world.epoch, args=(1, '"a"'))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    assert world.told == []
    assert world.runner.positions(0) == [SourcePosition("stream", [], [])], "what Spark has planned does not count yet"
    world.runner.begin(1)
    thread.join(10)
    assert world.ends == [EpochEnded(1)]


def test_the_stop_lets_go_of_an_epoch_that_waits(world: World) -> None:
    world.start()
    world.leave = None
    thread = threading.Thread(target=world.epoch, args=(1, '"a"'))
    thread.start()
    world.runner.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert world.told == []


def test_drained_sources_have_ended_and_stay_where_they_are_whatever_spark_reads(world: World) -> None:
    world.start()
    world.epoch(1, '"a"')
    before = world.runner.positions(1)
    world.runner.drain(1)
    world.epoch(2, '"b"')
    world.runner.drain(2)
    world.epoch(3, '"c"')
    begun = [order for order in world.told if isinstance(order, m.BeginEpoch)]
    assert [(order.ended_sources, order.drain) for order in begun] == [([2], False), ([1, 2], True), ([1, 2], True)]
    assert world.actions == [{"table"}, set(), set()]
    assert world.without == 2, "nothing was read"
    assert world.runner.positions(3) == before


def test_a_table_that_was_not_read_before_the_drain_is_not_read(world: World) -> None:
    world.start()
    world.runner.drain(0)
    world.epoch(1, '"a"')
    assert world.actions == [set()]
    assert world.runner.positions(1) == [SourcePosition("stream", [], [])], "the next job reads it"
