"""Records on their way to ``execute_and_collect``: shown once, in spite of restarts."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from rekindle.runtime.master.collected_records import CollectedRecords


def chunk(*records: Any) -> bytes:
    return pickle.dumps(list(records), 5)


def shown(collected: CollectedRecords) -> list[Any]:
    """Return what can be seen: all that is visible when the job ends now."""
    collected.end(None)
    return list(collected)


def test_without_checkpoints_records_are_visible_at_once() -> None:
    collected = CollectedRecords(held_back=False)
    collected.add(chunk(1, 2))
    iterator = iter(collected)
    assert [next(iterator), next(iterator)] == [1, 2]


def test_with_checkpoints_records_become_visible_when_the_checkpoint_after_them_is_complete() -> None:
    collected = CollectedRecords(held_back=True)
    collected.add(chunk("before"))
    collected.barrier(1)
    collected.add(chunk("after"))
    collected.completed(1)
    assert shown(collected) == ["before"]


def test_records_that_no_complete_checkpoint_covers_stay_hidden() -> None:
    collected = CollectedRecords(held_back=True)
    collected.add(chunk(1))
    collected.barrier(1)
    assert shown(collected) == []


def test_a_complete_checkpoint_shows_what_came_before_aborted_ones_too() -> None:
    collected = CollectedRecords(held_back=True)
    for checkpoint_id in (1, 2, 3):
        collected.add(chunk(f"before {checkpoint_id}"))
        collected.barrier(checkpoint_id)
    collected.add(chunk("after 3"))
    collected.completed(2)
    assert shown(collected) == ["before 1", "before 2"]


def test_records_are_shown_in_the_order_in_which_they_came() -> None:
    collected = CollectedRecords(held_back=True)
    for number in range(10):
        collected.add(chunk(number))
        collected.barrier(number + 1)
    collected.completed(10)
    assert shown(collected) == list(range(10))


def test_what_was_shown_is_not_shown_again_by_a_later_checkpoint() -> None:
    collected = CollectedRecords(held_back=True)
    collected.add(chunk(1))
    collected.barrier(1)
    collected.completed(1)
    collected.barrier(2)
    collected.completed(2)
    assert shown(collected) == [1]


def test_records_of_a_failed_attempt_are_dropped_because_they_come_again() -> None:
    collected = CollectedRecords(held_back=True)
    collected.add(chunk("kept"))
    collected.barrier(1)
    collected.add(chunk("comes again"))
    collected.completed(1)
    collected.barrier(2)
    collected.add(chunk("comes again too"))
    collected.rewind()
    for record in ("comes again", "comes again too"):
        collected.add(chunk(record))
    collected.barrier(3)
    collected.completed(3)
    assert shown(collected) == ["kept", "comes again", "comes again too"]


def test_the_end_of_the_job_ends_the_iteration() -> None:
    collected = CollectedRecords(held_back=False)
    collected.add(chunk(1))
    assert shown(collected) == [1]


def test_the_failure_of_the_job_is_raised_after_the_records_that_were_visible() -> None:
    collected = CollectedRecords(held_back=False)
    collected.add(chunk(1))
    collected.end(ValueError("the job failed"))
    iterator = iter(collected)
    assert next(iterator) == 1
    with pytest.raises(ValueError, match="the job failed"):
        next(iterator)


def test_any_record_can_be_collected_even_none_tuples_and_empty_chunks() -> None:
    collected = CollectedRecords(held_back=False)
    collected.add(chunk())
    collected.add(chunk(None, (1, 2), ()))
    assert shown(collected) == [None, (1, 2), ()]
