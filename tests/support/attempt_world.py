"""A world around the state machine of an attempt, that goes on as a seed says.

There are slots that process records of a bounded input and make output pending, a thread of epochs, one thread of I/O
with a storage and a log, one that commits rows to a table, users who ask for savepoints and for the end of the job, and
failures of all of them. The world keeps the books, and every step is checked against them: above all, which record
became visible how often, in the slots' output and in the table.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import DropCompleted, WriteMetadata
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, StagedRows, StoredFile
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError, CheckpointStorageError, JobFencedError, SlotLostError
from rekindle.runtime.master.attempts import attempt_events as a
from rekindle.runtime.master.attempts.attempt_machine import AttemptMachine, AttemptSettings
from rekindle.runtime.master.checkpoints import storage_orders as s
from rekindle.runtime.master.checkpoints.requested_checkpoints import RequestedCheckpoints
from rekindle.runtime.master.checkpoints.savepoints import Savepoints
from rekindle.runtime.master.checkpoints.stopping import StopMode, Stopping
from rekindle.runtime.master.epochs.epoch_events import EpochEnded, EpochWaits
from rekindle.runtime.wire import messages as m
from support.attempts import JOB
from support.slot_snapshots import snapshot

FILES = LocalCheckpointFiles("/checkpoints")
IDS_AHEAD = 3
FAIR_STEPS = 20_000


@dataclass(slots=True)
class Slot:
    """A slot: obeys its orders in turn. Output is made pending by a snapshot and visible by a commit."""

    index: int
    position: int = 0
    epoch: int = 0
    output: list[int] = field(default_factory=list)
    pending: dict[int, list[int]] = field(default_factory=dict)  # by the checkpoint that has it
    safe: set[int] = field(default_factory=set)  # the checkpoints and savepoints it knows to be complete
    staged: list[StagedRows] = field(default_factory=list)  # one file a version, with the same records as the output
    orders: deque[m.ToSlot] = field(default_factory=deque)
    says: deque[a.Event] = field(default_factory=deque)


@dataclass(slots=True)
class Image:
    """What a slot's snapshot holds."""

    position: int
    pending: dict[int, list[int]]
    staged: list[StagedRows]


