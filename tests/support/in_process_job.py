"""Runs a whole job in the test's process: slots, epochs, exchanges and checkpoints as they are, without Spark.

The test plays Spark (it carries envelopes from level to level) and the job master (it opens and closes epochs).
Everything else is the product's own code, up to the coordinator and the files of a checkpoint.
"""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pyarrow as pa

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.restoring import Consent, fit_to_checkpoint
from rekindle.checkpoint.slot_share import SlotShares
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.graph.batch_mode import as_batch
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.stream_graph import StreamGraph
from rekindle.graph.transformations.sinks import CollectTransformation
from rekindle.runtime.exchange.arrow_batches import encode_batch
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.epochs.loop_control import IterationControl
from rekindle.runtime.operators.sinks import COLLECTED, PRINTED, unpickle_collected
from rekindle.runtime.slot.orders import carry_out
from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, SlotJob, SnapshotSettings
from rekindle.runtime.wire import messages as m
from rekindle.state.backend_settings import BackendSettings
from rekindle.testing import ManualClock
from support.checkpoint_executor import CheckpointExecutor

JOB_ID = "00000000000000000000000000000001"
_DATABASES = os.path.join(tempfile.gettempdir(), f"rekindle-in-process-{os.getpid()}")


class DeclinedError(Exception):
    """A checkpoint was declined; the text is what the slots said."""


def collect(stream: DataStream) -> DataStream:
    """Let the job keep the records of a stream in ``InProcessJob.collected``."""
    stream._sink("Collect", CollectTransformation(), nameable=False)
    return stream


