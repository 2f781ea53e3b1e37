"""The metadata file of a checkpoint: what is written is read back, and nothing damaged is taken for good."""

from __future__ import annotations

import struct
import zlib

import msgspec
import pytest

from rekindle.checkpoint.metadata import (
    MAGIC,
    VERSION,
    CheckpointMetadata,
    ListStateMetadata,
    NativeState,
    OperatorMetadata,
    SourceLog,
    SourcePosition,
    StagedRows,
    StateHandle,
    StoredFile,
    decode_metadata,
    encode_metadata,
)
from rekindle.exceptions import CheckpointCorruptError
from rekindle.state.operator_state.stored import DistributionMode

NAME = "/checkpoints/job/chk-7/_metadata"


def operator(
    keyed_states: list[str] | None = None, list_states: dict[str, list[int]] | None = None
) -> OperatorMetadata:
    lists = {name: ListStateMetadata(DistributionMode.UNION, counts) for name, counts in (list_states or {}).items()}
    return OperatorMetadata("uid-1", "Counter", 2, 128, keyed_states or [], lists)


ROWS = StoredFile(90, 0, path="../shared/rows-0-abc-0.parquet", shared=True)
OTHER_ROWS = StoredFile(91, 0, path="rows-0-abc-1.parquet")  # as a savepoint refers to them
FULL = CheckpointMetadata(
    checkpoint_id=7,
    job_id="0123456789abcdef",
    job_name="wörd count",
    timestamp=1_700_000_000_123,
    epoch=42,
    operators=[
        operator(["count", "names"], {"position": [1, 0]}),
        OperatorMetadata("uid-2", "Table", 1, 128, [], {}, [StagedRows(6, 12, ROWS), StagedRows(7, 1, OTHER_ROWS)]),
    ],
    handles=[
        StateHandle(0, StoredFile(1234, 99, path="slot-0-1"), written=1234),
        StateHandle(
            1,
            StoredFile(3, 98, inline=b"\0\1\2"),
            before=[StoredFile(20, 97, path="../shared/5-1-0-state", shared=True)],
            native=[NativeState("uid-1", {"7.sst": StoredFile(400, 96, path="../shared/6-1-0-7.sst", shared=True)})],
            written=3,
        ),
    ],
    positions=[
        SourcePosition("files", ['{"logOffset":3}', "-"], [SourceLog(0, {"3.compact": b"v1\n"})]),
        SourcePosition("table", [], [], consumed=True),
    ],
    savepoint=True,
)
EMPTY = CheckpointMetadata(1, "j", "n", 0, 0, [], [], [])


@pytest.mark.parametrize("metadata", [FULL, EMPTY], ids=["full", "empty"])
def test_what_was_written_is_read_back(metadata: CheckpointMetadata) -> None:
    assert decode_metadata(encode_metadata(metadata), NAME) == metadata


def test_every_flipped_bit_of_every_byte_is_detected_and_the_file_named() -> None:
    data = encode_metadata(FULL)
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            with pytest.raises(CheckpointCorruptError, match=NAME):
                decode_metadata(bytes(damaged), NAME)


def test_every_truncation_is_detected_and_the_file_named() -> None:
    data = encode_metadata(FULL)
    for length in range(len(data)):
        with pytest.raises(CheckpointCorruptError, match=rf"{NAME} cannot be read: .*Restore from another checkpoint"):
            decode_metadata(data[:length], NAME)


def test_bytes_added_at_the_end_are_detected() -> None:
    with pytest.raises(CheckpointCorruptError, match="checksum"):
        decode_metadata(encode_metadata(FULL) + b"\0", NAME)


def test_an_unknown_version_is_named_beside_the_one_that_can_be_read() -> None:
    data = bytearray(encode_metadata(FULL))
    assert bytes(data[:4]) == MAGIC
    data[4:6] = (VERSION + 1).to_bytes(2, "little")
    with pytest.raises(CheckpointCorruptError, match=rf"format version {VERSION + 1}, .* and {VERSION}"):
        decode_metadata(bytes(data), NAME)


def test_another_file_is_refused() -> None:
    with pytest.raises(CheckpointCorruptError, match="does not begin as a Rekindle checkpoint does"):
        decode_metadata(b"PAR1" + bytes(100), NAME)


def test_a_whole_file_that_holds_something_else_is_refused() -> None:
    body = b"\x93\x01\x02\x03"  # msgpack for [1, 2, 3]
    data = struct.pack("<4sHI", MAGIC, VERSION, zlib.crc32(body, VERSION)) + body
    with pytest.raises(CheckpointCorruptError, match=NAME) as info:
        decode_metadata(data, NAME)
    assert info.value.__cause__ is not None


