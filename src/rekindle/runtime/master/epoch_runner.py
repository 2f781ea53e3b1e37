"""Runs the epochs of one attempt: what is done in each, and how far the cluster's streams are.

:meth:`EpochRunner._run` is called from the thread in which the cluster begins epochs. Between two
epochs, under the attempt's lock, whoever owns the runner is told, so that a checkpoint can stand exactly there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

from rekindle.checkpoint.metadata import SparkPosition
from rekindle.exceptions import JobExecutionError
from rekindle.runtime.master.cluster import Epoch, EpochDriver
from rekindle.runtime.master.epoch_reports import Gathering
from rekindle.runtime.master.hosted_sources import polled_slots
from rekindle.runtime.master.iterations import IterationControl
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.pacing import EpochPacer
from rekindle.runtime.master.progress import EpochSummary
from rekindle.runtime.master.slot_directory import SlotDirectory
from rekindle.runtime.wire import messages as m


class EpochRunner:
    """Run epochs, one after the other, until the input ends or somebody stops it.

    Attributes:
        running: Whether an epoch is under way. Read it, and what follows, under the lock.
        last_epoch: The last epoch that ended.
        next_timer: When the next processing-time timer is due.
        finished: Whether all operators have seen the end of their input.

    Args:
        shared: The job.
        lock: Guards everything in here that is asked from outside.
        ended: Is called, under the lock, when an epoch has ended and before the next one begins.
        failed: Is called when an epoch fails.
    """

    def __init__(
        self,
        shared: JobShared,
        lock: threading.RLock,
        ended: Callable[[], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self.running = False
        self.last_epoch = 0
        self.next_timer: int | None = None
        self.finished = False
        self._shared = shared
        self._lock = lock
        self._on_end = ended
        self._on_failure = failed
        self._driver: EpochDriver | None = None
        self._cluster = shared.cluster.epochs(shared.graph)
        self._pacer = EpochPacer(shared.settings.epoch_target_ms, shared.settings.epoch_max_records)
        self._iterations = IterationControl(shared.graph.iterations)
        self._polled_slots = polled_slots(shared.graph)
        self._reports: Gathering[m.EpochReport] = Gathering(shared.graph.slots)
        self._statics = self._cluster.bounded_frames
        self._bounded = {source.uid for source in shared.graph.spark_sources if source.bounded} - self._statics
        self._nodes = {source.uid: source.node for source in shared.graph.spark_sources}
        self._ended: set[str] = set()
        self._unread: set[str] = set()  # bounded DataFrames that the next epoch reads
        self._stopping = False
        self._stopped = threading.Event()
        self._held = False
        self._let_go = threading.Condition(lock)
        self._drained_at: list[SparkPosition] | None = None  # where Spark's sources have ended, if they had to

    def prepare(self, restored: Iterable[SparkPosition]) -> None:
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

    def positions(self) -> list[SparkPosition]:
        """Tell where the cluster's streams stand after the last epoch that read from them."""
        if self._drained_at is not None:
            return self._drained_at
        consumed = [SparkPosition(uid, [], [], consumed=True) for uid in sorted(self._statics - self._unread)]
        return [*self._cluster.positions(self.last_epoch), *consumed]

    def report(self, slot: int, report: m.EpochReport) -> None:
        """Take a slot's report at the end of an epoch."""
        self._reports.put(slot, report)

    def start_if_timer_due(self, now: int) -> None:
        """Start an epoch if a timer waits for one."""
        if self.next_timer is not None and self.next_timer <= now and not self.running:
            self.next_timer = None
            self.raise_tick()

    def raise_tick(self) -> None:
        """Let an epoch begin, though the cluster's streams may have nothing new."""
        if self._driver is not None:  # else the first is yet to come
            self._driver.tick()

    def hold(self) -> None:
        """Begin no other epoch until :meth:`release`. What the cluster has planned waits, and is not lost."""
        with self._lock:
            self._held = True

    def release(self) -> None:
        """Let epochs go on."""
        with self._lock:
            self._held = False
            self._let_go.notify_all()

    def drain(self) -> None:
        """End all sources where they stand, as if there were no more input; epochs go on until all have seen it."""
        with self._lock:
            if self._drained_at is None:
                self._drained_at = self.positions()
            self.raise_tick()

    @property
    def draining(self) -> bool:
        """Tell whether the sources were told to end."""
        return self._drained_at is not None

    def fail(self, error: BaseException) -> None:
        """End an epoch's wait for its slots."""
        self._reports.fail(error)

    def stop(self) -> None:
        """Begin no other epoch, and let go of the thread in which they begin."""
        with self._lock:
            self._stopping = True
            self._let_go.notify_all()
        self._stopped.set()
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

    def _epoch(self, epoch: Epoch) -> None:
        number, slots = epoch.number, self._shared.slot_pool
        tasks = epoch.source_tasks()
        with self._lock:
            self._let_go.wait_for(lambda: self._stopping or not self._held)
            if self._stopping or self.finished:
                return  # nothing counts any more, such as what a bounded stream gets after its end
            draining = self.draining
            unread = set() if draining else set(self._unread)
            self.running = True
            reports = self._reports = Gathering(self._shared.graph.slots)
            ended = sorted(self._nodes[uid] for uid in (self._nodes if draining else self._ended | self._statics))
            budget = -(-self._pacer.budget // self._polled_slots)  # up, so that all together use it up
            orders = self._iterations.orders()
            tasks = 0 if unread else tasks  # nobody has counted those of bounded DataFrames
            slots.broadcast(m.BeginEpoch(number, self._shared.clock.now(), ended, budget, orders, draining, tasks))
        started = time.monotonic()
        epoch.run(unread, draining)
        slots.broadcast(m.EndEpoch(number))
        answers = reports.wait()
        summary = EpochSummary(
            epoch=number,
            polled=sum(report.records_polled for report in answers),
            records=sum(report.records_in for report in answers),
            seconds=time.monotonic() - started,
            watermark=min(report.watermark for report in answers),
        )
        self._pacer.epoch_finished(summary.polled, summary.seconds, max(report.busy_ms for report in answers) / 1000)
        with self._lock:
            self._end(number, answers)
        self._shared.view.epoch_finished(summary)

    def _end(self, epoch: int, reports: list[m.EpochReport]) -> None:
        """Take stock, tell of the end, and see to it that the next epoch starts if there is work."""
        self.running = False
        self.last_epoch = epoch
        self._unread = set()
        # A bounded stream has ended when nothing new was found in it.
        quiet = self._bounded - self._ended - self._cluster.moved(epoch)
        self._ended |= quiet | self._statics
        timers = [report.next_timer for report in reports if report.next_timer is not None]
        self.next_timer = min(timers, default=None)
        self.finished = all(report.finished for report in reports)
        self._iterations.epoch_ended(reports)
        self._on_end()
        asked_again = not self.draining and (quiet or self._bounded - self._ended)
        more = asked_again or any(report.more for report in reports) or self._iterations.more
        if more and not self.finished:
            self.raise_tick()