class InProcessJob:
    """Run the slots of one attempt.

    Attributes:
        slots: The slots, by index.
        graph: What they run.
        iterations: What decides what they do in loops.
        clock: The time of all slots.
        collected: The records of all streams given to :func:`collect`, in the order in which they arrived.
        printed: The lines of all printed streams, in that order.
        requests: How often an operator asked for an epoch.
    """

    def __init__(
        self,
        program: StreamExecutionEnvironment | StreamGraph | JobGraph,
        parallelism: int = 1,
        *,
        files: CheckpointFiles | None = None,
        inline_below: int = 0,
        inline_limit: int = 5 << 20,
        asynchronous: bool = True,
        restore: StoredCheckpoint | None = None,
        own: bool = False,
        backend: BackendSettings | None = None,
        attempt: int = 0,
        clock: ManualClock | None = None,
        batch_memory: int | None = None,
        job_parameters: Mapping[str, str] | None = None,
        options: CheckpointOptions | None = None,
        directory: JobCheckpointDirectory | None = None,
        watermark_interval_ms: int = 200,
        slot_class: type[Slot] = Slot,
    ) -> None:
        program = program._graph if isinstance(program, StreamExecutionEnvironment) else program
        self.graph = program if isinstance(program, JobGraph) else compile_job(program, parallelism, None)
        if batch_memory is not None:  # a batch job, and how many records its operators hold in memory
            self.graph = as_batch(self.graph, batch_memory)
        if restore is not None:
            self.graph = fit_to_checkpoint(self.graph, restore.metadata, Consent())
        self.iterations = IterationControl(self.graph.iterations)
        self.clock = clock or ManualClock()
        self.collected: list[Any] = []
        self.printed: list[str] = []
        self.requests = 0
        self._epoch = 0
        self._attempt = attempt
        self._answers: queue.SimpleQueue[tuple[int, m.ToMaster]] = queue.SimpleQueue()
        self._reports: dict[int, m.EpochReport] = {}
        job = cloudpickle.dumps(
            SlotJob(
                job_id=JOB_ID,
                graph=self.graph,
                snapshots=SnapshotSettings(files, inline_below, inline_limit, asynchronous),
                checkpointing=True,
                restore=None,
                epoch_max_ms=60_000,
                main_classes={},
                job_parameters=dict(job_parameters or {}),
                backend=_with_own_directory(backend or BackendSettings()),
                watermark_interval_ms=watermark_interval_ms,
            )
        )
        shares = None
        if restore is not None:
            shares = SlotShares(restore.metadata, {node.uid: node.parallelism for node in self.graph.nodes})

        def job_of(index: int) -> SlotJob:
            own_job: SlotJob = cloudpickle.loads(job)
            if restore is not None and shares is not None:
                own_job.restore = RestoredCheckpoint(shares.of(index), restore.files, restore.directory, own)
            return own_job

        self.slots = [
            slot_class(
                job_of(index),
                index,
                attempt,
                self.clock,
                lambda message, index=index: self._hear(index, message),
            )
            for index in range(self.graph.slots)
        ]
        for slot in self.slots:
            slot.open()
        self._settings = SimpleNamespace(job_id=JOB_ID, job_name="in process", checkpoint_files=files)
        self.coordinator = CheckpointCoordinator(
            options or CheckpointOptions(interval_ms=1, tolerable_failures=1_000, num_retained=1_000),
            frozenset(range(self.graph.slots)),
            attempt,
            1 if restore is None else restore.metadata.checkpoint_id + 1,
            self.clock.now(),
            operators={node.uid: node.parallelism for node in self.graph.nodes},
        )
        self._executor = CheckpointExecutor(
            self._settings,  # type: ignore[arg-type]
            self.graph,
            self.clock,
            self.broadcast,
            directory,
        )

    # --- epochs ---

    def run_epoch(
        self,
        max_records: int = 1_000_000,
        rows: Mapping[int, Sequence[pa.RecordBatch]] | None = None,
        ended: Iterable[int] = (),
    ) -> list[m.EpochReport]:
        """Run one epoch and return the slots' reports.

        Args:
            max_records: How many records the hosted sources of a slot may read.
            rows: Batches of Spark sources, by node; each batch is a task of its own.
            ended: Nodes of Spark sources that have no more records after this epoch.
        """
        self._epoch += 1
        orders = self.iterations.orders()
        tasks = sum(len(batches) for batches in (rows or {}).values())
        begin = m.BeginEpoch(self._epoch, self.clock.now(), list(ended), max_records, orders, spark_tasks=tasks)
        self.broadcast(begin)
        envelopes: list[Envelope] = []
        for node, batches in (rows or {}).items():
            parallelism = next(n.parallelism for n in self.graph.nodes if n.id == node)
            for partition, batch in enumerate(batches):
                task = m.OpenTask(self._attempt, self._epoch, 0, partition, 0, source=node)
                frames = iter([(0, bytearray(encode_batch(batch)))])
                self.slots[partition % parallelism].run_task(task, frames, envelopes.append)
        hosting = [n.parallelism for n in self.graph.nodes if n.transformation.hosted]
        for slot in self.slots[: max(hosting, default=0)]:
            slot.run_task(
                m.OpenTask(self._attempt, self._epoch, 0, slot.index, 0, poll=True), iter(()), envelopes.append
            )
        self._run_levels(envelopes)
        self._reports.clear()
        self.broadcast(m.EndEpoch(self._epoch))
        reports = [self._reports[slot.index] for slot in self.slots]
        self.iterations.epoch_ended(reports)
        return reports

    def run_to_end(self, max_records: int = 1_000_000) -> list[Any]:
        """Run epochs until all input has ended; return all that was collected."""
        for _ in range(10_000):
            if all(report.finished for report in self.run_epoch(max_records)):
                return self.collected
        raise AssertionError("the input does not end")

    def _run_levels(self, envelopes: list[Envelope]) -> None:
        levels = {node.id: node.level for node in self.graph.nodes}
        for level in range(1, self.graph.levels):
            own = [e for e in envelopes if levels[self.graph.edges[e[0]].target] == level]
            envelopes = [e for e in envelopes if levels[self.graph.edges[e[0]].target] != level]
            for slot in self.slots:
                task = m.OpenTask(self._attempt, self._epoch, level, slot.index, 0)
                frames = iter([(edge, bytearray(payload)) for edge, target, payload in own if target == slot.index])
                slot.run_task(task, frames, envelopes.append)
        assert envelopes == [], "nothing may be left when the last level is done"

    # --- checkpoints ---

    def checkpoint(self, notify: bool = True) -> StoredCheckpoint:
        """Take a checkpoint and wait for it; raise :class:`DeclinedError` if a slot declines.

        Args:
            notify: Whether the slots get to know that it is complete.
        """
        return self.finish_checkpoint(self.begin_checkpoint(), notify)

    def begin_checkpoint(self) -> int:
        """Let all slots do the synchronous part; return the checkpoint's id."""
        self.clock.advance(1_000)
        checkpoint_id = self.coordinator.next_checkpoint_id
        self._executor.run(self.coordinator, self.coordinator.trigger(self.clock.now(), self._epoch))
        return checkpoint_id

    def finish_checkpoint(self, checkpoint_id: int, notify: bool = True) -> StoredCheckpoint:
        """Wait for the slots and write the metadata."""
        self._quiet = not notify
        answers = [self.hear_snapshot() for _ in self.slots]
        self._quiet = False
        reasons = [answer.reason for answer in answers if isinstance(answer, m.SnapshotFailed)]
        if reasons:
            raise DeclinedError("\n".join(reasons))
        latest = self.coordinator.latest_completed()
        assert latest is not None
        assert latest.checkpoint_id == checkpoint_id
        return latest.location

    def hear_snapshot(self) -> m.SnapshotDone | m.SnapshotFailed:
        """Wait for a slot's answer to any checkpoint under way, and let the coordinator have it."""
        index, answer = self._answers.get(timeout=30)
        now = self.clock.now()
        if isinstance(answer, m.SnapshotDone):
            then = self.coordinator.acknowledge(now, answer.attempt, answer.checkpoint_id, index, answer.snapshot())
        else:
            assert isinstance(answer, m.SnapshotFailed)
            then = self.coordinator.decline(
                now, answer.attempt, answer.checkpoint_id, index, CheckpointFailureReason.DECLINED, answer.reason
            )
        self._executor.run(self.coordinator, then)
        return answer

    _quiet = False

    def broadcast(self, order: m.ToSlot) -> None:
        """Give an order to every slot."""
        if self._quiet and isinstance(order, m.NotifyComplete | m.NotifyAborted):
            return
        for slot in self.slots:
            carry_out(slot, order)

    def close(self, job_over: bool = True) -> None:
        """Close all slots."""
        for slot in self.slots:
            slot.close(job_over)

    def __enter__(self) -> InProcessJob:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _hear(self, slot: int, message: m.ToMaster) -> None:
        if isinstance(message, m.EpochReport):
            self._reports[slot] = message
        elif isinstance(message, m.SnapshotDone | m.SnapshotFailed):
            self._answers.put((slot, message))
        elif isinstance(message, m.RequestEpoch):
            self.requests += 1
        elif isinstance(message, m.Output) and message.channel == COLLECTED:
            self.collected += unpickle_collected(message.data)
        elif isinstance(message, m.Output) and message.channel == PRINTED:
            self.printed += message.data.decode().splitlines()


def _with_own_directory(backend: BackendSettings) -> BackendSettings:
    """Keep databases apart from those of another test run: all jobs here have one id, and clear up after it."""
    if backend.local_directories:
        return backend
    if not os.path.exists(_DATABASES):
        os.makedirs(_DATABASES)
        atexit.register(shutil.rmtree, _DATABASES, ignore_errors=True)
    return replace(backend, local_directories=(_DATABASES,))
