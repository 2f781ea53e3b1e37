"""What happens to a sink in a check: short runs of a job, each for one promise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Act(StrEnum):
    """What can happen to the job of a sink."""

    WRITE = "write"
    """So many records arrive."""
    BARRIER = "barrier"
    """All subtasks take a snapshot for the next checkpoint."""
    STORE = "store"
    """The last checkpoint is complete, and nobody hears of it."""
    NOTIFY = "notify"
    """The last checkpoint is complete, and all subtasks hear of it."""
    ABORT = "abort"
    """The last checkpoint is given up, and the job continues."""
    SAVEPOINT = "savepoint"
    """All subtasks take a snapshot for a savepoint, which is complete; the job continues."""
    CRASH = "crash"
    """The job restarts from its last complete checkpoint, with so many subtasks more or less."""
    CRASH_TO_ONE = "crash to one"
    """The job restarts from its last complete checkpoint, with one subtask."""
    ZOMBIE = "zombie"
    """The job restarts, and its old processes do not know that they are dead: they write, prepare and commit."""
    FROM_SAVEPOINT = "from savepoint"
    """The job is cancelled, and another one starts from the savepoint."""
    FINISH = "finish"
    """The input ends: all subtasks finish, and commit with a last checkpoint."""
    FINISH_WITHOUT_CHECKPOINT = "finish without checkpoint"
    """The input of a job without checkpoints ends."""
    ANOTHER_JOB = "another job"
    """After the end of the job another one begins, from nothing, and writes to the same system."""


@dataclass(frozen=True, slots=True)
class Step:
    """Let something happen.

    Attributes:
        act: What.
        number: How many records, or subtasks more.
    """

    act: Act
    number: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Describe a run.

    Attributes:
        name: What it is about.
        steps: What happens.
        crashed: Whether it is repeated with a crash at every step.
        two_phase: Whether it needs a sink whose operator commits, not a plain function.
    """

    name: str
    steps: tuple[Step, ...]
    crashed: bool = False
    two_phase: bool = False


def _steps(*acts: Act | tuple[Act, int]) -> tuple[Step, ...]:
    return tuple(Step(act) if isinstance(act, Act) else Step(*act) for act in acts)


_ROUND = ((Act.WRITE, 4), Act.BARRIER, Act.NOTIFY)
_PENDING = ((Act.WRITE, 4), Act.BARRIER, Act.STORE)

SCHEDULES = (
    Schedule("plain", _steps(*_ROUND, *_ROUND, (Act.WRITE, 3), Act.FINISH), crashed=True),
    Schedule("committed-again", _steps(*_PENDING, Act.CRASH, Act.CRASH, *_ROUND, Act.CRASH, Act.FINISH)),
    Schedule(
        "lost-attempt",
        _steps(*_ROUND, (Act.WRITE, 4), Act.BARRIER, (Act.WRITE, 2), Act.CRASH, *_ROUND, (Act.WRITE, 1), Act.FINISH),
    ),
    Schedule(
        "several-at-once",
        _steps((Act.WRITE, 3), Act.BARRIER, (Act.WRITE, 3), Act.BARRIER, *_ROUND, (Act.WRITE, 1), Act.FINISH),
        crashed=True,
    ),
    Schedule(
        "aborted",
        _steps((Act.WRITE, 4), Act.BARRIER, Act.ABORT, *_ROUND, (Act.WRITE, 2), Act.BARRIER, Act.ABORT, Act.FINISH),
        crashed=True,
    ),
    Schedule(
        "aborted-and-crashed",
        _steps((Act.WRITE, 4), Act.BARRIER, Act.ABORT, *_PENDING, Act.CRASH, *_ROUND, Act.FINISH),
    ),
    Schedule(
        "savepoint-in-passing",
        _steps(
            (Act.WRITE, 4), Act.SAVEPOINT, *_ROUND, (Act.WRITE, 2), Act.SAVEPOINT, Act.CRASH, (Act.WRITE, 1), Act.FINISH
        ),
    ),
    Schedule(
        "from-savepoint",
        _steps(*_ROUND, (Act.WRITE, 4), Act.SAVEPOINT, Act.CRASH, Act.FROM_SAVEPOINT, *_ROUND, Act.FINISH),
        two_phase=True,
    ),
    Schedule("zombie", _steps(*_ROUND, *_PENDING, Act.ZOMBIE, *_ROUND, (Act.WRITE, 2), Act.FINISH)),
    Schedule(
        "rescaled",
        _steps(
            (Act.WRITE, 6),
            Act.BARRIER,
            Act.STORE,
            (Act.CRASH, 1),
            *_PENDING,
            Act.CRASH_TO_ONE,
            *_ROUND,
            (Act.WRITE, 2),
            (Act.CRASH, 1),
            *_ROUND,
            Act.FINISH,
        ),
    ),
    Schedule("empty", _steps(Act.BARRIER, Act.NOTIFY, Act.BARRIER, Act.STORE, Act.CRASH, *_ROUND, Act.FINISH)),
    Schedule(
        "without-checkpoints", _steps((Act.WRITE, 4), (Act.WRITE, 2), Act.FINISH_WITHOUT_CHECKPOINT), two_phase=True
    ),
    Schedule(
        "another-job",
        _steps(*_ROUND, (Act.WRITE, 2), Act.FINISH, Act.ANOTHER_JOB, *_ROUND, *_PENDING, Act.CRASH, Act.FINISH),
    ),
)
"""All runs, the simplest first: what breaks in one breaks nothing in those before it, which names the promise."""
