"""What the heap notes of changes: from the first snapshot on, and not when it would write everything anyway."""

from __future__ import annotations

from typing import Any

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner

ALL = KeyGroupRange(0, 127)
MANY = 3_000


def backend() -> HeapKeyedStateBackend:
    return HeapKeyedStateBackend(StateOwner("operator"), ALL, 128, lambda: 0, incremental=True)


def write(keyed: HeapKeyedStateBackend, keys: range, value: Any) -> None:
    state: Any = keyed.get_or_create(ValueStateDescriptor("v"))
    for keyed.key in keys:
        state.update(value)
    keyed.after_chunk(len(keys))


def completed(keyed: HeapKeyedStateBackend, checkpoint_id: int, base_id: int | None = None) -> KeyedSnapshot:
    snapshot = keyed.snapshot(SnapshotRequest(checkpoint_id, base_id))
    keyed.snapshot_completed(checkpoint_id)
    return snapshot


def restored(*snapshots: list[Any]) -> dict[Any, Any]:
    again = backend()
    for blocks in snapshots:
        again.restore_blocks(blocks)
    state: Any = again.get_or_create(ValueStateDescriptor("v"))
    found = {}
    for key in again.keys("v"):
        again.key = key
        found[key] = state.value()
    return found


def test_before_the_first_snapshot_nothing_is_noted() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    assert keyed.changes() == (MANY + 1, MANY)
    assert not completed(keyed, 1).delta
    assert keyed.changes() == (0, MANY)


def test_few_changes_are_noted_and_written_alone() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    base = list(completed(keyed, 1).blocks())
    write(keyed, range(100), "new")
    assert keyed.changes() == (100, MANY)
    snapshot = completed(keyed, 2, 1)
    assert (snapshot.delta, snapshot.entries) == (True, 100)
    assert restored(base, list(snapshot.blocks())) == {key: "new" if key < 100 else "old" for key in range(MANY)}


def test_where_most_has_changed_nothing_more_is_noted_and_everything_is_written() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    completed(keyed, 1)
    write(keyed, range(MANY // 2 + 1), "new")
    state: Any = keyed.get_or_create(ValueStateDescriptor("v"))
    assert state._changed is None
    keyed.key = MANY - 1
    state.clear()
    assert keyed.changes() == (MANY, MANY - 1)
    snapshot = completed(keyed, 2, 1)
    assert not snapshot.delta
    found = restored(list(snapshot.blocks()))
    assert found == {key: "new" if key <= MANY // 2 else "old" for key in range(MANY - 1)}


def test_after_that_changes_are_noted_again() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    completed(keyed, 1)
    write(keyed, range(MANY), "newer")
    base = list(completed(keyed, 2, 1).blocks())
    write(keyed, range(10), "newest")
    snapshot = completed(keyed, 3, 2)
    assert snapshot.delta
    assert restored(base, list(snapshot.blocks())) == {key: "newest" if key < 10 else "newer" for key in range(MANY)}


def test_a_snapshot_over_a_time_without_notes_is_whole_even_if_the_one_in_between_failed() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    completed(keyed, 1)
    write(keyed, range(MANY), "new")
    keyed.snapshot(SnapshotRequest(2, 1))  # never completes
    write(keyed, range(5), "newest")
    assert keyed.changes()[0] > keyed.changes()[1]
    assert not keyed.snapshot(SnapshotRequest(3, 1)).delta


def test_a_state_that_is_new_since_the_base_is_in_the_delta() -> None:
    keyed = backend()
    write(keyed, range(MANY), "old")
    completed(keyed, 1)
    for descriptor in (ListStateDescriptor("l"), MapStateDescriptor("m")):
        state: Any = keyed.get_or_create(descriptor)
        keyed.key = 1
        state.add(1) if descriptor.name == "l" else state.put(1, 1)
    snapshot = completed(keyed, 2, 1)
    assert snapshot.delta
    assert sorted(block.state for block in snapshot.blocks()) == ["l", "m"]
