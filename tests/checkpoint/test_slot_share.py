"""What each slot is sent of a checkpoint: all that it restores, and of what is inside the metadata nothing else."""

from __future__ import annotations

import io
import random
from typing import Any

import msgspec
import pytest

from rekindle.checkpoint.metadata import (
    CheckpointMetadata,
    ListStateMetadata,
    NativeState,
    OperatorMetadata,
    SourceLog,
    SourcePosition,
    StateHandle,
    StoredFile,
)
from rekindle.checkpoint.redistribution import deal_out
from rekindle.checkpoint.slot_share import SlotShares
from rekindle.checkpoint.snapshot_file import SnapshotWriter, open_inline
from rekindle.contracts.key_groups import key_group_range
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from support.seeds import SEED

GROUPS = 32
MODES = tuple(DistributionMode)


def snapshot(old: int, parallelism: int, lists: dict[str, int], delta: bool = False) -> bytes:
    """Write what one old subtask keeps: a block for each of its key groups, and items of operator state."""
    target = io.BytesIO()
    writer = SnapshotWriter(target)
    for group in key_group_range(old, parallelism, GROUPS):
        writer.keyed("op", KeyGroupBlock("count", "value", group, 1, f"{delta} {group}".encode() * 10, delta=delta))
    if not delta:
        for mode, count in lists.items():
            items = [f"{mode} {old} {item}".encode() for item in range(count)]
            writer.operator_list("op", mode, StoredList.of(DistributionMode(mode), items))
    writer.finish()
    return target.getvalue()


def inline(data: bytes) -> StoredFile:
    return StoredFile(len(data), 0, inline=data)


def checkpoint(rng: random.Random, old: int) -> CheckpointMetadata:
    counts = {mode.value: [rng.choice([0, 1, 3]) for _ in range(old)] for mode in MODES}
    lists = {mode.value: ListStateMetadata(mode, counts[mode.value]) for mode in MODES}
    handles = [
        StateHandle(
            number,
            inline(snapshot(number, old, {mode: count[number] for mode, count in counts.items()})),
            before=[inline(snapshot(number, old, {}, delta=True))] * rng.randrange(2),
        )
        for number in range(old)
    ]
    operators = [OperatorMetadata("op", "op", old, GROUPS, ["count"], lists)]
    positions = [SourcePosition("source", ["7"], [SourceLog(0, {"7": bytes(1000)})])]
    return CheckpointMetadata(7, "job", "job", 0, 1, operators, handles, positions)


def read(metadata: CheckpointMetadata, parallelism: int, slot: int) -> list[Any]:
    """Read what a slot restores, as a slot does."""
    (operator,) = metadata.operators
    handles = {handle.slot: handle for handle in metadata.handles}
    own = key_group_range(slot, parallelism, GROUPS)
    found: list[Any] = []
    for old in range(operator.parallelism):
        if key_group_range(old, operator.parallelism, GROUPS).intersects(own):
            for file in (*handles[old].before, handles[old].file):
                found += open_inline(file.inline or b"", "").keyed("op", own)
    for name, ranges in deal_out(operator.list_states, parallelism, slot).items():
        for each in ranges:
            stored = open_inline(handles[each.old_subtask].file.inline or b"", "").operator_list("op", name)
            assert stored is not None
            found += [item for part in stored.cut(each.start, each.stop) for item in part.items]
    return found


def blocks_in(metadata: CheckpointMetadata) -> int:
    """Count the bytes of keyed state inside some metadata."""
    indexes = [open_inline(file.inline or b"", "").index for file in metadata.files() if file.inline is not None]
    return sum(
        block.length
        for index in indexes
        for operator in index.operators
        for state in operator.keyed
        for block in state.blocks
    )


@pytest.mark.parametrize("case", range(60))
def test_each_slot_restores_from_its_share_what_it_would_from_all(case: int) -> None:
    rng = random.Random(f"{SEED} {case}")
    old, parallelism = rng.randint(1, 9), rng.randint(1, 9)
    metadata = checkpoint(rng, old)
    shares = SlotShares(metadata, {"op": parallelism})

    parts = [shares.of(slot) for slot in range(parallelism)]

    for slot, part in enumerate(parts):
        assert read(part, parallelism, slot) == read(metadata, parallelism, slot)
    assert sum(map(blocks_in, parts)) == blocks_in(metadata), "each block of keyed state is sent once"
    assert not any(part.positions for part in parts), "what the driver reads is not sent to slots"


def test_a_slot_beyond_the_operators_gets_nothing() -> None:
    shares = SlotShares(checkpoint(random.Random(1), 4), {"op": 2, "wider": 5})
    assert shares.of(4).handles == []


def test_what_no_operator_takes_over_is_not_sent() -> None:
    assert SlotShares(checkpoint(random.Random(1), 2), {"other": 2}).of(0).handles == []


def test_files_go_whole_to_those_that_read_some_of_them() -> None:
    files = [StoredFile(10, 0, path=f"slot-{number}-1") for number in range(2)]
    native = [NativeState("op", {"a.sst": StoredFile(5, 0, path="a.sst")})]
    operators = [OperatorMetadata("op", "op", 2, GROUPS, ["count"], {})]
    handles = [StateHandle(number, file, native=native) for number, file in enumerate(files)]
    metadata = CheckpointMetadata(7, "job", "job", 0, 1, operators, handles, [])

    shares = SlotShares(metadata, {"op": 2})

    assert [shares.of(slot).handles for slot in range(2)] == [[handles[0]], [handles[1]]]


def test_a_damaged_snapshot_is_left_to_the_slot_which_says_so() -> None:
    metadata = checkpoint(random.Random(1), 1)
    damaged = bytearray(metadata.handles[0].file.inline or b"")
    damaged[20] ^= 1
    handle = msgspec.structs.replace(metadata.handles[0], file=inline(bytes(damaged)))
    shares = SlotShares(msgspec.structs.replace(metadata, handles=[handle]), {"op": 1})
    assert shares.of(0).handles[0].file.inline == bytes(damaged)
