"""The snapshot file of a slot: what is written is read back, and nothing damaged is taken for good."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.checkpoint.snapshot_file import MAGIC, VERSION, SnapshotReader, SnapshotWriter, open_inline
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.exceptions import CheckpointCorruptError
from rekindle.state.keyed_backend import KeyGroupBlock
from rekindle.state.operator_state.stored import DistributionMode, StoredItems, StoredList

EVERYTHING = KeyGroupRange(0, 127)
NAME = "/checkpoints/job/chk-7/slot-0-0"

Keyed = list[tuple[str, KeyGroupBlock]]
Lists = list[tuple[str, str, StoredList]]

KEYED: Keyed = [
    ("counter", KeyGroupBlock("count", "value", 3, 2, b"three")),
    ("counter", KeyGroupBlock("count", "value", 40, 1, b"forty")),
    ("counter", KeyGroupBlock("names", "map", 40, 1, b"map of forty")),
    ("joiner", KeyGroupBlock("count", "list", 3, 1, b"another operator's")),
]
LISTS: Lists = [
    ("source", "position", StoredList.of(DistributionMode.SPLIT, [b"offset-1", b"offset-2"])),
    ("source", "empty", StoredList(DistributionMode.UNION)),
    ("counter", "pending", StoredList.of(DistributionMode.UNION, [b""])),
    (
        "counter",
        "buffered",
        StoredList(
            DistributionMode.SPLIT,
            (
                StoredItems((b"old", b""), (b"serializer, version 1",)),
                StoredItems((b"new",), (b"serializer, version 2",)),
            ),
        ),
    ),
    ("counter", "rules", StoredList.of(DistributionMode.BROADCAST, [b"map"], (b"of keys", b"of values"))),
]


def snapshot(keyed: Keyed, lists: Lists) -> bytes:
    target = io.BytesIO()
    writer = SnapshotWriter(target)
    for uid, block in keyed:
        writer.keyed(uid, block)
    for uid, name, stored in lists:
        writer.operator_list(uid, name, stored)
    assert writer.finish() == len(target.getvalue())
    return target.getvalue()


def read_everything(data: bytes) -> tuple[Keyed, Lists]:
    """Read all that is in the file, as the slots of a restored job do together."""
    reader = open_inline(data, NAME)
    keyed = [(op.uid, block) for op in reader.index.operators for block in reader.keyed(op.uid, EVERYTHING)]
    lists: Lists = []
    for op in reader.index.operators:
        for state in op.lists:
            stored = reader.operator_list(op.uid, state.name)
            assert stored is not None
            lists.append((op.uid, state.name, stored))
    return keyed, lists


@pytest.mark.parametrize("data", [b"", b"x", b"three " * 1_000, random.Random(1).randbytes(10_000)])
def test_what_is_compressed_is_read_back_as_it_was(data: bytes) -> None:
    target = io.BytesIO()
    writer = SnapshotWriter(target, compressed=True)
    block = KeyGroupBlock("count", "value", 3, 2, data)
    writer.keyed("counter", block)
    writer.finish()
    assert list(open_inline(target.getvalue(), NAME).keyed("counter", EVERYTHING)) == [block]
    assert len(target.getvalue()) < len(data) / 2 + 300 or len(set(data)) > 100, "random bytes stay as they are"


def test_blocks_are_read_in_the_order_in_which_they_were_written() -> None:
    delta, whole = (
        [KeyGroupBlock("count", "value", group, 1, data, delta=delta) for group in (3, 40)]
        for data, delta in ((b"change", True), (b"all", False))
    )
    written = [delta[0], whole[1], delta[1], whole[0]]  # changes of one key group stand before all of another
    reader = open_inline(snapshot([("counter", block) for block in written], []), NAME)
    assert list(reader.keyed("counter", EVERYTHING)) == written


def test_what_was_written_is_read_back() -> None:
    keyed, lists = read_everything(snapshot(KEYED, LISTS))
    assert sorted(keyed, key=repr) == sorted(KEYED, key=repr)
    assert sorted(lists, key=repr) == sorted(LISTS, key=repr)


def test_a_slot_without_state_writes_a_file_that_can_be_read() -> None:
    assert read_everything(snapshot([], [])) == ([], [])


@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["s", "t"]), st.integers(0, 127), st.binary(max_size=9)),
        unique_by=lambda entry: entry[:3],
        max_size=20,
    ),
    st.dictionaries(
        st.sampled_from(["x", "y"]),
        st.tuples(
            st.sampled_from(DistributionMode),
            st.lists(st.tuples(st.binary(max_size=9), st.sampled_from([(), (b"s",), (b"k", b"v")])), max_size=4),
        ),
    ),
)
def test_any_blocks_and_lists_are_read_back(
    entries: list[tuple[str, str, int, bytes]],
    of_source: dict[str, tuple[DistributionMode, list[tuple[bytes, tuple[bytes, ...]]]]],
) -> None:
    keyed = [(uid, KeyGroupBlock(state, "value", group, 1, data)) for uid, state, group, data in entries]
    lists = [
        ("source", name, StoredList.joined(mode, (StoredItems((item,), written) for item, written in items)))
        for name, (mode, items) in of_source.items()
    ]
    found_keyed, found_lists = read_everything(snapshot(keyed, lists))
    assert sorted(found_keyed, key=repr) == sorted(keyed, key=repr)
    assert sorted(found_lists, key=repr) == sorted(lists, key=repr)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (KeyGroupRange(0, 127), [b"three", b"forty", b"map of forty"]),
        (KeyGroupRange(0, 39), [b"three"]),
        (KeyGroupRange(40, 40), [b"forty", b"map of forty"]),
        (KeyGroupRange(4, 39), []),
        (KeyGroupRange(41, 127), []),
    ],
    ids=str,
)
def test_a_reader_gets_only_the_blocks_of_its_key_groups(own: KeyGroupRange, expected: list[bytes]) -> None:
    reader = open_inline(snapshot(KEYED, LISTS), NAME)
    assert [block.data for block in reader.keyed("counter", own)] == expected


def test_blocks_of_other_key_groups_are_not_even_looked_at() -> None:
    data = snapshot(KEYED, LISTS).replace(b"forty", b"FORTY")
    reader = open_inline(data, NAME)
    assert [block.data for block in reader.keyed("counter", KeyGroupRange(0, 39))] == [b"three"]
    with pytest.raises(CheckpointCorruptError):
        list(reader.keyed("counter", EVERYTHING))


def test_an_operator_or_state_that_is_not_there_has_nothing() -> None:
    reader = open_inline(snapshot(KEYED, LISTS), NAME)
    assert list(reader.keyed("unknown", EVERYTHING)) == []
    assert reader.operator_list("unknown", "position") is None
    assert reader.operator_list("source", "unknown") is None


def test_a_file_on_disk_is_read_as_one_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "slot-0-0"
    path.write_bytes(snapshot(KEYED, LISTS))
    with path.open("rb") as stream:
        reader = SnapshotReader(stream, str(path))
        position = reader.operator_list("source", "position")
        assert position is not None
        assert position.items == [b"offset-1", b"offset-2"]
        assert [block.data for block in reader.keyed("joiner", EVERYTHING)] == [b"another operator's"]


def test_every_flipped_bit_of_every_byte_is_detected_and_the_file_named() -> None:
    data = snapshot(KEYED, LISTS)
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            with pytest.raises(CheckpointCorruptError, match=NAME):
                read_everything(bytes(damaged))


def test_every_byte_replaced_by_any_other_is_detected() -> None:
    data = snapshot(KEYED[:1], LISTS[:1])
    for position in range(len(data)):
        for value in {0, 0xFF, data[position] ^ 0xFF} - {data[position]}:
            damaged = bytearray(data)
            damaged[position] = value
            with pytest.raises(CheckpointCorruptError, match=NAME):
                read_everything(bytes(damaged))


def test_every_truncation_is_detected_and_the_file_named() -> None:
    data = snapshot(KEYED, LISTS)
    for length in range(len(data)):
        with pytest.raises(CheckpointCorruptError, match=rf"{NAME} cannot be read: .*Restore from another checkpoint"):
            read_everything(data[:length])


def test_bytes_added_at_the_end_or_missing_in_the_middle_are_detected() -> None:
    data = snapshot(KEYED, LISTS)
    with pytest.raises(CheckpointCorruptError, match=NAME):
        read_everything(data + b"\0")
    for position in range(6, len(data) - 1):
        with pytest.raises(CheckpointCorruptError, match=NAME):
            read_everything(data[:position] + data[position + 1 :])


def test_a_damaged_block_is_reported_with_state_operator_and_key_group() -> None:
    data = snapshot(KEYED, LISTS).replace(b"map of forty", b"map of FORTY")
    with pytest.raises(CheckpointCorruptError, match="state 'names' of operator 'counter', key group 40"):
        read_everything(data)


def test_an_unknown_version_is_named_beside_the_one_that_can_be_read() -> None:
    data = bytearray(snapshot(KEYED, LISTS))
    assert bytes(data[:4]) == MAGIC
    data[4:6] = (VERSION + 1).to_bytes(2, "little")
    with pytest.raises(CheckpointCorruptError, match=rf"format version {VERSION + 1}, .* and {VERSION}"):
        read_everything(bytes(data))


def test_another_file_is_refused() -> None:
    with pytest.raises(CheckpointCorruptError, match="does not begin as a Rekindle snapshot does"):
        read_everything(b"PAR1" + bytes(100))


WRITTEN_BY_VERSION_3 = bytes.fromhex(
    "524b534e0300646174616974656d6e65787481a96f70657261746f72739183a3756964a175a56b657965649186a46e616d65"
    "a173a46b696e64a576616c7565a6626c6f636b73919505010604ceadf3f363a374746cc3aa6e616d65737061636564c2a564"
    "656c7461c3a56c697374739183a46e616d65a16ca46d6f6465a5756e696f6ea570617274739183ab73657269616c697a6572"
    "7391c40a73657269616c697a6572a76c656e67746873920404a5626c6f636b95ff020a08ceae5172f4ad000000ca84f31152"
    "4b534e"
)


def test_a_file_that_version_3_wrote_can_be_read_for_ever() -> None:
    assert read_everything(WRITTEN_BY_VERSION_3) == (
        [("u", KeyGroupBlock("s", "value", 5, 1, b"data", ttl=True, namespaced=False, delta=True))],
        [("u", "l", StoredList.of(DistributionMode.UNION, [b"item", b"next"], (b"serializer",)))],
    )
