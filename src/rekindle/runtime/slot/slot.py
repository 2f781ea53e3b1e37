"""A slot: one long-lived process per subtask index that runs all operators of that index.

Records come from Spark tasks through the data server, orders from the job master through the control connection. One
lock makes each chunk of records, each order and each snapshot atomic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import Condition, RLock
from typing import ClassVar, TypeVar

from rekindle.base.clock import Clock, ClockSteps, SteadyClock, SystemClock
from rekindle.contracts.functions import Function
from rekindle.contracts.key_groups import key_group_range
from rekindle.exceptions import SlotProtocolError
from rekindle.graph.job_graph import JobNode
from rekindle.metrics.slot_metrics import MetricRegistry, MetricValue
from rekindle.runtime.accumulated import SlotAccumulators
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.payload import Item, Passed, Progress, decode_all, is_batch
from rekindle.runtime.exchange.sizes import PAYLOAD_BYTES
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.operator_context import JobInfo, OperatorContext, SlotServices, TaskInfo
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.runtime.operators.roles import CheckpointObserver, OutputCommitter, RecordKeeper, RowStager
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext
from rekindle.runtime.operators.source_operator import SourceOperator
from rekindle.runtime.queries.settings import QuerySettings
from rekindle.runtime.slot.chunk_portions import Portions
from rekindle.runtime.slot.counted_work import CountedWork
from rekindle.runtime.slot.crash_keeper import CrashKeeper
from rekindle.runtime.slot.failure import OperatorError, blaming, describe_failure
from rekindle.runtime.slot.local_copies import LocalCopies
from rekindle.runtime.slot.local_directory import LocalDirectory
from rekindle.runtime.slot.metrics_report import metrics_report
from rekindle.runtime.slot.operator_graph import OperatorGraph, RunningNode, working
from rekindle.runtime.slot.queries.checkpointed_reads import CheckpointedReads
from rekindle.runtime.slot.queries.live_reads import LiveReads
from rekindle.runtime.slot.queries.slot_queries import SlotQueries, refuse_queries
from rekindle.runtime.slot.restore import RestoredKeyedState, StateReader
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, SlotJob
from rekindle.runtime.slot.slot_loops import SlotIterations
from rekindle.runtime.slot.snapshotter import Lists, Snapshotter
from rekindle.runtime.slot.task_output import Exchanges, TaskOutput
from rekindle.runtime.slot.work_times import LevelWaits
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.state_locations import ServerAddress
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.backends import create_backend, restore_backend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.state_owner import StateOwner
from rekindle.state.timer_heap import TimerHeap, heapq_timers

_POLL_RECORDS = 10_000
_TURN_MS = 200  # where no periodic watermarks are wanted
_HANDING_OVER_SECONDS = 0.0001
_EPOCH_WAIT_SECONDS = 60.0
_DONE = object()
_WRITTEN = "wrote a crash record; to call the function with it again: rekindle reproduce {path}"
_Role = TypeVar("_Role")

Frames = Iterator[tuple[int, bytearray]]
"""The frames of a task: edge and payload."""


class Slot:
    """Run the operators of one subtask index.

    Attributes:
        graph_class: How records move through the operators.
    """

    graph_class: ClassVar[type[OperatorGraph]] = OperatorGraph

    def __init__(
        self,
        job: SlotJob,
        slot: int,
        attempt: int,
        clock: Clock,
        send: Callable[[m.ToMaster], None],
        program: Callable[[], SlotJob] | None = None,
    ) -> None:
        """Build the operators.

        Args:
            job: The job.
            slot: The subtask index.
            attempt: The attempt.
            clock: Tells the time.
            send: Sends a message to the job master.
            program: Loads the job anew, with functions as they were deployed; None: no crash records are written.
        """
        self.index = slot
        self.attempt = attempt
        self._job = job
        self._clock = clock
        self._clock_steps = ClockSteps()
        self._clock_set = 0  # by how many milliseconds since the last report
        self._send = send
        self._graph = self.graph_class(job.graph, slot)
        self._iterations = SlotIterations(job.graph, self._graph)
        self._exchanges = Exchanges(job.graph, slot)
        self._turn = (job.watermark_interval_ms or _TURN_MS) / 1000  # how often work other than records has its turn
        self._portions = Portions(self._turn, lambda: self._worked, job.graph)
        self._worked = 0.0  # how long the last portion took
        self._turned = time.monotonic()
        self._order_waits = False
        local_name = job.local_name or job.job_id
        self._local = LocalDirectory(job.backend.local_directories, local_name, slot, attempt)
        self._databases = LocalDirectory(job.backend.database_directories, local_name, slot, attempt)
        self._copies = LocalCopies(self._local.copies) if job.backend.local_recovery else None
        self._snapshotter = Snapshotter(self._graph.checkpointed, job, slot, attempt, self._report, self._copies)
        self._lock = RLock()
        self._reads = LiveReads(self._lock)
        self._epoch_opened = Condition(self._lock)
        self._epoch: m.BeginEpoch | None = None
        self._seen: set[tuple[int, int, int]] = set()
        self._spark_fed_done = True
        self._records_in = 0
        self._records_polled = 0
        self._busy = 0.0
        self._positions: Lists = {}
        self._partition_functions: list[Function] = []
        self._metrics = MetricRegistry(clock)
        self._accumulators = SlotAccumulators()
        self._queries = None if job.queries is None else self._made_queries(job.queries)
        self._waits = LevelWaits()
        self._counted = CountedWork(job.graph, self._graph, self._exchanges, self._waits, clock.now())
        steady = SteadyClock() if isinstance(clock, SystemClock) else clock
        self._services = SlotServices(
            clock, EventLoopThread(), lambda: send(m.RequestEpoch()), self._local.fresh, job.staging, steady
        )
        self._broken = False
        self._crashes: CrashKeeper | None = None
        if job.crash_records is not None and program is not None:
            self._crashes = CrashKeeper(job.crash_records, job, slot, attempt, program, clock.now)
        graph = self._graph
        self._observers = [(n, o) for n in graph.checkpointed if isinstance(o := n.operator, CheckpointObserver)]
        self._committers = [(n, o) for n in graph.checkpointed if isinstance(o := n.operator, OutputCommitter)]

    def open(self) -> None:
        """Restore and open all operators."""
        self._local.clear_earlier()
        self._databases.clear_earlier()
        try:
            self._open_all(self._job.restore)
        except BaseException:
            self._clear_local(job_over=False)
            raise
        if self._crashes is not None:
            watched = self._crashes.watched()
            for running in self._graph:
                self._crashes.watch(running, watched)
        self._graph.open_inputs(self._job.watermark_interval_ms)
        self._positions = self._current_positions()

    def _open_all(self, restore: RestoredCheckpoint | None) -> None:
        if restore is None:
            for running in self._graph:
                self._open(running, None)
            return
        threads = self._job.backend.rocksdb.transfer_threads if self._job.backend.rocksdb is not None else 1
        with StateReader(restore, self.index, self._local, self._copies, threads) as reader:
            for running in self._graph:
                self._open(running, reader if reader.knows(running.node) else None)
            if restore.own:
                self._snapshotter.adopt(restore.metadata, reader.taken_over)

    def _made_queries(self, settings: QuerySettings) -> SlotQueries:
        nodes = [running.node for running in self._graph]
        checkpoints = CheckpointedReads(self._job, self.index, nodes, self._local, self._databases, self._clock)
        metrics = self._metrics.group("", "Queryable state", self.index)
        return SlotQueries(
            self._job.job_id, self._job.graph, self.index, settings, self._reads, checkpoints, metrics, self._send
        )

    def listen_for_queries(self, host: str | None, proxy_ports: Sequence[int]) -> ServerAddress | None:
        """Begin to answer queries of state, and return where; None: queryable state is off.

        Args:
            host: The address by which other slots reach this one; None: all are on this machine.
            proxy_ports: Where the slots of the attempt before did: clients know that port.
        """
        if self._queries is None:
            return None
        return self._queries.listen(host, proxy_ports[self.index] if self.index < len(proxy_ports) else 0)

    def locate(self, order: m.StateLocations) -> None:
        """Learn which slots own which states."""
        if self._queries is not None:
            self._queries.locate(order)

    def stop_queries(self) -> None:
        """Answer no queries any more."""
        if self._queries is not None:
            self._queries.close()

    # --- orders of the job master, in the order in which they were sent ---

    def begin_epoch(self, order: m.BeginEpoch) -> None:
        """Open an epoch: its tasks may run now."""
        with self._lock:
            self._epoch = order
            self._seen.clear()
            self._spark_fed_done = False
            self._records_in = self._records_polled = 0
            self._busy = 0.0
            self._waits.begin_epoch()
            self._graph.begin_epoch(order.spark_tasks)
            self._graph.assign_splits(order.splits)
            self._graph.end_spark_sources(order.ended_sources)
            if order.drain:
                self._graph.drain_sources()
            self._iterations.begin_epoch(order.iterations)
            self._epoch_opened.notify_all()

    def end_epoch(self, order: m.EndEpoch) -> None:
        """Close an epoch and report on it."""
        with self._lock:
            with self._watching():
                self._finish_spark_fed()
            self._positions = self._current_positions()
            self._metrics.note_rates()
            self._waits.end_epoch()
            now = self._clock.now()
            self._counted.note(now)
            clock_set, self._clock_set = self._clock_set, 0
            report = m.EpochReport(
                epoch=order.epoch,
                records_in=self._records_in,
                records_polled=self._records_polled,
                finished=self._graph.finished(),
                more=self._graph.has_more(),
                now=now,
                next_timer=self._graph.next_processing_timer(),
                watermark=self._graph.watermark(),
                busy_ms=int(self._busy * 1000),
                clock_set=clock_set,
                iterations=self._iterations.report(),
            )
        self._send(report)

    def snapshot(self, order: m.TriggerSnapshot) -> None:
        """Take a snapshot between two chunks; none after a failure, of which the job master is about to hear."""
        heard = self._clock.now()
        with self._ordered():
            if self._broken:
                return
            delays = (max(0, heard - order.timestamp), max(0, self._clock.now() - heard))
            if self._queries is not None:
                self._queries.checkpoints.begun(order.checkpoint_id, order.savepoint is not None)
            self._snapshotter.take(order, self._positions, *delays)

    def notify_complete(self, order: m.NotifyComplete) -> None:
        """Commit what was pending up to a checkpoint; keep it safe for a savepoint in passing."""
        with self._ordered():
            if order.restore_point:
                self._snapshotter.completed(order.checkpoint_id)
                if self._crashes is not None:
                    self._crashes.completed(order.checkpoint_id)
                if self._queries is not None:
                    self._queries.checkpoints.completed(order.checkpoint_id)
                self._each(self._observers, lambda operator: operator.notify_complete(order.checkpoint_id))
            else:
                self._each(self._committers, lambda operator: operator.savepoint_completed(order.checkpoint_id))
            accumulators = self._accumulators.encoded()
        self._send(m.CommitDone(order.checkpoint_id, accumulators=accumulators))

    def notify_aborted(self, order: m.NotifyAborted) -> None:
        """Forget a checkpoint."""
        with self._ordered():
            self._snapshotter.aborted(order.checkpoint_id)
            if self._queries is not None:
                self._queries.checkpoints.aborted(order.checkpoint_id)
            self._each(self._observers, lambda operator: operator.notify_aborted(order.checkpoint_id))

    def commit_final(self, order: m.CommitFinal) -> None:
        """Commit all output of a job without checkpoints; name what the driver has to commit."""
        with self._lock:
            self._each(self._committers, lambda operator: operator.commit_final(order.version))
            stagers = [(n, o) for n, o in self._committers if isinstance(o, RowStager)]
            staged = {running.node.uid: operator.staged_rows() for running, operator in stagers}
            accumulators = self._accumulators.encoded()
        self._send(m.CommitDone(0, staged, accumulators))

    def finish_uploads(self) -> None:
        """Wait for the snapshots under way; for a slot that no process ends with, before it is closed."""
        self._snapshotter.finish_uploads()

    def close(self, job_over: bool) -> None:
        """Close all operators, and leave nothing behind but what the next attempt may need."""
        self.stop_queries()
        try:
            with self._lock, ExitStack() as closing:  # one that raises keeps no other from being closed
                for function in reversed(self._partition_functions):
                    closing.callback(function.close)
                for running in reversed(list(self._graph)):
                    closing.callback(self._close_operator, running)
        finally:
            self._snapshotter.close()
            self._clear_local(job_over)

    @staticmethod
    def _close_operator(running: RunningNode) -> None:
        with blaming(running.node):
            running.operator.close()

    def abandon(self) -> None:
        """Remove what is on local disk: the job master is gone."""
        self._clear_local(job_over=True)

    def _clear_local(self, job_over: bool) -> None:
        if self._copies is not None:
            self._copies.close()
        self._local.close(job_over)
        self._databases.close(job_over)

    def metrics(self) -> list[MetricValue]:
        """Read what the functions of this slot count and measure."""
        with self._lock:
            return self._metrics.values()

    def report_metrics(self, order: m.AskMetrics) -> None:
        """Answer what this slot counts and measures."""
        with self._ordered():
            numbers = self._counted.numbers(self.index, self._clock.now())
            report = metrics_report(order.request, numbers, self._metrics.values())
        self._send(report)

    # --- records, from the tasks of Spark ---

    def run_task(self, task: m.OpenTask, frames: Frames, send: Callable[[Envelope], None]) -> None:
        """Process one Spark task's frames and send what leaves over exchanges."""
        self._admit(task)
        output = TaskOutput(self._exchanges)
        send = self._timed(task.level, send)
        waited = 0
        if task.poll or task.level > 0:
            waited = self._emit_waiting(self._graph.keepers(task.level), task, output, send)
        for edge, payload in frames:
            place = edge if task.source < 0 else ~task.source
            started, size = time.monotonic(), len(payload)
            items = decode_all(payload) if task.source >= 0 else self._exchanges.received(edge, payload)
            seconds = time.monotonic() - started
            counts = task.source >= 0 and is_batch(payload)
            del payload  # it may be large
            with self._lock:
                self._graph.arrived(self._graph.target(edge) if task.source < 0 else task.source, size, seconds)
            for item in items:
                portions: Iterable[Item] = (item,)
                if isinstance(item, Chunk) and not self._graph.takes_whole(edge):
                    portions = self._portions.of(place, item, output)
                for portion in portions:
                    with self._at_work(task):
                        self._receive(edge, portion, counts, task, output)
                        turn = self._has_turn(task, output)
                        ready = output.take() if turn or output.unsent >= PAYLOAD_BYTES else ()
                    for envelope in ready:
                        send(envelope)
            for envelope in output.take():
                send(envelope)
        if task.poll:
            self._poll_sources(task, output, send)
        self._go_round(waited, task, output, send)
        advances = task.poll or task.level > 0
        steps = self._graph.finishing_level(task.level, self._now(), output) if advances else iter(())
        more = True
        while more:
            with self._at_work(task):
                more = next(steps, _DONE) is not _DONE
                ready = output.take() if more else output.finish()
            for envelope in ready:
                send(envelope)
        with self._lock:
            self._waits.task_over(task.level, time.monotonic())

    def _timed(self, level: int, send: Callable[[Envelope], None]) -> Callable[[Envelope], None]:
        """Measure how long a level waits until Spark has taken what it sends."""

        def timed_send(envelope: Envelope) -> None:
            started = time.monotonic()
            send(envelope)
            self._waits.sent(level, time.monotonic() - started)

        return timed_send

    def _receive(self, edge: int, item: Item, counts: bool, task: m.OpenTask, output: TaskOutput) -> None:
        if isinstance(item, Progress):
            self._graph.receive_progress(edge, item, output)
            return
        if isinstance(item, Passed):
            self._records_in += self._graph.receive_passed(edge, item)
            return
        if counts:
            self._records_in += item.size()
        if task.source >= 0:
            self._graph.receive_source(task.source, item, output)
        else:
            self._graph.receive(edge, item, output)

    def _go_round(self, emitted: int, task: m.OpenTask, output: TaskOutput, send: Callable[[Envelope], None]) -> None:
        """Let records go round in loops that they need not leave the level for, until the epoch is long enough."""
        until = time.monotonic() + self._job.epoch_max_ms / 1000
        assert self._epoch is not None
        budget = self._epoch.max_records - emitted
        while (heads := self._iterations.going(task.level)) and budget > 0 and time.monotonic() < until:
            budget -= self._emit_waiting(heads, task, output, send)

    def _emit_waiting(
        self,
        keepers: list[tuple[RunningNode, RecordKeeper]],
        task: m.OpenTask,
        output: TaskOutput,
        send: Callable[[Envelope], None],
    ) -> int:
        """Emit what operators kept, such as the feedback of an iteration; return how many records."""
        emitted = 0
        for running, keeper in keepers:
            with self._at_work(task):
                chunks = keeper.waiting()
            for chunk in chunks:
                emitted += chunk.count()
                with self._at_work(task):
                    self._graph.emit(running, chunk, output)
                    ready = output.take()
                for envelope in ready:
                    send(envelope)
        return emitted

    def _admit(self, task: m.OpenTask) -> None:
        """Wait for the epoch of a task, and refuse a task that is of another attempt or was delivered before."""
        if task.attempt != self.attempt:
            raise SlotProtocolError(
                f"slot {self.index} runs attempt {self.attempt} and refused a task of attempt {task.attempt}"
            )
        with self._lock:
            opened = self._epoch_opened.wait_for(
                lambda: self._epoch is not None and self._epoch.epoch >= task.epoch, _EPOCH_WAIT_SECONDS
            )
            if not opened or self._epoch is None or self._epoch.epoch != task.epoch:
                raise SlotProtocolError(f"slot {self.index} does not know epoch {task.epoch}, or it is over")
            delivery = (task.level, task.source, task.partition)
            if delivery in self._seen:
                raise SlotProtocolError(
                    f"epoch {task.epoch}, level {task.level}, partition {task.partition} was delivered to slot "
                    f"{self.index} a second time. Spark must not retry tasks of a Rekindle job: set "
                    "spark.task.maxFailures=1, spark.stage.maxConsecutiveAttempts=1 and spark.speculation=false"
                )
            self._seen.add(delivery)
            if task.level > 0:
                with self._watching():
                    self._finish_spark_fed()

    def _has_turn(self, task: m.OpenTask, output: TaskOutput) -> bool:
        """Fire timers that are due, if it is time to look; return whether it is, and results should go on."""
        now = time.monotonic()
        if now - self._turned < self._turn:
            return False
        self._graph.advance_time(task.level, self._now(), output)
        self._turned = now
        return True

    @contextmanager
    def _ordered(self) -> Iterator[None]:
        """Carry out an order while nothing else runs: next, if a task has more portions to process."""
        self._order_waits = True
        with self._lock:
            self._order_waits = False
            yield

    @contextmanager
    def _at_work(self, task: m.OpenTask) -> Iterator[None]:
        """Do something for a task, and nothing else meanwhile."""
        while self._order_waits:  # to let go of a lock is not enough: who lets go of it mostly has it again first
            time.sleep(_HANDING_OVER_SECONDS)
        with self._lock:
            self._check_current(task)
            started = time.monotonic()
            try:
                with self._watching():
                    yield
            finally:
                worked = self._worked = time.monotonic() - started
                self._busy += worked
            if self._reads.waiting:
                self._reads.after_chunk(worked)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        """Take what an operator leaves behind that fails, while the lock is held."""
        try:
            yield
        except BaseException as error:
            self._broken = True  # a record may be half processed, and nobody is to see or to keep that
            self._reads.end()
            if isinstance(error, OperatorError) and self._crashes is not None:
                running = next((running for running in self._graph if running.node is error.node), None)
                self._crashes.take(error, running)
            raise

    def describe(self, error: BaseException) -> m.SlotFailed:
        """Turn an error into the message for the job master, and write a crash record if it has one."""
        failure = describe_failure(error, self.index, self._job.show_records)
        path = None if self._crashes is None else self._crashes.write(error, failure)
        if path is not None:
            with suppress(OSError):  # the job master has gone
                self._send(m.Output(m.NOTICE, -1, _WRITTEN.format(path=path).encode("utf-8", "surrogateescape")))
        return failure

    def _check_current(self, task: m.OpenTask) -> None:
        if self._epoch is None or self._epoch.epoch != task.epoch:
            raise SlotProtocolError(f"epoch {task.epoch} is over, and a late task of it was refused")

    def _finish_spark_fed(self) -> None:
        """Move ends through the operators that Spark sources feed, once all tasks of those are done."""
        if not self._spark_fed_done:
            self._spark_fed_done = True
            self._graph.finish_level(0, self._now(), TaskOutput(self._exchanges), cluster_fed=True)

    def _now(self) -> int:
        """Return the time, once operators that wait for some of it to pass know that the clock was set."""
        now = self._clock.now()  # first: set in between, it is ahead of what operators know, and they wait longer
        with self._lock:
            step = self._clock_steps.millis()
            if step:
                self._clock_set += step
                self._graph.clock_set(step)
        return now

    def _poll_sources(self, task: m.OpenTask, output: TaskOutput, send: Callable[[Envelope], None]) -> None:
        """Read from the hosted sources until they pause or the epoch is long enough."""
        until = time.monotonic() + self._job.epoch_max_ms / 1000
        assert self._epoch is not None
        budget = self._epoch.max_records
        active = self._graph.sources()
        while active and budget > 0 and time.monotonic() < until:
            share = max(1, min(_POLL_RECORDS, budget // len(active)))  # the first source must not starve the others
            for running, source in list(active)[:budget]:
                with self._at_work(task):
                    chunk = self._poll(running, source, share)
                    if chunk is None:
                        active.remove((running, source))
                        continue
                    budget -= len(chunk.values)
                    self._records_in += len(chunk.values)
                    self._records_polled += len(chunk.values)
                for portion in self._portions.of(~running.node.id, chunk, output):
                    with self._at_work(task):
                        self._graph.receive_polled(running, portion, output)
                        self._has_turn(task, output)
                        ready = output.take()
                    for envelope in ready:
                        send(envelope)

    @staticmethod
    def _poll(running: RunningNode, source: SourceOperator, max_records: int) -> Chunk | None:
        with working(running):
            return source.poll(max_records)

    def _current_positions(self) -> Lists:
        return {
            running.node.uid: running.source.snapshot_lists()
            for running in self._graph
            if running.source is not None and not running.node.transformation.moves_by_itself
        }

    def _open(self, running: RunningNode, reader: StateReader | None) -> None:
        node, source, job = running.node, running.source, self._job
        try:
            state = RestoredKeyedState() if reader is None else reader.keyed(node)
            context = OperatorContext(
                task=TaskInfo(node.uid, node.name, self.index, node.parallelism, node.max_parallelism, self.attempt),
                job_parameters=job.job_parameters,
                metrics=self._metrics.group(node.uid, node.name, self.index),
                superstep=self._iterations.superstep(node.id),
                accumulators=self._accumulators,
                job=JobInfo(
                    job.job_id,
                    job.checkpointing,
                    job.graph.batch,
                    job.watermark_interval_ms,
                    job.show_records,
                    "" if job.restore is None or job.restore.metadata.savepoint else job.restore.metadata.job_id,
                ),
                slot=self._services,
                keyed_backend=partial(self._backend, node, state),
                to_driver=lambda channel, data: self._send(m.Output(channel, node.id, data)),
                restored=RestoredOperatorState(
                    None if job.restore is None else job.restore.metadata.checkpoint_id,
                    reader is not None,
                    state.timers,
                    state.raw,
                    {} if reader is None else reader.lists(node),
                ),
            )
            running.operator.open(context)
            if source is not None and source.event_time is not None:
                source.event_time.open(self._clock.now, job.watermark_interval_ms)
            for function in self._new_partition_functions(running):
                function.open(SlotRuntimeContext(context, None))
        except BaseException as error:
            raise OperatorError(node) from error

    def _new_partition_functions(self, running: RunningNode) -> list[Function]:
        """Return the functions that deal out the records of an operator and are not yet known from another."""
        functions = {id(f): f for edge in running.outputs for f in edge.partitioner.functions}
        new = [f for f in functions.values() if not any(f is known for known in self._partition_functions)]
        self._partition_functions += new
        return new

    def _backend(self, node: JobNode, state: RestoredKeyedState, *, on_heap: bool = False) -> KeyedStateBackend:
        key_groups = key_group_range(self.index, node.parallelism, node.max_parallelism)
        settings = BackendSettings() if on_heap else self._job.backend
        if self._job.snapshots.files is None:
            settings = replace(settings, incremental=False)  # nothing to build on in the job master's memory
        backend = create_backend(
            settings, self._owner(node), key_groups, node.max_parallelism, self._clock.now, self._databases.fresh
        )
        restore_backend(backend, state.native, state.blocks)
        state.forget()
        return backend

    @staticmethod
    def timer_heap() -> TimerHeap:
        """Return what keeps the timers of one queue in order."""
        return heapq_timers()

    def _owner(self, node: JobNode) -> StateOwner:
        key_type = node.transformation.key_type
        return StateOwner(
            node.name,
            node.uid,
            PickleSerializer() if key_type is None else serializer_of(key_type),
            lambda line: self._send(m.Output(m.NOTICE, node.id, line.encode("utf-8", "surrogateescape"))),
            refuse_queries if self._queries is None else self._queries.publish,
            self.timer_heap,
        )

    def _report(self, outcome: m.SnapshotDone | m.SnapshotFailed) -> None:
        """Tell the job master what became of a snapshot."""
        if self._queries is not None and isinstance(outcome, m.SnapshotDone):
            self._queries.checkpoints.taken(outcome)
        self._send(outcome)

    @staticmethod
    def _each(players: list[tuple[RunningNode, _Role]], action: Callable[[_Role], None]) -> None:
        for running, operator in players:
            try:
                action(operator)
            except BaseException as error:
                raise OperatorError(running.node) from error
