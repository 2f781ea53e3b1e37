"""Runs the real job master without Spark: attempts, epochs, checkpoints, restarts, with slots in the test's process.

The test's process plays Spark (a thread that runs an epoch whenever it is asked to, and carries envelopes from level to
level) and the machines (slots that can be lost). Programs may use every source that lives in slots. One job at a time.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.base.clock import SystemClock
from rekindle.common import JobID
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import SlotLostError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.plan import plan_of
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master import job_master as job_master_module
from rekindle.runtime.master import slot_launch as slot_launch_module
from rekindle.runtime.master.collected import CollectedRecords
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.job_settings import settle
from rekindle.runtime.master.lost_spark import Renew
from rekindle.runtime.master.progress import ProgressView
from rekindle.runtime.slot.deployment import RestoredCheckpoint, SlotJob
from rekindle.runtime.slot.failure import OperatorError, describe_failure
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.wire import messages as m
from support.processes import wait_until


class InProcessSlot:
    """One slot: a thread that carries out orders, one after the other."""

    def __init__(self, cluster: Cluster, deployment: SlotDeployment, index: int) -> None:
        self.index = index
        self.lost = False
        self.made = self.opened = False
        self._cluster = cluster
        self._listener: Any = None  # the attempt may not have begun
        self._orders: queue.SimpleQueue[m.ToSlot] = queue.SimpleQueue()
        self._deployment = deployment
        self._job: SlotJob = pickle.loads(deployment.job)
        self.slot: Slot
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"slot {index}")
        self._thread.start()

    def begin(self, listener: Any) -> None:
        """Let the attempt have begun, for which this slot waits."""
        self._listener = listener
        self.say(m.Register(self._deployment.attempt, self.index, os.getpid(), "nowhere"))

    def say(self, message: m.ToMaster) -> None:
        """Tell the job master something."""
        if not self.lost and self._cluster.hears(self.index, message):
            self._listener.slot_said(self.index, message)

    def order(self, order: m.ToSlot) -> None:
        """Give an order."""
        self._orders.put(order)

    def lose(self) -> None:
        """Let the slot be gone, as after SIGKILL: it does nothing any more."""
        self.lost = True
        self.order(m.Heartbeat())
        self._leave()
        self._listener.slot_lost(self.index, "the test killed it")

    def _leave(self) -> None:
        if self._cluster.slots.get(self.index) is self:  # not the next attempt's
            del self._cluster.slots[self.index]

    def has_begun(self, epoch: int) -> bool:
        """Wait until an epoch is open; tell whether it is, or the slot was lost."""
        wait_until(lambda: self.lost or (self.slot._epoch is not None and self.slot._epoch.epoch >= epoch), "it begins")
        return not self.lost

    def clear_away(self) -> None:
        """Let go of what a slot that was lost has opened: its process would be gone."""
        self._thread.join(30)
        if self.lost:
            self._close(job_over=True)

    def _close(self, job_over: bool) -> None:
        if not self.made:
            return
        self.slot._snapshotter._uploads.shutdown(wait=True)  # a process would end, and its files with it
        self.slot.close(job_over)

    def _open(self, order: m.OpenJob) -> None:
        if order.restore is not None:
            self._job.restore = RestoredCheckpoint.ordered(order.restore, self._job.snapshots.files)
        self.slot = Slot(self._job, self.index, self._deployment.attempt, SystemClock(), self.say)
        self.made = True
        self.slot.open()
        self.opened = True
        self.say(m.Ready("", 0, ""))

    def _run(self) -> None:
        while True:
            order = self._orders.get()
            if not self.lost and not self._cluster.obeys(self.index, order):
                continue
            if self.lost:
                return
            try:
                match order:
                    case m.OpenJob():
                        self._open(order)
                    case m.BeginEpoch():
                        self.slot.begin_epoch(order)
                    case m.EndEpoch():
                        self.slot.end_epoch(order)
                    case m.TriggerSnapshot():
                        self.slot.snapshot(order)
                    case m.NotifyComplete():
                        self.slot.notify_complete(order)
                    case m.NotifyAborted():
                        self.slot.notify_aborted(order)
                    case m.CommitFinal():
                        self.slot.commit_final()
                    case m.AskMetrics():
                        self.slot.report_metrics(order)
                    case m.Shutdown():
                        try:
                            with nullcontext() if self.opened else suppress(OperatorError):  # some could not be opened
                                self._close(order.job_over)
                        finally:
                            self._leave()  # as the connection of a process ends with it
                        return
            except Exception as error:
                self.say(describe_failure(error, self.index))
                if isinstance(order, m.Shutdown):
                    return  # a process would have ended all the same


class Cluster:
    """All that the job master finds outside of itself.

    Attributes:
        slots: The slots that run now.
        listener: Who hears of them.
        hears: Is asked about each message of a slot whether the job master gets it.
        obeys: Is asked about each order, in the slot's thread, whether the slot carries it out.
        attempts: The checkpoint that each attempt has begun with.
    """

    port = 0

    def __init__(self) -> None:
        self.slots: dict[int, InProcessSlot] = {}
        self.listener: Any = None
        self._lock = threading.Lock()
        self._attempt = -1
        self._waiting: dict[int, dict[int, InProcessSlot]] = {}  # of attempts that are yet to begin
        self.hears: Callable[[int, m.ToMaster], bool] = lambda slot, message: True
        self.obeys: Callable[[int, m.ToSlot], bool] = lambda slot, order: True
        self.attempts: list[int | None] = []
        self.masters: list[JobMaster] = []
        self.all_slots: list[InProcessSlot] = []

    def submit(
        self,
        env: StreamExecutionEnvironment,
        collected: CollectedRecords | None = None,
        renew_spark: Renew | None = None,
    ) -> JobMaster:
        """Start a program."""
        graph = env._compile()
        settings = settle(
            JobID().to_hex_string(),
            "in process",
            env._configuration,
            env._checkpoint_config,
            env._config,
            env._state_backend,
            graph.batch,
        )
        session: Any = None
        plan = plan_of(env._graph.pending(), graph)
        view = _View("in process", self.attempts)
        master = JobMaster(session, graph, settings, SystemClock(), view, collected, plan, renew_spark)
        env._graph.submitted = len(env._graph.nodes)
        self.masters.append(master)
        master.start()
        return master

    # --- what stands in for the control server ---

    def expect(self, attempt: int) -> None:
        """Let slots in that are launched ahead; here all are."""

    def begin_attempt(self, attempt: int, listener: Any) -> None:
        with self._lock:
            self._attempt, self.listener = attempt, listener
            self.slots = self._waiting.pop(attempt, {})
            waiting = list(self.slots.values())
        for slot in waiting:
            slot.begin(listener)

    def connections(self) -> dict[int, Any]:
        registration = SimpleNamespace(host="nowhere", pid=0)
        return {index: SimpleNamespace(registration=registration) for index in list(self.slots)}

    def broadcast(self, message: m.ToSlot) -> None:
        for slot in list(self.slots.values()):
            slot.order(message)

    def hang_up(self) -> list[Any]:
        with self._lock:
            slots, self.slots, self._attempt = self.slots, {}, -1
        _cut_off(slots)
        return []

    def close(self) -> None:
        self.hang_up()
        for slots in self._waiting.values():
            _cut_off(slots)

    # --- what stands in for Spark ---

    def launch(self, session: Any, deployment: SlotDeployment, slots: int) -> None:
        launched = {index: InProcessSlot(self, deployment, index) for index in range(slots)}
        self.all_slots += launched.values()
        with self._lock:
            if deployment.attempt != self._attempt:
                self._waiting[deployment.attempt] = launched
                return
            self.slots.update(launched)
        for slot in launched.values():
            slot.begin(self.listener)


def _cut_off(slots: dict[int, InProcessSlot]) -> None:
    for slot in list(slots.values()):
        slot.lost = True
        slot.order(m.Heartbeat())


class _View(ProgressView):
    def __init__(self, job_name: str, attempts: list[int | None]) -> None:
        super().__init__(job_name)
        self._attempts = attempts

    def attempt_started(self, attempt: int, checkpoint_id: int | None) -> None:
        self._attempts.append(checkpoint_id)


class _Plan:
    """Runs epochs as Spark does."""

    def __init__(self, cluster: Cluster, graph: JobGraph) -> None:
        self._cluster = cluster
        self._graph = graph
        hosted = [node.parallelism for node in graph.nodes if node.transformation.hosted]
        self.polled_slots = max(hosted, default=1)

    def layout(self) -> tuple[()]:
        return ()

    def static_uids(self) -> set[str]:
        return set()

    def source_tasks(self, epoch: Any, ticked: Any) -> int:
        return 0

    def start(self, directory: Any, scratch: str, run: Callable[[Any, int], None]) -> _Epochs:
        self._attempt = directory.attempt
        return _Epochs(run)

    def without_sources(self, epoch: Any, directory: Any) -> Any:
        return epoch

    def run(self, epoch: int, directory: Any, unread: set[str]) -> None:
        levels = {node.id: node.level for node in self._graph.nodes}
        envelopes: list[Envelope] = []
        for level in range(self._graph.levels):
            own = [e for e in envelopes if levels[self._graph.edges[e[0]].target] == level]
            envelopes = [e for e in envelopes if levels[self._graph.edges[e[0]].target] != level]
            for index in range(self._graph.slots if level else self.polled_slots):
                running = self._cluster.slots.get(index)
                if running is None or not running.has_begun(epoch):
                    raise SlotLostError(f"slot {index} went away in the middle of a task")
                task = m.OpenTask(self._attempt, epoch, level, index, 0, poll=level == 0)
                frames = iter([(edge, bytearray(payload)) for edge, target, payload in own if target == index])
                try:
                    running.slot.run_task(task, frames, envelopes.append)
                except Exception as error:
                    running.say(describe_failure(error, index))
                    raise


class _Epochs:
    """Runs an epoch whenever one is asked for."""

    error = None

    def __init__(self, run: Callable[[Any, int], None]) -> None:
        self._stopped = threading.Event()
        self._asked = threading.Event()
        self._run_epoch = run
        self._thread = threading.Thread(target=self._run, daemon=True, name="epochs")
        self._thread.start()

    @property
    def active(self) -> bool:
        return self._thread.is_alive()

    def tick(self) -> None:
        self._asked.set()

    def stop(self) -> None:
        self._stopped.set()
        self._asked.set()
        self._thread.join(30)

    def _run(self) -> None:
        epoch = 0
        while self._asked.wait() and not self._stopped.is_set():
            self._asked.clear()
            epoch += 1
            self._run_epoch(epoch, epoch)


def run_jobs_here(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """Let job masters run their jobs in this process, without Spark."""
    cluster = Cluster()
    monkeypatch.setattr(job_master_module, "is_local", lambda session: True)
    monkeypatch.setattr(job_master_module, "ControlServer", lambda *settings: cluster)
    monkeypatch.setattr(job_master_module, "EpochPlan", lambda session, graph: _Plan(cluster, graph))
    monkeypatch.setattr(slot_launch_module, "is_local", lambda session: True)
    monkeypatch.setattr(slot_launch_module, "launch_slots", cluster.launch)
    return cluster


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Give what a job master needs to run in this process."""
    cluster = run_jobs_here(monkeypatch)
    yield cluster
    for master in cluster.masters:
        master.cancel()
        master.result.exception(60)
    for slot in cluster.all_slots:
        slot.clear_away()