@pytest.mark.parametrize(
    ("described", "stateful"),
    [
        (operator(), False),
        (operator(keyed_states=["count"]), True),
        (operator(list_states={"position": [0, 0]}), False),
        (operator(list_states={"position": [0, 1]}), True),
    ],
)
def test_an_operator_is_stateful_when_there_is_anything_to_restore(described: OperatorMetadata, stateful: bool) -> None:
    assert described.stateful is stateful


def test_the_state_size_is_that_of_all_slots() -> None:
    assert FULL.state_size == 1234 + 3 + 20 + 400


def test_the_written_size_counts_what_was_stored_for_this_checkpoint_only() -> None:
    assert FULL.written_size == 1237


def test_the_shared_files_are_those_of_all_slots_and_all_their_parts() -> None:
    shared = ["../shared/5-1-0-state", "../shared/6-1-0-7.sst", "../shared/rows-0-abc-0.parquet"]
    assert [file.path for file in FULL.shared_files()] == shared


def test_rows_that_wait_for_their_commit_are_something_to_restore() -> None:
    assert FULL.has_staged_rows
    assert FULL.operators[1].stateful
    assert not EMPTY.has_staged_rows


WRITTEN_BY_VERSION_3 = bytes.fromhex(
    "524b4d4403003c00204a89ad636865636b706f696e745f696401a66a6f625f6964a16aa86a6f625f6e616d65a16ea974696d"
    "657374616d7000a565706f636800a96f70657261746f72739186a3756964a175a46e616d65a16fab706172616c6c656c6973"
    "6d02af6d61785f706172616c6c656c69736dcc80ac6b657965645f73746174657391a173ab6c6973745f73746174657381a1"
    "6c82a46d6f6465a5756e696f6ea6636f756e7473920100a768616e646c65739185a4736c6f7400a466696c6585a473697a65"
    "05a363726307a470617468a8736c6f742d302d30a6696e6c696e65c0a6736861726564c2a66265666f72659185a473697a65"
    "09a363726308a470617468b52e2e2f7368617265642f302d302d302d7374617465a6696e6c696e65c0a6736861726564c3a6"
    "6e617469766590a77772697474656e05a9706f736974696f6e7390a973617665706f696e74c2"
)


def test_a_file_that_version_3_wrote_can_be_read_for_ever() -> None:
    file = StoredFile(5, 7, path="slot-0-0")
    before = StoredFile(9, 8, path="../shared/0-0-0-state", shared=True)
    described = OperatorMetadata("u", "o", 2, 128, ["s"], {"l": ListStateMetadata(DistributionMode.UNION, [1, 0])})
    written = CheckpointMetadata(1, "j", "n", 0, 0, [described], [StateHandle(0, file, [before], written=5)], [])
    assert decode_metadata(WRITTEN_BY_VERSION_3, NAME) == written


@pytest.mark.parametrize("version", [1, 2])
def test_versions_that_were_never_released_are_refused_by_their_number(version: int) -> None:
    data = bytearray(WRITTEN_BY_VERSION_3)
    data[4:6] = version.to_bytes(2, "little")
    with pytest.raises(CheckpointCorruptError, match=f"format version {version}, and .* versions 3 and 4"):
        decode_metadata(bytes(data), NAME)


@pytest.mark.parametrize(
    "file",
    [
        StoredFile(1, 0, path="/etc/passwd"),
        StoredFile(1, 0, path="file:///etc/passwd"),
        StoredFile(1, 0, path="sub/slot-0-0"),
        StoredFile(1, 0, path="../shared/5-1-0-state"),
        StoredFile(1, 0, path="_metadata"),
        StoredFile(1, 0, path="slot-0-0\n"),
        StoredFile(1, 0, path="../shared/../../letter", shared=True),
        StoredFile(1, 0, path="../shared/letter", shared=True),
        StoredFile(1, 0, path="slot-0-0", shared=True),
        StoredFile(-1, 0, path="slot-0-0"),
    ],
    ids=repr,
)
def test_metadata_that_points_to_anything_but_files_of_state_is_refused(file: StoredFile) -> None:
    with pytest.raises(CheckpointCorruptError, match=NAME):
        decode_metadata(encode_metadata(msgspec.structs.replace(EMPTY, handles=[StateHandle(0, file)])), NAME)


@pytest.mark.parametrize("name", ["../letter", "/etc/passwd", "..", "", "a/b", "a\n"])
def test_metadata_with_names_that_lead_elsewhere_when_they_are_copied_is_refused(name: str) -> None:
    native = StateHandle(0, StoredFile(0, 0, inline=b""), native=[NativeState("u", {name: StoredFile(0, 0)})])
    log = SourcePosition("files", [], [SourceLog(0, {name: b""})])
    for change in ({"handles": [native]}, {"positions": [log]}):
        with pytest.raises(CheckpointCorruptError, match="which is not named as one of it is"):
            decode_metadata(encode_metadata(msgspec.structs.replace(EMPTY, **change)), NAME)
