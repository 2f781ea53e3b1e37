"""Completed checkpoints: which are kept, in what order, and which one is restored from."""

from __future__ import annotations

import pytest

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.completed_checkpoint_store import CompletedCheckpointStore
from support.slot_snapshots import completed


def ids(checkpoints: list[CompletedCheckpoint] | tuple[CompletedCheckpoint, ...]) -> list[int]:
    return [checkpoint.checkpoint_id for checkpoint in checkpoints]


@pytest.mark.parametrize("wrong", [[2, 1], [1, 1], [1, 3, 2]])
def test_restored_checkpoints_must_come_oldest_first_and_once(wrong: list[int]) -> None:
    with pytest.raises(ValueError, match="must come oldest first"):
        CompletedCheckpointStore(3, map(completed, wrong))


def test_restored_checkpoints_are_kept_in_their_order() -> None:
    assert ids(CompletedCheckpointStore(1, map(completed, [1, 2, 5])).all()) == [1, 2, 5]


@pytest.mark.parametrize("late", [4, 5])
def test_a_checkpoint_that_is_not_newer_is_refused(late: int) -> None:
    store = CompletedCheckpointStore(3, [completed(5)])
    with pytest.raises(ValueError, match=f"checkpoint {late} is not newer than checkpoint 5"):
        store.add(completed(late))
    assert ids(store.all()) == [5]


def test_beyond_those_retained_the_oldest_are_given_back_oldest_first() -> None:
    store = CompletedCheckpointStore(2, map(completed, [1, 2, 3]))
    assert ids(store.add(completed(4))) == [1, 2]
    assert ids(store.add(completed(5))) == [3]
    assert ids(store.all()) == [4, 5]


def test_savepoints_are_not_counted_and_go_with_the_next_checkpoint_unless_they_are_newer() -> None:
    store = CompletedCheckpointStore(2, map(completed, [1, 2]))
    for savepoint in (6, 4):
        assert store.add(completed(savepoint, savepoint=True)) == []
    assert ids(store.all()) == [1, 2, 4, 6]
    assert ids(store.add(completed(5))) == [1], "a savepoint is not given back: it is the user's"
    assert ids(store.all()) == [2, 5, 6]


def test_the_latest_may_be_a_savepoint_but_not_the_latest_checkpoint() -> None:
    store = CompletedCheckpointStore(2)
    assert (store.latest(), store.latest_checkpoint()) == (None, None)
    store.add(completed(1))
    store.add(completed(2, savepoint=True))
    assert store.latest() == completed(2, savepoint=True)
    assert store.latest_checkpoint() == completed(1)


def test_one_that_is_removed_is_given_back_once() -> None:
    store = CompletedCheckpointStore(3, map(completed, [1, 2, 3]))
    assert store.remove(2) == completed(2)
    assert store.remove(2) is None
    assert ids(store.all()) == [1, 3]
