"""Drivers of one job against each other, in thousands of orders: what is committed stays one line of history.

Each driver claims the job, uses checkpoint ids, commits, looks who owns the job, is paused or crashes anywhere between
two operations on the storage, and is started again. Listings are as weak as file systems allow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import JobFencedError
from rekindle.ha.entry import CheckpointReference, LogEntry, Owner
from rekindle.ha.log import JobLog
from rekindle.ha.ownership import IDS_AHEAD, JobOwnership
from rekindle.testing import ManualClock
from support.scheduled_files import Schedule
from support.seeds import seeds

SCHEDULES = 1_000
STARTS = 2
STEPS = 10


@dataclass
class Claimed:
    number: int
    inherited: int  # the id of the checkpoint to go on from, 0 for none


@dataclass
class Committed:
    number: int
    claim: int
    checkpoint_id: int


@dataclass
class History:
    """What drivers believe, in the order in which they came to believe it."""

    claims: list[Claimed] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)
    used: dict[int, set[int]] = field(default_factory=dict)  # checkpoint ids by claim
    fenced: int = 0


def claim(log: JobLog, name: str) -> tuple[LogEntry, LogEntry | None]:
    def make(latest: LogEntry | None) -> LogEntry:
        number = 1 if latest is None else latest.number + 1
        ids_to = (0 if latest is None else latest.ids_to) + IDS_AHEAD
        checkpoints = [] if latest is None else latest.checkpoints
        return LogEntry(number, "claim", Owner(name, "host", 1), number, "id", "job", 0, ids_to, checkpoints)

    return log.claim(make)


def first_id_of(entry: LogEntry) -> int:
    return entry.ids_to - IDS_AHEAD + 1


class Driver:
    """Start again and again, each time as another driver."""

    def __init__(self, name: str, schedule: Schedule, history: History) -> None:
        self._name = name
        self._random = schedule.random
        self._history = history

    def __call__(self, files: CheckpointFiles) -> None:
        for start in range(STARTS):
            log = JobLog(files, "job")
            entry, _ = claim(log, f"{self._name}-{start}")
            inherited = entry.checkpoints[-1].checkpoint_id if entry.checkpoints else 0
            self._history.claims.append(Claimed(entry.number, inherited))
            self._history.used[entry.number] = set()
            try:
                self._work(JobOwnership(ManualClock(), log, entry), entry)
            except JobFencedError:
                self._history.fenced += 1

    def _work(self, owned: JobOwnership, entry: LogEntry) -> None:
        checkpoint_id = first_id_of(entry)
        for _ in range(self._random.randrange(STEPS)):
            owned.reserve(checkpoint_id)
            self._history.used[entry.number].add(checkpoint_id)
            if self._random.random() < 0.8:  # the others fail, or are savepoints
                owned.commit([CheckpointReference(checkpoint_id, f"chk-{checkpoint_id}", 0)])
                assert owned._last is not None
                self._history.commits.append(Committed(owned._last.number, entry.number, checkpoint_id))
            if self._random.random() < 0.2:
                owned.check()
            checkpoint_id += self._random.choice([1, 1, 1, 4])


def run(seed: int) -> History:
    schedule, history = Schedule(seed), History()
    schedule.run({name: Driver(name, schedule, history) for name in ("a", "b", "c")})
    return history


def problems(history: History) -> list[str]:
    """Find what must not be in a history."""
    found = []
    numbers = [one.number for one in [*history.claims, *history.commits]]
    if len(set(numbers)) != len(numbers):
        found.append("a number was given out twice")
    for commit in history.commits:
        if any(commit.claim < other.number < commit.number for other in history.claims):
            found.append(f"entry {commit.number} was committed after a takeover")
    for one in history.claims:
        before = [commit.checkpoint_id for commit in history.commits if commit.number < one.number]
        if max(before, default=0) > one.inherited:
            found.append(f"claim {one.number} goes on from {one.inherited}, and {max(before)} was committed before it")
    for number, ids in history.used.items():
        for other, others in history.used.items():
            if number < other and ids & others:
                found.append(f"checkpoint ids {sorted(ids & others)} were used after claim {number} and {other}")
    return found


def test_the_history_stays_one_line_whatever_the_order_of_operations() -> None:
    fenced = committed = 0
    for seed in seeds(SCHEDULES):
        history = run(seed)
        assert problems(history) == [], f"seed {seed}"
        fenced += history.fenced
        committed += len(history.commits)
    assert fenced > SCHEDULES // 4, "hardly any driver was fenced: the test proves little"
    assert committed > SCHEDULES, "hardly anything was committed: the test proves little"


def broken(kind: str, schedules: int = 600) -> bool:
    return any(kind in problem for seed in range(schedules) for problem in problems(run(seed)))


def test_without_a_look_after_the_entry_was_created_the_history_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobLog, "_lost", lambda self, entry, before: False)
    assert broken("was committed before it")


def test_two_looks_suffice_however_few_entries_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekindle.ha.ownership.ENTRIES_KEPT", 1)
    assert [problem for seed in seeds(300) for problem in problems(run(seed))] == []


def test_without_reserved_ids_two_drivers_use_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def after_the_last_checkpoint(entry: LogEntry) -> int:
        return entry.checkpoints[-1].checkpoint_id + 1 if entry.checkpoints else 1

    monkeypatch.setattr("test_ha_log_schedules.first_id_of", after_the_last_checkpoint)
    assert broken("were used after claim")


def test_where_the_last_writer_wins_the_history_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show that the storage must create a file only where there is none."""

    def replace(self: Any, path: str, data: bytes) -> None:
        self._schedule.turn(self._name)
        self._schedule.stored[path] = data

    monkeypatch.setattr("support.scheduled_files.ScheduledFiles.create", replace)
    assert broken("given out twice")
