"""The checkpoint coordinator against an unreliable world, in thousands of seeded random schedules.

The world has slots that answer when they like, a network that delays, reorders, doubles and loses their
answers, a storage that may fail to write metadata, jobs that fail and start again, and slots of earlier
attempts that still answer. Snapshots are incremental: they share files with the checkpoint they build on.
After every step the invariants are checked against the files that exist: those of a model, and those that the
directory of the job's checkpoints has left in a storage.

That the checks notice anything is checked, too: with coordinators and a clean-up of which a rule has been taken out.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from checkpoint.test_job_directory import JOB, MemoryFiles, missing, put, shared
from rekindle.checkpoint import job_directory, paths
from rekindle.checkpoint.cleanup import CleanupPlan, FoundFiles, classify
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import (
    CheckpointFailureReason,
    DiscardCheckpoint,
    DiscardState,
    DropCompleted,
    FailJob,
    Instruction,
    NotifyAborted,
    NotifyComplete,
    ReportSavepointFailure,
    TriggerCheckpoint,
    WriteMetadata,
)
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.slot_snapshot import OperatorSnapshot, SlotSnapshot
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from support.seeds import seeds
from support.slot_snapshots import snapshot, stored

DECLINES = [CheckpointFailureReason.DECLINED, CheckpointFailureReason.STORAGE, CheckpointFailureReason.UNWRITABLE]
SCHEDULES = seeds(500, named=2_000)
BATCHES = 5
STEPS = 150


@dataclass(frozen=True, slots=True)
class Ack:
    """What a slot's snapshot wrote, and the files of earlier checkpoints it refers to."""

    attempt: int
    checkpoint_id: int
    slot: int
    written: str
    shared: frozenset[str]
    copy: int = 0

    def files(self) -> frozenset[str]:
        return self.shared | {self.written}

    def snapshot(self) -> SlotSnapshot:
        return snapshot(self.slot, f"{self.written}#{self.copy}", OperatorSnapshot("operator", [], {}, self.slot))


@dataclass(frozen=True, slots=True)
class Decline:
    """A slot's refusal."""

    attempt: int
    checkpoint_id: int
    slot: int


@dataclass(slots=True)
class Slot:
    """A slot process: reads its orders in turn, and builds on the last complete checkpoint it heard of."""

    attempt: int
    index: int
    base: frozenset[str]
    orders: list[Instruction] = field(default_factory=list)


class Storage:
    """The directory of the job's checkpoints, beside the model and told the same; savepoints are elsewhere."""

    def __init__(self) -> None:
        self.files = MemoryFiles()
        self.directory = JobCheckpointDirectory(self.files, JOB)
        self.stored: dict[int, StoredCheckpoint] = {}
        self.own: set[str] = set()

    def write(self, ack: Ack) -> None:
        self.own.add(ack.written)
        put(self.files, f"shared/{self.name(ack.written)}")

    def commit(self, checkpoint_id: int, acks: list[Ack]) -> None:
        handles = []
        for ack in acks:
            before = [shared(self.name(written)) for written in sorted(ack.shared & self.own)]
            handles.append(StateHandle(ack.slot, shared(self.name(ack.written)), before=before))
        metadata = CheckpointMetadata(checkpoint_id, JOB, "name", 0, 0, [], handles, [])
        self.stored[checkpoint_id] = self.directory.commit(metadata)

    def drop(self, checkpoint_id: int) -> None:
        self.directory.drop(self.stored.pop(checkpoint_id))

    def discard(self, checkpoint_id: int) -> None:
        self.directory.discard(checkpoint_id)

    def has(self, ack: Ack) -> bool:
        names = {f"{JOB}/shared/{self.name(written)}" for written in ack.files() & self.own}
        return names <= self.files.content.keys()

    def completed(self) -> set[int]:
        found = (path.split("/")[1] for path in self.files.content if path.endswith(paths.METADATA))
        return {int(name.removeprefix("chk-")) for name in found}

    @staticmethod
    def name(written: str) -> str:
        attempt, checkpoint_id, slot = map(int, written.split("/"))
        return paths.shared_file(checkpoint_id, slot, attempt, "x")


