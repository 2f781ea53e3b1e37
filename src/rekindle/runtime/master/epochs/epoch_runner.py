"""Runs the epochs of one attempt: what is done in each, and how far the cluster's streams are.

:meth:`EpochRunner._run` is called from the thread in which the cluster begins epochs. Before each epoch it asks for
leave, and waits until :meth:`EpochRunner.begin` gives it: so a checkpoint can stand exactly there. Until then, and from
the end of an epoch on, the thread that gives leave may use all that is in here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from rekindle.checkpoint.metadata import SourcePosition
from rekindle.exceptions import JobExecutionError
from rekindle.graph.splits import Split
from rekindle.runtime.master.cluster import Epoch, EpochDriver
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.master.epochs.loop_control import IterationControl
from rekindle.runtime.master.epochs.pacing import EpochPacer
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.slots.slot_answers import SlotAnswers
from rekindle.runtime.master.slots.slot_directory import SlotDirectory
from rekindle.runtime.master.views.progress import EpochSummary
from rekindle.runtime.wire import messages as m


class EpochRunner:
    """Run epochs, one after the other, until the input ends or somebody stops it.

    Args:
        shared: The job.
        tell: Is told that an epoch waits for leave, and that one has ended.
        failed: Is called when an epoch fails.
    """

    def __init__(
        self,
        shared: JobShared,
        tell: Callable[[EpochWaits | EpochEnded], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._shared = shared
        self._tell = tell
        self._on_failure = failed
        self._driver: EpochDriver | None = None
        self._cluster = shared.cluster.epochs(shared.graph)
        self._pacer = EpochPacer(shared.settings.epoch_target_ms, shared.settings.epoch_max_records)
        self._iterations = IterationControl(shared.graph.iterations)
        self._polled_slots = shared.graph.polled_slots
        self._reports: SlotAnswers[m.EpochReport] = SlotAnswers(shared.graph.slots)
        self._statics = self._cluster.bounded_frames
        self._bounded = {source.uid for source in shared.graph.cluster_sources if source.bounded} - self._statics
        self._nodes = {source.uid: source.node for source in shared.graph.cluster_sources}
        self._ended: set[str] = set()
        self._unread: set[str] = set()  # bounded DataFrames that the next epoch reads
        self._tasks = 0  # of the cluster's streams in the epoch that waits
        self._splits: dict[int, list[Split]] = {}  # of the cluster's streams in the epoch that waits, by node
        self._told: dict[int, list[Split]] = {}  # what the slots know of them
        self._changed = threading.Condition()
        self._leave = (0, False)  # the last epoch that was settled, and whether it is to run
        self._stopped = threading.Event()
        self._drained_at: list[SourcePosition] | None = None  # where the streams have ended, if they had to

    def prepare(self, restored: Iterable[SourcePosition]) -> None:
        """Let the sources stand where a checkpoint left them, and at their beginning where it says nothing."""
        positions = {position.uid: position for position in restored}
        self._unread = {uid for uid in self._statics if not (uid in positions and positions[uid].consumed)}
        self._ended = self._statics - self._unread
        self._cluster.prepare(positions, self._shared.clock.now())

    def start(self, slots: SlotDirectory) -> EpochDriver:
        """Start the first epoch."""
        driver = self._driver = self._cluster.start(slots, self._run)
        try:
            driver.tick()
        except BaseException:
            driver.stop()
            raise
        return driver

    def positions(self, epoch: int) -> list[SourcePosition]:
        """Return where the cluster's streams stand after an epoch, the last that has ended."""
        if self._drained_at is not None:
            return self._drained_at
        consumed = [SourcePosition(uid, [], [], consumed=True) for uid in sorted(self._statics - self._unread)]
        return [*self._cluster.positions(epoch), *consumed]

    def report(self, slot: int, report: m.EpochReport) -> None:
        """Take a slot's report at the end of an epoch."""
        self._reports.put(slot, report)

    def tick(self) -> None:
        """Ask for an epoch, though the cluster's streams may have nothing new."""
        if self._driver is not None:  # else the first is yet to come
            self._driver.tick()

    def begin(self, epoch: int) -> None:
        """Open an epoch in all slots, and let it run."""
        draining = self.draining
        self._reports = SlotAnswers(self._shared.graph.slots)
        ended = sorted(self._nodes[uid] for uid in (self._nodes if draining else self._ended | self._statics))
        budget = -(-self._pacer.budget // self._polled_slots)  # up, so that all together use it up
        orders = self._iterations.orders()
        tasks = 0 if self._unread and not draining else self._tasks  # nobody has counted those of bounded DataFrames
        new = {node: splits for node, splits in self._splits.items() if self._told.get(node) != splits}
        self._told |= new
        begin = m.BeginEpoch(epoch, self._shared.clock.now(), ended, budget, orders, draining, tasks, new)
        self._shared.slot_pool.broadcast(begin)
        self._settle(epoch, True)

    def skip(self, epoch: int) -> None:
        """Let an epoch end that has not begun: nothing counts any more, such as what a bounded stream gets then."""
        self._settle(epoch, False)

    def _settle(self, epoch: int, runs: bool) -> None:
        with self._changed:
            self._leave = epoch, runs
            self._changed.notify_all()

    def drain(self, epoch: int) -> None:
        """End all sources where they stand after an epoch; epochs go on until all operators have seen it."""
        if self._drained_at is None:
            self._drained_at = self.positions(epoch)

    @property
    def draining(self) -> bool:
        """Return whether the sources were told to end."""
        return self._drained_at is not None

    def fail(self, error: BaseException) -> None:
        """End an epoch's wait for its slots."""
        self._reports.fail(error)

    def stop(self) -> None:
        """Begin no other epoch, and let go of the thread in which they begin."""
        with self._changed:
            self._stopped.set()
            self._changed.notify_all()
        self.fail(JobExecutionError("the attempt has ended"))

    def close(self) -> None:
        """Let go of what the cluster keeps for epochs; none is under way."""
        self._cluster.close()

    # --- the thread in which epochs begin ---

    def _run(self, epoch: Epoch) -> None:
        """Run an epoch. A failure is told to the attempt, which stops them all; the cluster need not hear it."""
        try:
            self._epoch(epoch)
        except BaseException as error:
            self._on_failure(error)
            self._stopped.wait()

    def _may_run(self, epoch: int) -> bool:
        """Ask for leave, and wait for it."""
        self._tell(EpochWaits(epoch))
        with self._changed:
            self._changed.wait_for(lambda: self._stopped.is_set() or self._leave[0] == epoch)
            return not self._stopped.is_set() and self._leave == (epoch, True)

    def _epoch(self, epoch: Epoch) -> None:
        number = epoch.number
        self._tasks = epoch.source_tasks()
        self._splits = {self._nodes[uid]: splits for uid, splits in self._cluster.splits(number).items()}
        if not self._may_run(number):
            return
        reports, draining = self._reports, self.draining
        started = time.monotonic()
        epoch.run(set() if draining else set(self._unread), draining)
        self._shared.slot_pool.broadcast(m.EndEpoch(number))
        answers = reports.wait()
        summary = EpochSummary(
            epoch=number,
            polled=sum(report.records_polled for report in answers),
            records=sum(report.records_in for report in answers),
            seconds=time.monotonic() - started,
            watermark=min(report.watermark for report in answers),
            busy_seconds=max(report.busy_ms for report in answers) / 1000,
        )
        self._pacer.epoch_finished(summary.polled, summary.seconds, summary.busy_seconds)
        self._say_whose_clock_was_set(answers)
        self._tell(self._ended_with(number, answers))
        self._shared.view.epoch_finished(summary)

    def _say_whose_clock_was_set(self, reports: list[m.EpochReport]) -> None:
        """Tell of clocks that somebody has set; slots on one machine have one clock."""
        steps = {report.clock_set: slot for slot, report in reversed([*enumerate(reports)]) if report.clock_set}
        for step, slot in steps.items():
            direction = "forward: processing-time timers are early" if step > 0 else "back: processing-time timers wait"
            self._shared.view.notice(
                f"the clock of the machine of slot {slot} was set {abs(step) / 1000:,.1f} s {direction}, and "
                "processing-time windows go by the new time"
            )

    def _ended_with(self, epoch: int, reports: list[m.EpochReport]) -> EpochEnded:
        """Take stock of an epoch."""
        self._unread = set()
        # A bounded stream has ended when it is where it ends; if nobody knows that, when nothing new was found in it.
        asked = self._bounded - self._cluster.delimited
        over = (asked - self._cluster.moved(epoch) | self._cluster.ended(epoch)) - self._ended
        self._ended |= over | self._statics
        # A slot's clock may be ahead of this one: it runs on another machine, or somebody has set it.
        now = self._shared.clock.now()
        timers = [now + report.next_timer - report.now for report in reports if report.next_timer is not None]
        self._iterations.epoch_ended(reports)
        asked_again = not self.draining and bool(over or asked - self._ended)
        more = asked_again or any(report.more for report in reports) or self._iterations.more
        finished = all(report.finished for report in reports)
        return EpochEnded(epoch, finished, more, min(timers, default=None))