class World:
    """One job, over all its attempts."""

    def __init__(self, seed: int, kind: type[AttemptMachine] = AttemptMachine) -> None:
        self.random = chance = random.Random(seed)
        self.kind = kind
        self.now = 0
        self.seen: Counter[str] = Counter()
        self.faults = True
        self.slots_count = chance.randint(1, 3)
        self.records = chance.randint(2, 25)
        self.checkpoints_on = chance.random() < 0.85
        self.has_table = chance.random() < 0.6
        self.logged = chance.random() < 0.5
        self.aligned = chance.random() < 0.7
        self.options = CheckpointOptions(
            interval_ms=chance.choice([5, 20]) if self.checkpoints_on else None,
            timeout_ms=chance.choice([50, 100_000]),
            max_concurrent=chance.choice([1, 1, 2, 3]),
            tolerable_failures=chance.choice([0, 2, 10**6]),
            num_retained=chance.choice([1, 2]),
        )
        self.restarts = chance.randint(0, 4) if self.checkpoints_on else 0
        self.savepoints = Savepoints(JOB, iter(f"{number:012x}" for number in range(10**6)).__next__)
        self.stopping = Stopping()
        self.requested = RequestedCheckpoints()
        self.checkpoints: list[Future[int]] = []
        self.futures: list[Future[str]] = []
        self.stops: list[Future[str]] = []
        # What outlives the process.
        self.metadata: dict[int, StoredCheckpoint] = {}
        self.log: list[tuple[int, ...]] = []
        self.ids_to = IDS_AHEAD
        self.fenced = False
        self.visible: dict[tuple[int, int], int] = {}  # by slot and record: in which checkpoint's output it was
        self.files: dict[str, list[int]] = {}  # of rows
        self.table: dict[int, set[tuple[int, int]]] = {}  # by version: the slots and records that were written
        self.marker = 0
        # What is known of checkpoints.
        self.images: dict[int, dict[int, Image]] = {}
        self.triggered: list[int] = []
        self.ended: dict[int, str] = {}
        self.resolved: Counter[int] = Counter()
        self.status: str | None = None
        slots = frozenset(range(self.slots_count))
        self.coordinator = CheckpointCoordinator(self.options, slots, 0, 1, self.now)
        self.begin_attempt()

    # ------------------------------------------------------------------------------------ attempts

    def begin_attempt(self) -> None:
        settings = AttemptSettings(
            number=self.coordinator.attempt,
            slots=self.slots_count,
            aligned=self.aligned,
            ends_with_checkpoint=self.checkpoints_on,
            num_retained=self.options.num_retained,
            logged=self.logged,
            ids_to=self.ids_to if self.logged else None,
        )
        self.machine = self.kind(settings, self.coordinator, self.savepoints, self.stopping, self.requested)
        self.slots = [Slot(index) for index in range(self.slots_count)]
        self.io: deque[s.StorageInstruction] = deque()
        self.outcomes: deque[s.StorageOutcome | a.Failed] = deque()
        self.commits: deque[a.CommitRows | a.CommitLastRows] = deque()
        self.committed: deque[a.RowsCommitted | a.Failed] = deque()
        self.ticked, self.waiting, self.running, self.epoch = True, 0, 0, 0
        self.draining = self.closed = False
        self.suspected = False
        self.last_barrier: int | None = None
        latest = self.coordinator.latest_completed()
        if latest is not None:
            assert latest.checkpoint_id in self.metadata, "what is restored must be there"
            for slot in self.slots:
                image = self.images[latest.checkpoint_id][slot.index]
                slot.position = image.position
                for checkpoint_id, output in image.pending.items():
                    self.make_visible(slot, checkpoint_id, output)
            for staged in latest.location.metadata.operators:
                self.write_table(staged.staged)
        needed = {file for stored in self.metadata.values() for file in rows_files(stored)}
        self.files = {path: rows for path, rows in self.files.items() if path in needed}
        if self.stopping.ends_with(None if latest is None else latest.checkpoint_id):
            self.seen["finished by a restore"] += 1
            self.end_attempt(self.machine.end_restored())

    def end_attempt(self, outcome: a.Outcome | BaseException) -> None:
        """Stop, as the attempt's thread does: the slots are gone, I/O is done or given up, all is settled."""
        self.machine.stop()
        for slot in self.slots:
            slot.orders.clear()
        kept = [order for order in self.io if not isinstance(order, WriteMetadata | s.NoteCheckpoint)]
        for order in self.io:
            if isinstance(order, WriteMetadata | s.NoteCheckpoint):
                self.seen["given up"] += 1
                self.outcomes.append(s.CheckpointNotStored(order.checkpoint_id, CheckpointError("given up")))
        self.io = deque(kept)
        while self.io:
            self.do_io()
        if self.commits and self.random.random() < 0.5:  # it had begun, and is waited for
            self.commit_rows()
        self.commits.clear()
        self.committed.clear()
        while self.outcomes:
            assert self.machine.handle(self.now, self.outcomes.popleft()) == [], "after the end nothing is ordered"
        self.closed = True
        failure = None if isinstance(outcome, a.Outcome) else outcome
        self.carry_out(self.machine.close(self.now, failure))
        while self.io:
            self.do_io()
        if self.log:
            latest = self.coordinator.latest_completed()
            assert latest is not None, "what the log names is restored next"
            assert latest.checkpoint_id >= max(self.log[-1]), "what the log names is restored next"
        assert self.coordinator.pending_ids() == ()
        assert self.coordinator.outstanding_write_ids() == ()
        assert sorted(self.ended) == self.triggered, "every checkpoint has ended"
        asked = [number for number in self.triggered if self.location(number) is not None]
        assert sorted(self.resolved) == asked, "every savepoint that has begun was settled"
        self.check()
        self.follow(outcome)

    def follow(self, outcome: a.Outcome | BaseException) -> None:
        self.seen[outcome.name if isinstance(outcome, a.Outcome) else type(outcome).__name__] += 1
        if outcome is a.Outcome.FINISHED:
            self.end_job("FINISHED")
        elif outcome is a.Outcome.CANCELLED or self.stopping.cancels:
            self.end_job("CANCELED")
        elif isinstance(outcome, JobFencedError) or self.fenced:
            self.end_job("SUSPENDED")
        elif self.restarts == 0 and self.faults:
            self.end_job("FAILED")
        else:
            self.restarts -= 1
            attempt = self.coordinator.attempt + 1
            self.coordinator = self.coordinator.successor(attempt, frozenset(range(self.slots_count)), self.now)
            self.begin_attempt()

    def end_job(self, status: str) -> None:
        self.status = status
        self.savepoints.job_ended(status)
        self.stopping.job_ended(status)
        self.requested.job_ended(status)
        waiting = (*self.futures, *self.stops, *self.checkpoints)
        assert all(future.done() for future in waiting), "whoever waits is told"
        for future in self.futures:
            if future.exception() is None:
                assert any(self.location(number) == future.result() for number in self.metadata)
        if status == "FINISHED" and self.has_table:
            assert set().union(*self.table.values()) == set(self.visible), "the table has what was output"
        if status == "FINISHED":
            for slot in range(self.slots_count):
                mine = sorted(record for index, record in self.visible if index == slot)
                assert mine == list(range(1, len(mine) + 1)), "no record is missing"
                if not any(future.exception() is None for future in self.stops):
                    assert len(mine) == self.records, "all output is visible"

    def location(self, checkpoint_id: int) -> str | None:
        request = self.savepoints.find(checkpoint_id)
        return None if request is None else request.location

    # -------------------------------------------------------------------------------- carrying out

    def hear(self, event: a.Event) -> None:
        machine = self.machine
        before = machine.outcome is not None or self.suspected
        instructions = machine.handle(self.now, event)
        if before:
            assert [each for each in instructions if not isinstance(each, a.End)] == [], "a failure ends all"
        self.suspected |= any(isinstance(each, a.AwaitCause) for each in instructions)
        self.carry_out(instructions)
        if machine.outcome is not None and machine is self.machine and not self.closed:
            ends = [each for each in instructions if isinstance(each, a.End)]
            assert len(ends) == 1, "an attempt has one outcome"
            self.end_attempt(machine.outcome)

    def carry_out(self, instructions: list[a.Instruction]) -> None:
        failures: list[a.Event] = []
        for order in instructions:
            self.seen[type(order).__name__] += 1
            match order:
                case a.BeginEpoch(epoch):
                    assert (epoch, self.running) == (self.waiting, 0)
                    assert self.last_barrier is None, "no epoch begins after the barrier that the job ends with"
                    self.waiting, self.running = 0, epoch
                    self.tell(m.BeginEpoch(epoch, self.now, [], 1))
                case a.SkipEpoch(epoch):
                    assert epoch == self.waiting
                    self.waiting = 0
                case a.Tick():
                    self.ticked = True
                case a.DrainSources():
                    assert self.running == 0
                    self.draining = True
                case a.PlaceBarrier(barrier):
                    failures += self.place(barrier)
                case a.CommitRows() | a.CommitLastRows():
                    assert not self.commits, "one commit follows the other"
                    self.commits.append(order)
                case a.TellSlots(message):
                    self.check_told(message)
                    self.tell(message)
                case a.CompleteSavepoint(checkpoint_id):
                    self.resolved[checkpoint_id] += 1
                    assert checkpoint_id in self.metadata, "a savepoint is handed over when it is there"
                    self.check_safe(checkpoint_id)
                    self.savepoints.completed(checkpoint_id)
                case a.FailSavepoint(checkpoint_id, message):
                    self.resolved[checkpoint_id] += 1
                    self.savepoints.failed(checkpoint_id, message)
                case a.CompleteRequested(checkpoint_id):
                    assert checkpoint_id in self.metadata, "a checkpoint that was asked for is there"
                    self.requested.completed(checkpoint_id)
                case a.FailRequested(checkpoint_id, message):
                    self.requested.failed(checkpoint_id, message)
                case a.GiveUpStop(request, message, then):
                    request.give_up(message, then)
                case a.InterruptStop(message):
                    self.stopping.interrupted(message)
                case (
                    WriteMetadata()
                    | s.NoteCheckpoint()
                    | s.ReserveIds()
                    | s.NoteOutput()
                    | s.DiscardFiles()
                    | DropCompleted()
                ):
                    self.io.append(order)
        assert max(self.resolved.values(), default=0) <= 1, "a savepoint ends once"
        for failure in failures:
            if self.machine.outcome is None:
                self.hear(failure)

    def tell(self, message: m.ToSlot) -> None:
        if not self.closed:
            for slot in self.slots:
                slot.orders.append(message)

    def place(self, barrier: m.TriggerSnapshot) -> list[a.Event]:
        checkpoint_id = barrier.checkpoint_id
        assert not self.triggered or checkpoint_id == self.triggered[-1] + 1
        assert not (self.aligned and self.running), "a barrier stands between two epochs"
        assert not self.logged or checkpoint_id <= self.ids_to, "ids are reserved before they are used"
        assert not self.commits, "no barrier while rows are being committed"
        self.triggered.append(checkpoint_id)
        if barrier.savepoint is not None and barrier.savepoint.startswith("/stops"):
            self.last_barrier = checkpoint_id
        self.images[checkpoint_id] = {}
        if self.faults and self.random.random() < 0.01:
            return [a.BarrierFailed(checkpoint_id, OSError("offsets cannot be read"))]
        self.tell(barrier)
        return []

    def check_told(self, message: m.ToSlot) -> None:
        match message:
            case m.NotifyComplete(checkpoint_id, restore_point):
                assert checkpoint_id not in self.ended, "a checkpoint ends once"
                self.ended[checkpoint_id] = "complete"
                assert checkpoint_id in self.metadata, "what is not durable is not complete"
                if self.logged and restore_point:
                    assert checkpoint_id in self.log[-1], "what is not in the log is not complete"
            case m.NotifyAborted(checkpoint_id):
                assert checkpoint_id not in self.ended, "a checkpoint ends once"
                self.ended[checkpoint_id] = "aborted"
                if checkpoint_id == self.last_barrier:
                    self.last_barrier = None

    def check_safe(self, checkpoint_id: int) -> None:
        committed = self.machine.outcome is a.Outcome.FINISHED
        restorable = checkpoint_id in [each.checkpoint_id for each in self.coordinator.completed()]
        safe = all(checkpoint_id in slot.safe for slot in self.slots)
        assert safe or restorable or committed, "what a savepoint refers to is safe before it is handed over"

    # ------------------------------------------------------------------------------------ the table

    def commit_rows(self) -> None:
        """Do what the thread of commits does, up to a fault."""
        if not self.commits:
            return
        fault = self.random.random() if self.faults else 1.0
        order = self.commits.popleft()
        if fault < 0.03:
            self.committed.append(a.Failed(RuntimeError("the table is locked")))
            return
        if isinstance(order, a.CommitLastRows):
            number, staged = 0, [rows for own in order.staged.values() for rows in own]
        else:
            number = order.checkpoint.checkpoint_id
            staged = [rows for own in order.checkpoint.location.metadata.operators for rows in own.staged]
        self.write_table(staged, marked=fault >= 0.06)
        self.committed.append(a.RowsCommitted(number) if fault >= 0.06 else a.Failed(RuntimeError("no marker")))

    def write_table(self, staged: list[StagedRows], marked: bool = True) -> None:
        for version in sorted({rows.version for rows in staged if rows.version > self.marker}):
            files = [rows.file.path or "" for rows in staged if rows.version == version]
            assert set(files) <= set(self.files), f"rows of version {version} are there as long as they are needed"
            rows = {(int(path.partition("-")[0]), record) for path in files for record in self.files[path]}
            assert self.table.setdefault(version, rows) == rows, f"version {version} stands for the same rows for ever"
            if not marked:
                return
            self.marker = version
            self.seen["table written"] += 1
        written = [row for rows in self.table.values() for row in rows]
        assert len(written) == len(set(written)), "a row is in one version"

    def tell_committed(self) -> None:
        if self.committed:
            self.hear(self.committed.popleft())

    def stage(self, slot: Slot, version: int, output: list[int]) -> None:
        if self.has_table and output:
            path = f"{slot.index}-{self.coordinator.attempt}-{version}"
            self.files[path] = output
            slot.staged.append(StagedRows(version, len(output), StoredFile(1, 0, path, shared=True)))

    # ------------------------------------------------------------------------------------------ I/O

    def do_io(self) -> None:
        if not self.io:
            return
        fault = self.faults and self.random.random() < 0.06
        if self.logged and self.faults and self.random.random() < 0.003:
            self.fenced = True
        outcome = self.perform(self.io.popleft(), fault)
        if outcome is not None:
            self.outcomes.append(outcome)

    def perform(self, order: s.StorageInstruction, fault: bool) -> s.StorageOutcome | a.Failed | None:
        error = JobFencedError("taken over") if self.fenced else CheckpointStorageError("disk full")
        fault |= self.fenced
        match order:
            case WriteMetadata(checkpoint_id):
                name = self.location(checkpoint_id) or f"chk-{checkpoint_id}"
                staged = [rows for own in order.snapshots for sink in own.operators for rows in sink.staged]
                sink = OperatorMetadata("sink", "sink", self.slots_count, 128, [], {}, staged)
                metadata = CheckpointMetadata(checkpoint_id, JOB, "", 0, 0, [sink], [], [], savepoint=order.savepoint)
                location = StoredCheckpoint(metadata, FILES, name)
                if not fault or self.random.random() < 0.5:
                    assert len(self.images[checkpoint_id]) == self.slots_count
                    self.metadata[checkpoint_id] = location
                if fault and (not self.fenced or (order.savepoint and not order.final)):
                    return s.CheckpointNotStored(checkpoint_id, error)
                self.metadata[checkpoint_id] = location
                return s.MetadataStored(checkpoint_id, location)
            case s.NoteCheckpoint(checkpoint_id, location, retained):
                if fault:
                    return s.CheckpointNotStored(checkpoint_id, error)
                ids = tuple(reference.checkpoint_id for reference in retained)
                assert set(ids) <= set(self.metadata), "the log names what is there"
                assert not self.log or max(ids) >= max(self.log[-1]), "the log does not go back"
                assert not self.visible or max(ids) >= max(self.visible.values()), "nor behind what is visible"
                self.log.append(ids)
                self.ids_to = max(self.ids_to, checkpoint_id + IDS_AHEAD)
                return s.CheckpointNoted(checkpoint_id, location, self.ids_to)
            case s.ReserveIds(checkpoint_id):
                if fault:
                    return a.Failed(error)
                self.ids_to = max(self.ids_to, checkpoint_id + IDS_AHEAD)
                return s.IdsReserved(self.ids_to)
            case s.NoteOutput():
                return a.Failed(error) if fault else s.OutputNoted()
            case s.DiscardFiles(checkpoint_id):
                self.delete(checkpoint_id)
            case DropCompleted(checkpoint):
                self.delete(checkpoint.checkpoint_id)
                needed = {file for other in self.metadata.values() for file in rows_files(other)}
                if not self.fenced and not checkpoint.location.metadata.savepoint:
                    for file in rows_files(checkpoint.location) - needed:
                        del self.files[file]
        return None

    def delete(self, checkpoint_id: int) -> None:
        if self.fenced:
            return
        assert checkpoint_id not in [each.checkpoint_id for each in self.coordinator.completed()]
        assert not self.log or checkpoint_id not in self.log[-1], "what the log names is not deleted"
        self.metadata.pop(checkpoint_id, None)

    # ---------------------------------------------------------------------------------------- steps

    def pass_time(self) -> None:
        self.now += self.random.choice([1, 3, 20])
        self.hear(a.Woken())

    def tell_outcome(self) -> None:
        if self.outcomes:
            self.hear(self.outcomes.popleft())

    def start_epoch(self) -> None:
        if self.ticked and not self.waiting and not self.running:
            self.ticked = False
            self.epoch += 1
            self.waiting = self.epoch
            self.hear(EpochWaits(self.epoch))

    def run_epoch(self) -> None:
        if not self.running or any(slot.epoch != self.running for slot in self.slots):
            return
        for slot in self.slots:
            if slot.position < self.records and not self.draining:
                slot.position += 1
                slot.output.append(slot.position)
        epoch, self.running = self.running, 0
        finished = self.draining or all(slot.position == self.records for slot in self.slots)
        timer = self.now + 5 if self.random.random() < 0.2 else None
        more = not finished and (timer is None or not self.faults)
        self.ticked |= not more and not finished and timer is None
        self.hear(EpochEnded(epoch, finished, more, timer))

    def obey(self) -> None:
        slot = self.random.choice(self.slots)
        if not slot.orders:
            return
        match slot.orders.popleft():
            case m.BeginEpoch(epoch):
                slot.epoch = epoch
            case m.TriggerSnapshot(checkpoint_id):
                if self.faults and self.random.random() < 0.03:
                    slot.says.append(a.SnapshotDeclined(self.coordinator.attempt, checkpoint_id, slot.index, "no"))
                    return
                self.stage(slot, checkpoint_id, slot.output)
                slot.pending[checkpoint_id], slot.output = slot.output, []
                staged = list(slot.staged)
                self.images[checkpoint_id][slot.index] = Image(slot.position, dict(slot.pending), staged)
                taken = snapshot(slot.index, f"{checkpoint_id}", OperatorSnapshot("sink", [], {}, staged=staged))
                slot.says.append(a.SnapshotTaken(self.coordinator.attempt, checkpoint_id, slot.index, taken))
            case m.NotifyComplete(checkpoint_id, restore_point):
                if restore_point:
                    for number in [number for number in slot.pending if number <= checkpoint_id]:
                        self.make_visible(slot, number, slot.pending.pop(number))
                    slot.staged = [rows for rows in slot.staged if rows.version > checkpoint_id]
                slot.safe.add(checkpoint_id)
                slot.says.append(a.OutputCommitted(slot.index, checkpoint_id))
            case m.CommitFinal(version):
                for number in list(slot.pending):
                    self.make_visible(slot, number, slot.pending.pop(number))
                self.make_visible(slot, 0, slot.output)
                self.stage(slot, version, slot.output)
                slot.says.append(a.OutputCommitted(slot.index, 0, {"sink": slot.staged}))

    def make_visible(self, slot: Slot, checkpoint_id: int, output: list[int]) -> None:
        for record in output:
            before = self.visible.setdefault((slot.index, record), checkpoint_id)
            assert before == checkpoint_id, f"record {record} became visible twice"

    def deliver(self) -> None:
        slot = self.random.choice(self.slots)
        if slot.says:
            self.hear(slot.says.popleft())

    def fail(self) -> None:
        kind = self.random.randrange(12)
        if kind == 0:
            self.seen["slot died"] += 1
            self.hear(a.Failed(SlotLostError("slot 0 was lost", 0)))
        elif kind == 1:
            self.seen["Spark failed"] += 1
            self.hear(a.Failed(RuntimeError("Spark"), primary=False))
        elif kind == 2:
            self.hear(a.EpochRequested())

    def name_cause(self) -> None:
        if self.suspected:
            lost = self.random.random() < 0.5
            self.hear(a.Failed(SlotLostError("slot 1 was lost", 1)) if lost else a.CauseOverdue())

    def ask(self) -> None:
        kind = self.random.randrange(30)
        if kind < 8:
            self.futures.append(self.savepoints.request("/savepoints"))
            if kind == 0:
                self.futures[-1].cancel()
                del self.futures[-1]
        elif kind < 10:
            stop = self.stopping.request(self.random.choice(list(StopMode)), "/stops")
            self.stops.append(stop)
        elif kind in (11, 12) and self.checkpoints_on:
            self.checkpoints.append(self.requested.request(full=kind == 12))
        elif kind == 10 and self.random.random() < 0.2:
            self.hear(a.CancelRequested())

    # ---------------------------------------------------------------------------------------- checks

    def check(self) -> None:
        for checkpoint in self.coordinator.completed():
            assert checkpoint.checkpoint_id in self.metadata, "a completed checkpoint is there"
        if self.log and not self.fenced:
            assert set(self.log[-1]) <= set(self.metadata), "what the log names is there"
        assert set(self.ended) <= set(self.triggered)

    def run(self) -> None:
        steps = [self.pass_time, self.tell_outcome, self.start_epoch, self.run_epoch, self.obey, self.deliver]
        steps += [self.do_io, self.name_cause, self.commit_rows, self.tell_committed, self.fail, self.ask]
        weights = [3, 5, 4, 5, 12, 10, 4, 1, 2, 3, 0.3, 0.6]
        for _ in range(self.random.choice([60, 200, 500])):
            if self.status is not None:
                return
            self.random.choices(steps, weights)[0]()
            self.check()
        self.faults = False
        for _ in range(FAIR_STEPS):
            if self.status is not None:
                return
            self.random.choices(steps[:10], weights[:10])[0]()
            self.check()
        raise AssertionError("the job does not end")


def rows_files(stored: StoredCheckpoint) -> set[str]:
    """Name the files of rows that a checkpoint refers to."""
    return {file.path or "" for file in stored.metadata.files()}


def run_schedule(seed: int, kind: type[AttemptMachine] = AttemptMachine) -> Counter[str]:
    """Run the schedule of a seed; a failure names it."""
    world = World(seed, kind)
    try:
        world.run()
    except Exception as error:
        raise AssertionError(f"schedule with seed {seed} failed at time {world.now}: {error!r}") from error
    world.seen[str(world.status)] += 1
    return world.seen