class World:
    """Drives one coordinator through a random schedule and keeps the books."""

    def __init__(self, seed: int, kind: type[CheckpointCoordinator] = CheckpointCoordinator) -> None:
        self.random = random.Random(seed)
        self.now = self.random.randrange(1_000)
        self.epoch = 0
        self.seen: Counter[str] = Counter()
        self.options = CheckpointOptions(
            interval_ms=self.random.choice([10, 50]),
            mode_exactly_once=self.random.random() < 0.5,
            timeout_ms=self.random.choice([60, 400, 100_000]),
            min_pause_ms=self.random.choice([0, 0, 0, 30]),
            max_concurrent=self.random.choice([1, 2, 3, 4]),
            tolerable_failures=self.random.choice([0, 1, 3, 10**6]),
            num_retained=self.random.choice([1, 1, 2, 3]),
        )
        self.files: set[str] = set()
        self.metadata: set[int] = set()
        self.manifests: dict[int, frozenset[str]] = {}  # by id, of every completed checkpoint not dropped
        self.all_manifests: dict[int, frozenset[str]] = {}  # also of those dropped
        self.network: list[Ack | Decline] = []
        self.acks: dict[str, Ack] = {}  # by the name of its file
        self.writes: dict[int, WriteMetadata] = {}
        self.committing: set[int] = set()
        self.snapshots: dict[int, list[Ack]] = {}  # by id, also those whose answer was lost
        self.delivered: set[str] = set()
        self.first_arrived: dict[tuple[int, int], Ack] = {}
        self.triggered: list[int] = []
        self.kinds: dict[int, TriggerCheckpoint] = {}
        self.finals: set[int] = set()
        self.bases: dict[int, int] = {}  # by id, the checkpoint an incremental one may build on
        self.ended: dict[int, str] = {}
        self.completed_checkpoints: list[int] = []
        self.damaged: set[int] = set()
        self.failures_in_a_row = 0
        self.failing = False
        self.ending = False
        self.last_end: int | None = None  # of a periodic checkpoint of this attempt
        self.storage = Storage()
        participants = frozenset(range(self.random.randint(1, 4)))
        operators = {"operator": len(participants)}
        self.coordinator = kind(self.options, participants, 1, 1, self.now, operators=operators)
        self.slots: list[Slot] = []
        self.participants: frozenset[int] = participants
        self.deploy()

    # ------------------------------------------------------------------------------- carrying out

    def deploy(self) -> None:
        """Start fresh slots, restored from the latest checkpoint; old ones linger on."""
        latest = self.coordinator.latest_completed()
        restored = self.manifests[latest.checkpoint_id] if latest else frozenset()
        lingering = [slot for slot in self.slots if slot.orders][-8:]
        fresh = [Slot(self.coordinator.attempt, index, restored) for index in sorted(self.participants)]
        self.slots = lingering + fresh

    def send(self, order: Instruction) -> None:
        for slot in self.slots:
            if slot.attempt == self.coordinator.attempt:
                slot.orders.append(order)

    def end(self, checkpoint_id: int, how: str) -> None:
        assert checkpoint_id in self.triggered
        assert checkpoint_id not in self.ended, f"checkpoint {checkpoint_id} ended twice"
        self.ended[checkpoint_id] = how
        self.seen[how] += 1

    def carry_out(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            self.seen[type(instruction).__name__] += 1
            match instruction:
                case TriggerCheckpoint():
                    assert not self.triggered or instruction.checkpoint_id > self.triggered[-1]
                    self.triggered.append(instruction.checkpoint_id)
                    final = instruction.checkpoint_id in self.finals
                    if not instruction.savepoint and not final and self.last_end is not None:
                        assert instruction.timestamp >= self.last_end + self.options.min_pause_ms, "no pause"
                    self.kinds[instruction.checkpoint_id] = instruction
                    usable = [each for each in self.completed_checkpoints if each not in self.damaged]
                    if instruction.base_id is not None:
                        assert instruction.base_id == usable[-1]
                        self.bases[instruction.checkpoint_id] = instruction.base_id
                    elif not instruction.savepoint:
                        assert not any(not each.savepoint for each in self.coordinator.completed())
                    self.snapshots[instruction.checkpoint_id] = []
                    self.send(instruction)
                case WriteMetadata():
                    self.check_acks(instruction)
                    self.writes[instruction.checkpoint_id] = instruction
                case NotifyComplete():
                    self.end(instruction.checkpoint_id, "complete")
                    if not instruction.savepoint:
                        earlier = self.completed_checkpoints
                        assert not earlier or instruction.checkpoint_id > earlier[-1]
                        self.completed_checkpoints.append(instruction.checkpoint_id)
                        self.failures_in_a_row = 0
                        self.last_end = self.now
                    self.send(instruction)
                case NotifyAborted():
                    self.end(instruction.checkpoint_id, instruction.reason.name)
                    self.count_failure(instruction)
                    self.send(instruction)
                case DiscardState(checkpoint_id, None):
                    assert checkpoint_id not in [each.checkpoint_id for each in self.coordinator.completed()]
                case DiscardState(checkpoint_id, late):
                    assert late is not None
                    ack = self.acks[str(late.handle.file.path)]
                    assert ack.checkpoint_id == checkpoint_id
                    self.files.discard(ack.written)
                    self.storage.discard(checkpoint_id)
                case DiscardCheckpoint(checkpoint_id):
                    self.files -= {ack.written for ack in self.snapshots[checkpoint_id]}
                    if checkpoint_id in self.metadata:
                        self.seen["discarded with metadata"] += 1
                        self.metadata.remove(checkpoint_id)
                    self.storage.discard(checkpoint_id)
                case DropCompleted(checkpoint):
                    self.drop(checkpoint)
                case FailJob():
                    assert not self.failing
                    assert self.failures_in_a_row > self.options.tolerable_failures
                    self.failing = True
                case ReportSavepointFailure():
                    pass
                case _:
                    raise AssertionError(instruction)

        assert self.failing or self.failures_in_a_row <= self.options.tolerable_failures

    def count_failure(self, aborted: NotifyAborted) -> None:
        savepoint = self.kinds[aborted.checkpoint_id].savepoint
        if aborted.reason is CheckpointFailureReason.SUBSUMED:
            assert not savepoint
        elif not savepoint and not self.ending:
            self.failures_in_a_row += 1
            self.last_end = self.now

    def check_acks(self, order: WriteMetadata) -> None:
        assert [slot.handle.slot for slot in order.snapshots] == sorted(self.participants)
        for slot, ack in zip(sorted(self.participants), self.acks_of(order), strict=True):
            assert (ack.attempt, ack.checkpoint_id) == (self.coordinator.attempt, order.checkpoint_id)
            assert ack == self.first_arrived[order.checkpoint_id, slot]

    def acks_of(self, order: WriteMetadata) -> list[Ack]:
        return [self.acks[str(each.handle.file.path)] for each in order.snapshots]

    def drop(self, checkpoint: CompletedCheckpoint) -> None:
        assert not checkpoint.savepoint
        assert checkpoint not in self.coordinator.completed()
        dropped = self.manifests.pop(checkpoint.checkpoint_id)
        self.files -= dropped.difference(*self.manifests.values())
        self.metadata.remove(checkpoint.checkpoint_id)
        self.storage.drop(checkpoint.checkpoint_id)

    # ------------------------------------------------------------------------------------- steps

    def pass_time(self) -> None:
        self.now += self.random.choice([1, 5, 20, 100])
        self.carry_out(self.coordinator.expire(self.now))

    def sleep_until_next_event(self) -> None:
        """Sleep as long as told: nothing may become due before, and something must be due then."""
        until = self.coordinator.next_event_at(self.now)
        if until is None:
            return
        due = self.coordinator.trigger_due(self.now)
        assert self.coordinator.trigger_due(until - 1) == due
        pending = self.coordinator.pending_ids()
        self.carry_out(self.coordinator.expire(until - 1) if until - 1 > self.now else [])
        overdue_already = pending != self.coordinator.pending_ids()
        self.now = until
        instructions = self.coordinator.expire(until)
        self.carry_out(instructions)
        assert overdue_already or instructions or self.coordinator.trigger_due(until) != due

    def end_epoch(self) -> None:
        self.epoch += 1
        if self.coordinator.trigger_due(self.now):
            self.carry_out(self.coordinator.trigger(self.now, self.epoch))

    def take_savepoint(self) -> None:
        if self.random.random() < 0.3:
            final = self.random.random() < 0.1
            self.seen["savepoint"] += 1
            if final:
                self.finals.add(self.coordinator.next_checkpoint_id)
            order = self.coordinator.trigger(self.now, self.epoch, savepoint=True, final=final)
            self.carry_out(order)

    def take_final_checkpoint(self) -> None:
        if self.random.random() < 0.05:
            self.finals.add(self.coordinator.next_checkpoint_id)
            self.carry_out(self.coordinator.trigger(self.now, self.epoch, final=True))

    def run_slot(self) -> None:
        waiting = [slot for slot in self.slots if slot.orders]
        if waiting:
            self.obey(self.random.choice(waiting))

    def obey(self, slot: Slot) -> None:
        match slot.orders.pop(0):
            case TriggerCheckpoint(checkpoint_id, savepoint=savepoint):
                attempt = slot.attempt
                if self.random.random() < 0.04:
                    self.network.append(Decline(attempt, checkpoint_id, slot.index))
                    return
                written = f"{attempt}/{checkpoint_id}/{slot.index}"
                shared = [] if savepoint else [file for file in sorted(slot.base) if self.random.random() < 0.6]
                ack = Ack(attempt, checkpoint_id, slot.index, written, frozenset(shared))
                self.files.add(written)
                if not savepoint:
                    self.storage.write(ack)
                self.snapshots[checkpoint_id].append(ack)
                self.network.append(ack)
            case NotifyComplete() as complete if not complete.savepoint:
                # What the last complete checkpoint holds is the base of the next incremental snapshot, and
                # the slot does not know whether that checkpoint is still there.
                slot.base = self.all_manifests[complete.checkpoint_id]

    def deliver(self) -> None:
        if not self.network:
            return
        message = self.network.pop(self.random.randrange(len(self.network)))
        chance = self.random.random()
        if chance < 0.03:
            self.seen["lost"] += 1
            return
        if chance < 0.2:
            self.seen["doubled"] += 1
            doubled = replace(message, copy=message.copy + 1) if isinstance(message, Ack) else message
            self.network.append(doubled)
        self.arrive(message)

    def forge(self) -> None:
        """Let a slot that has missed the restart answer a pending checkpoint under its old attempt."""
        pending = self.coordinator.pending_ids()
        if pending and self.random.random() < 0.3:
            slot = self.random.choice(sorted(self.participants))
            checkpoint_id = self.random.choice(pending)
            attempt = self.coordinator.attempt - 1
            self.network.append(Ack(attempt, checkpoint_id, slot, f"forged {checkpoint_id}", frozenset()))

    def arrive(self, message: Ack | Decline) -> None:
        if message.attempt != self.coordinator.attempt:
            self.seen["old attempt"] += 1
        if isinstance(message, Decline):
            reason = self.random.choice(DECLINES)
            order = self.coordinator.decline(
                self.now, message.attempt, message.checkpoint_id, message.slot, reason, "declined"
            )
        else:
            self.delivered.add(message.written)
            if message.attempt == self.coordinator.attempt:
                self.first_arrived.setdefault((message.checkpoint_id, message.slot), message)
            self.acks[str(message.snapshot().handle.file.path)] = message
            order = self.coordinator.acknowledge(
                self.now, message.attempt, message.checkpoint_id, message.slot, message.snapshot()
            )
            if message.attempt != self.coordinator.attempt:
                assert not [each for each in order if not isinstance(each, DiscardState)]
        self.carry_out(order)

    def begin_commit(self) -> None:
        """Let one at a time be noted elsewhere before it is complete."""
        if self.writes and not self.committing & self.writes.keys():
            checkpoint_id = self.random.choice(sorted(self.writes))
            aborted = checkpoint_id not in self.coordinator.pending_ids()
            assert self.coordinator.begin_commit(checkpoint_id) != aborted
            if not aborted:
                self.seen["committing"] += 1
                self.committing.add(checkpoint_id)

    def finish_write(self) -> None:
        """Let a write end; before one that is being committed nothing newer is complete."""
        if self.writes:
            under_way = self.committing & self.writes.keys()
            self.answer_write(self.random.choice(sorted(under_way or self.writes)))

    def answer_write(self, checkpoint_id: int) -> None:
        order = self.writes.pop(checkpoint_id)
        failed = self.random.random() < 0.1
        if not order.savepoint and (not failed or self.random.random() < 0.5):  # also one that fails may leave the file
            self.storage.commit(checkpoint_id, self.acks_of(order))
        if failed:
            self.carry_out(self.coordinator.metadata_failed(self.now, checkpoint_id, "no space"))
            return
        self.metadata.add(checkpoint_id)
        manifest = frozenset[str]().union(*(ack.files() for ack in self.acks_of(order)))
        was_pending = checkpoint_id in self.coordinator.pending_ids()
        if was_pending:
            self.manifests[checkpoint_id] = self.all_manifests[checkpoint_id] = manifest
        self.carry_out(self.coordinator.metadata_written(self.now, checkpoint_id, stored(checkpoint_id)))
        assert was_pending == (self.ended[checkpoint_id] == "complete")

    def fail_job(self) -> None:
        if self.failing or self.random.random() < 0.15:
            reason = self.random.choice([CheckpointFailureReason.JOB_FAILED, CheckpointFailureReason.SLOT_LOST])
            self.end_attempt(reason)
            self.failing = False
            self.failures_in_a_row = 0
            self.last_end = None
            self.participants = frozenset(range(self.random.randint(1, 4)))
            self.find_damage()
            attempt = self.coordinator.attempt + self.random.randint(1, 2)
            self.coordinator = self.coordinator.successor(attempt, self.participants, self.now)
            self.deploy()

    def find_damage(self) -> None:
        """Let some checkpoints turn out to be unreadable when the next attempt is to restore them."""
        latest = self.coordinator.latest_completed()
        while latest is not None and self.random.random() < 0.3:
            self.seen["damaged"] += 1
            self.coordinator.mark_damaged(latest.checkpoint_id)
            self.damaged.add(latest.checkpoint_id)
            latest = self.coordinator.latest_completed()

    def end_attempt(self, reason: CheckpointFailureReason) -> None:
        self.ending = True
        self.carry_out(self.coordinator.abort_all(self.now, reason))
        self.ending = False
        for checkpoint_id in sorted(self.committing & self.writes.keys()):
            assert checkpoint_id in self.coordinator.pending_ids(), "only its outcome decides"
            self.answer_write(checkpoint_id)
        assert self.coordinator.pending_ids() == ()
        assert not self.coordinator.trigger_due(self.now + 10**9)

    def drain(self) -> None:
        """Let every message arrive and every write end, then end the job."""
        if self.random.random() < 0.5:
            self.settle()
        self.end_attempt(CheckpointFailureReason.JOB_FINISHED)
        self.settle()

    def settle(self) -> None:
        while self.network or self.writes or any(slot.orders for slot in self.slots):
            while any(slot.orders for slot in self.slots):
                self.run_slot()
            while self.network:
                self.arrive(self.network.pop(self.random.randrange(len(self.network))))
            while self.writes:
                self.finish_write()
            self.check()

    # -------------------------------------------------------------------------------- invariants

    def check(self) -> None:
        completed = self.coordinator.completed()
        assert sum(not each.savepoint for each in completed) <= self.options.num_retained
        ids = [each.checkpoint_id for each in completed]
        assert ids == sorted(set(ids))
        assert not self.damaged & set(ids)
        for each in completed:
            assert self.manifests[each.checkpoint_id] <= self.files, f"checkpoint {each} lost files"
            assert each.checkpoint_id in self.metadata
        for checkpoint_id in self.coordinator.pending_ids():
            assert checkpoint_id not in self.ended
            for ack in self.snapshots[checkpoint_id]:
                assert ack.files() <= self.files, f"pending checkpoint {checkpoint_id} lost files"
        for checkpoint_id in self.writes:
            for ack in self.snapshots[checkpoint_id]:
                assert ack.files() <= self.files, f"checkpoint {checkpoint_id} lost files in the write"
        assert set(self.coordinator.outstanding_write_ids()) == set(self.writes)
        self.check_nothing_kept_for_nothing()
        kinds = [self.kinds[checkpoint_id] for checkpoint_id in self.coordinator.pending_ids()]
        periodic = [kind for kind in kinds if not kind.savepoint and kind.checkpoint_id not in self.finals]
        assert len(periodic) <= self.options.max_concurrent
        if self.options.min_pause_ms:
            assert len(periodic) <= 1
        self.check_storage()
        self.check_statistics()

    def check_storage(self) -> None:
        """Check that in the storage, too, all metadata finds its files, and all that is under way."""
        lost = missing(self.storage.files)
        assert lost == set(), f"completed checkpoints lost {lost} in the storage"
        there = self.storage.completed()
        for each in self.coordinator.completed():
            assert each.savepoint or each.checkpoint_id in there
        for checkpoint_id in (*self.coordinator.pending_ids(), *self.writes):
            for ack in self.snapshots[checkpoint_id]:
                assert self.storage.has(ack), f"checkpoint {checkpoint_id}, under way, lost files in the storage"

    def check_statistics(self) -> None:
        overview = self.coordinator.statistics()
        counts = overview.counts
        ended = Counter(how == "complete" for how in self.ended.values())
        assert (counts.total, counts.completed, counts.failed) == (len(self.triggered), ended[True], ended[False])
        assert counts.in_progress == len(self.coordinator.pending_ids()) == counts.total - len(self.ended)
        assert len(overview.ended) == min(len(self.ended), self.options.history_size)
        assert overview.summary.duration.count == counts.completed

    def check_nothing_kept_for_nothing(self) -> None:
        retained = {each.checkpoint_id for each in (*self.coordinator.completed(), *self.coordinator.damaged())}
        under_way = {*self.coordinator.pending_ids(), *self.writes}
        bases = {self.bases[each] for each in under_way if each in self.bases}
        checkpoints = {each for each in self.manifests if not self.kinds[each].savepoint}
        assert checkpoints <= retained | bases

    def check_end(self) -> None:
        assert sorted(self.ended) == self.triggered
        assert self.coordinator.outstanding_write_ids() == ()
        kept = {each.checkpoint_id for each in (*self.coordinator.completed(), *self.coordinator.damaged())}
        completed = {each for each, how in self.ended.items() if how == "complete"}
        savepoints = completed - set(self.completed_checkpoints)
        assert set(self.manifests) == kept | savepoints, "a completed checkpoint was neither kept nor dropped"
        in_use = frozenset[str]().union(*self.manifests.values())
        never_heard_of = {ack.written for acks in self.snapshots.values() for ack in acks} - self.delivered
        left_behind = self.files - in_use - never_heard_of
        assert not left_behind, f"left behind: {sorted(left_behind)}"
        assert self.metadata == set(self.manifests)
        self.storage.directory.sweep(kept)
        assert missing(self.storage.files) == set()
        assert self.storage.completed() == {each for each in kept if not self.kinds[each].savepoint}

    def run(self) -> None:
        steps = [self.pass_time, self.sleep_until_next_event, self.end_epoch, self.take_savepoint]
        steps += [self.take_final_checkpoint, self.fail_job]
        weights = [3, 1, 5, 1, 1, 1]
        steps += [self.run_slot, self.deliver, self.finish_write, self.forge, self.begin_commit]
        weights += [14, 12, 3, 1, 1]
        for _ in range(STEPS):
            if self.failing:
                self.fail_job()
            self.random.choices(steps, weights)[0]()
            self.check()
        self.drain()
        self.check()
        self.check_end()


def run_schedule(seed: int, kind: type[CheckpointCoordinator] = CheckpointCoordinator) -> Counter[str]:
    """Run the schedule of a seed; a failure names it."""
    world = World(seed, kind)
    try:
        world.run()
    except Exception as error:
        raise AssertionError(f"schedule with seed {seed} failed at time {world.now}: {error!r}") from error
    return world.seen


@pytest.mark.parametrize("batch", range(BATCHES))
def test_invariants_hold_in_every_schedule(batch: int) -> None:
    for seed in SCHEDULES[batch::BATCHES]:
        run_schedule(seed)


def test_schedules_reach_every_situation() -> None:
    seen: Counter[str] = Counter()
    for seed in range(240):
        seen += run_schedule(seed)
    rare = {
        situation: seen[situation]
        for situation in [
            "complete",
            *(reason.name for reason in CheckpointFailureReason if reason.name != "JOB_CANCELLED"),
            *("DiscardState", "DiscardCheckpoint", "DropCompleted", "FailJob", "ReportSavepointFailure"),
            *("discarded with metadata", "committing", "savepoint", "lost", "doubled", "old attempt", "damaged"),
        ]
        if seen[situation] < 20
    }
    assert rare == {}


def test_a_schedule_is_the_same_for_the_same_seed() -> None:
    assert run_schedule(4711) == run_schedule(4711)


# ----------------------------------------------------------------------- the checks themselves, with a rule taken out


class AcceptsEveryAttempt(CheckpointCoordinator):
    def acknowledge(  # type: ignore[no-untyped-def]
        self, now, attempt, checkpoint_id, slot, snapshot
    ) -> list[Instruction]:
        return super().acknowledge(now, self.attempt, checkpoint_id, slot, snapshot)


class DropsWhatIsInUse(CheckpointCoordinator):
    def _drop_superseded(self) -> list[Instruction]:
        dropped, self._superseded = self._superseded, []
        return [DropCompleted(other) for other in dropped]


class DiscardsWhileMetadataIsWritten(CheckpointCoordinator):
    def _abort(self, now, pending, reason, detail, counted=True):  # type: ignore[no-untyped-def]
        instructions = super()._abort(now, pending, reason, detail, counted)
        return [*instructions, self._discard(pending)] if pending.writing else instructions


class AbortsWhatIsBeingCommitted(CheckpointCoordinator):
    def _abortable(self):  # type: ignore[no-untyped-def]
        return list(self._pending.values())


class ForgetsWhatIsUnderWayAtTheEndOfAnAttempt(CheckpointCoordinator):
    def successor(self, attempt, participants, now):  # type: ignore[no-untyped-def]
        self._abandoned.clear()
        return super().successor(attempt, participants, now)


class CountsIdsAfreshForEveryAttempt(CheckpointCoordinator):
    def successor(self, attempt, participants, now):  # type: ignore[no-untyped-def]
        newest = self.latest_completed()
        self._next_checkpoint_id = 1 if newest is None else newest.checkpoint_id + 1
        return super().successor(attempt, participants, now)


class IgnoresTheLimitOfConcurrentOnes(CheckpointCoordinator):
    def _periodic_due_at(self) -> int | None:
        hidden, self._pending = self._pending, {}
        try:
            return super()._periodic_due_at()
        finally:
            self._pending = hidden


class PausesOnlyAfterSuccess(CheckpointCoordinator):
    def _abort(self, now, pending, reason, detail, counted=True):  # type: ignore[no-untyped-def]
        before = self._schedule._last_end
        instructions = super()._abort(now, pending, reason, detail, counted)
        self._schedule._last_end = before
        return instructions


class CountsFailedSavepoints(CheckpointCoordinator):
    def _abort(self, now, pending, reason, detail, counted=True):  # type: ignore[no-untyped-def]
        savepoint, pending.savepoint = pending.savepoint, False
        try:
            return super()._abort(now, pending, reason, detail, counted)
        finally:
            pending.savepoint = savepoint


class RetainsOneMore(CheckpointCoordinator):
    def __init__(self, *arguments, **others) -> None:  # type: ignore[no-untyped-def]
        super().__init__(*arguments, **others)
        self._completed._num_retained += 1


MUTANTS = [
    AcceptsEveryAttempt,
    DropsWhatIsInUse,
    DiscardsWhileMetadataIsWritten,
    AbortsWhatIsBeingCommitted,
    ForgetsWhatIsUnderWayAtTheEndOfAnAttempt,
    CountsIdsAfreshForEveryAttempt,
    IgnoresTheLimitOfConcurrentOnes,
    PausesOnlyAfterSuccess,
    CountsFailedSavepoints,
    RetainsOneMore,
]


def noticed(kind: type[CheckpointCoordinator]) -> int | None:
    """Return the first schedule that fails."""
    for seed in range(300):
        try:
            run_schedule(seed, kind)
        except AssertionError:
            return seed
    return None


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_coordinator_without_one_of_its_rules_is_noticed(mutant: type[CheckpointCoordinator]) -> None:
    assert noticed(mutant) is not None


def test_a_clean_up_that_does_not_look_at_references_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(found: FoundFiles, references: object, retained: frozenset[int]) -> CleanupPlan:
        return classify(found, {}, retained)

    monkeypatch.setattr(job_directory, "classify", careless)
    assert noticed(CheckpointCoordinator) is not None
