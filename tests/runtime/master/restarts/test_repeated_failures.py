"""When a failure counts as the same again."""

from __future__ import annotations

import pytest

from rekindle.exceptions import JobExecutionError, SlotLostError, UserCodeError
from rekindle.runtime.master.restarts.repeated_failures import LONGEST_DELAY_MS, RepeatedFailures
from rekindle.runtime.master.restarts.restart_strategies import GiveUp, Restart


def failure(identity: str = "5f1c", subtask: int = 0, trace: str = "ValueError: negative") -> Exception:
    return UserCodeError("map", subtask, "ValueError: negative", trace, identity=identity)


def delays(*failures: tuple[Exception, int | None]) -> list[int]:
    """Return how long a strategy with no delay of its own is made to wait after each failure."""
    repeated, waits = RepeatedFailures(), []
    for error, checkpoint in failures:
        repeated.note(error, checkpoint)
        decision = repeated.prolonged(Restart(0))
        assert isinstance(decision, Restart)
        waits.append(decision.delay_ms)
    return waits


def test_the_same_failure_waits_twice_as_long_each_time_up_to_a_limit() -> None:
    waits = delays(*[(failure(), 4)] * 40)
    assert waits[:5] == [0, 0, 2_000, 4_000, 8_000]
    assert waits[-1] == max(waits) == LONGEST_DELAY_MS


@pytest.mark.parametrize(
    "another",
    [
        failure("6e2d"),
        SlotLostError("slot 1 was lost", 1),
        JobExecutionError("an epoch failed in Spark"),
    ],
)
def test_another_failure_begins_anew(another: Exception) -> None:
    assert delays(*[(failure(), 4)] * 3, (another, 4), *[(failure(), 4)] * 3) == [0, 0, 2_000, 0, 0, 0, 2_000]


def test_so_does_a_checkpoint() -> None:
    assert delays(*[(failure(), None)] * 3, *[(failure(), 1)] * 3) == [0, 0, 2_000, 0, 0, 2_000]


def test_what_it_says_and_the_subtask_do_not_matter() -> None:
    alike = [failure(subtask=i, trace=f"ValueError: <Order at 0x{i:x}> is negative") for i in range(3)]
    assert delays(*((error, 4) for error in alike)) == [0, 0, 2_000]


def test_the_slot_says_what_is_the_same_and_at_which_record() -> None:
    repeated = RepeatedFailures()
    for message in ("at 12:00", "at 12:01"):
        error = UserCodeError("map", 0, "ValueError", message, record="record 7 of key 'a'", identity="5f1c")
        repeated.note(error, 4)
    assert str(error).startswith("the same failure 2 times at the same record, with no checkpoint in between: ")
    assert ", subtask 0, at record 7 of key 'a'; " in str(error)
    other = UserCodeError("map", 0, "ValueError", message, record="record 8 of key 'a'", identity="6e2d")
    repeated.note(other, 4)
    assert other.repeated == ""


def test_a_lost_slot_never_waits_longer() -> None:
    assert delays(*[(SlotLostError("slot 1 was lost", 1), 4)] * 5) == [0] * 5


def test_a_job_that_is_given_up_is_given_up() -> None:
    repeated = RepeatedFailures()
    for _ in range(4):
        repeated.note(failure(), 4)
    assert repeated.prolonged(GiveUp("enough")) == GiveUp("enough")
