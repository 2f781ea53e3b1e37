"""The files of crash records: what is in them, how many there are, and what damage does to them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.crash_records import (
    CrashContents,
    CrashKind,
    CrashRecordSettings,
    CrashSummary,
    StateTaken,
    crash_names,
    crash_records,
    decode_crash,
    encode_crash,
    read_crash,
    store_crash,
)
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.exceptions import CheckpointCorruptError, CheckpointNotFoundError, CrashRecordError
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.state_serializers import StoredSerializers

JOB = "0" * 32
CONTENTS = CrashContents(
    program=b"program",
    call=b"call",
    blocks=[KeyGroupBlock("s", "value", 3, 1, b"data", serializers=StoredSerializers(b"k", b"v"))],
    timers=[KeyGroupBlock("_event-time-timers", "timers", 3, 1, b"timers", serializers=StoredSerializers(b"k"))],
    lists={"rules": StoredList.of(DistributionMode.BROADCAST, [b"x"], (b"a", b"b"))},
)


def summary(identity: int = 0, state: StateTaken = StateTaken.NONE, **more: Any) -> CrashSummary:
    known: dict[str, Any] = {
        "time": 1_700_000_000_000 + identity,
        "job_id": JOB,
        "operator": "map",
        "uid": "uid",
        "transformation": "MapOperator",
        "subtask": 0,
        "parallelism": 1,
        "max_parallelism": 128,
        "attempt": 0,
        "kind": CrashKind.RECORD,
        "watermark": 0,
        "processing_time": 0,
        "exception": "builtins.ValueError",
        "message": "no",
        "identity": f"{identity:016x}",
        "state": state,
    }
    return CrashSummary(**{**known, **more})


@pytest.fixture
def settings(tmp_path: Path) -> CrashRecordSettings:
    return CrashRecordSettings(LocalCheckpointFiles(str(tmp_path)), max_number=3)


def test_a_crash_record_is_read_as_it_was_written() -> None:
    written = summary(timestamp=5, lines=("a.py:1",), left_out=("x",))
    assert decode_crash(encode_crash(written, CONTENTS), "x") == (written, CONTENTS)


def test_every_byte_that_is_damaged_is_noticed() -> None:
    data = encode_crash(summary(), CONTENTS)
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x41
        with pytest.raises(CheckpointCorruptError, match="crash record x cannot be read"):
            decode_crash(bytes(damaged), "x")
        with pytest.raises(CheckpointCorruptError):
            decode_crash(data[:place], "x")


def test_one_of_a_later_version_is_said_to_be_that() -> None:
    data = bytearray(encode_crash(summary(), CONTENTS))
    data[5] += 1
    with pytest.raises(CheckpointCorruptError, match="format version 2, and this release reads version 1"):
        decode_crash(bytes(data), "x")


def test_a_failure_that_comes_back_is_not_written_again(settings: CrashRecordSettings) -> None:
    assert store_crash(settings, summary(1), CONTENTS) is not None
    assert store_crash(settings, summary(1, time=1_800_000_000_000), CONTENTS) is None
    assert len(crash_names(settings.files, JOB)) == 1


def test_one_with_the_state_from_before_replaces_one_with_the_state_from_after(settings: CrashRecordSettings) -> None:
    store_crash(settings, summary(1, StateTaken.AFTER), CONTENTS)
    assert store_crash(settings, summary(1, StateTaken.AFTER, attempt=1), CONTENTS) is None
    assert store_crash(settings, summary(1, StateTaken.BEFORE, attempt=2), CONTENTS) is not None
    assert store_crash(settings, summary(1, StateTaken.BEFORE, attempt=3), CONTENTS) is None
    (stored,) = crash_records(settings.files.root)
    assert stored.summary is not None
    assert stored.summary.attempt == 2


def test_the_newest_are_kept(settings: CrashRecordSettings) -> None:
    for identity in range(10):
        store_crash(settings, summary(identity), CONTENTS)
        assert len(crash_names(settings.files, JOB)) <= 3
    assert [name.identity[-1] for name in crash_names(settings.files, JOB)] == ["7", "8", "9"]


def test_they_are_found_from_the_directory_of_the_job_and_from_those_around_it(
    settings: CrashRecordSettings, tmp_path: Path
) -> None:
    path = store_crash(settings, summary(1), CONTENTS)
    (tmp_path / JOB / "chk-1").mkdir()
    (tmp_path / "a file").touch()
    for directory in (tmp_path, tmp_path / JOB, tmp_path / JOB / "crashes"):
        assert [stored.path for stored in crash_records(str(directory))] == [path]
    assert [stored.path for stored in crash_records(f"file://{tmp_path}")] == [path]
    assert crash_records(str(tmp_path / "nowhere")) == []


def test_one_that_is_damaged_is_listed_as_that(settings: CrashRecordSettings) -> None:
    path = store_crash(settings, summary(1), CONTENTS)
    store_crash(settings, summary(2), CONTENTS)
    assert path is not None
    Path(path).write_bytes(b"RKCR")
    good, bad = crash_records(settings.files.root)
    assert (good.problem, bad.summary, bad.path) == (None, None, path)
    assert "too short" in str(bad.problem)


def test_listing_them_runs_no_code(settings: CrashRecordSettings) -> None:
    harmful = b"cos\n_exit\n(I1\ntR."  # a pickle that ends the process
    store_crash(settings, summary(1), CrashContents(program=harmful, call=harmful))
    assert len(crash_records(settings.files.root)) == 1


@pytest.mark.parametrize("path", ["s3://bucket/crash", "hdfs://host/crash", "http://host/crash"])
def test_one_that_is_elsewhere_is_not_opened(path: str) -> None:
    with pytest.raises(CrashRecordError, match="is not on this machine"):
        read_crash(path)


def test_a_directory_or_nothing_at_all_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(CrashRecordError, match="Is a directory; give the path of one file"):
        read_crash(str(tmp_path))
    with pytest.raises(CheckpointNotFoundError, match="there is no crash record"):
        read_crash(str(tmp_path / "nothing"))


def test_a_pipe_is_refused_without_waiting_for_what_writes_to_it(tmp_path: Path) -> None:
    pipe = tmp_path / "crash"
    os.mkfifo(pipe)
    refused: list[str] = []

    def read() -> None:
        with pytest.raises(CrashRecordError) as error:
            read_crash(str(pipe))
        refused.append(str(error.value))

    reading = threading.Thread(target=read, daemon=True)
    reading.start()
    reading.join(10)
    assert refused == [f"cannot read {pipe}: it is not a file; give the path of one, as rekindle crashes lists them"], (
        "it is still waiting"
    )


def test_a_pipe_of_somebody_else_is_refused_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "crash"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)  # so that opening it does not wait in any case
    monkeypatch.setattr("rekindle.checkpoint.crash_records.is_trusted", lambda owner: False)
    try:
        with pytest.raises(CrashRecordError, match="belongs to"):
            read_crash(str(pipe))
    finally:
        os.close(writer)
