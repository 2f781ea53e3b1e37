"""The log of a detached program: written to several files in turn, and read across them."""

from __future__ import annotations

import errno
import os
import random
import resource
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from rekindle.cli import log_writer
from rekindle.cli.log_reader import LogReader, last_lines
from rekindle.cli.log_writer import LogWriter
from support.seeds import seeds


def contents(path: Path) -> bytes:
    with closing(LogReader(str(path))) as reader:
        return b"".join(reader.read())


def files(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_files_are_exchanged_between_two_lines_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "log"), 10, 3)
    for number in range(8):
        writer.write(b"line %d\n" % number)  # 7 bytes: two make a file
    assert files(tmp_path / "log") == {
        "log": b"line 6\nline 7\n",
        "log.1": b"line 4\nline 5\n",
        "log.2": b"line 2\nline 3\n",
    }


@pytest.mark.parametrize(
    ("limit", "kept", "expected"),
    [
        (0, 3, {"log": b"aaaaaaaaaaaa\nb\nc\n"}),
        (5, 1, {"log": b"b\nc\n"}),
        (5, 2, {"log": b"b\nc\n", "log.1": b"aaaaaaaaaaaa\n"}),
    ],
)
def test_limits(tmp_path: Path, limit: int, kept: int, expected: dict[str, bytes]) -> None:
    writer = LogWriter(str(tmp_path / "log"), limit, kept)
    for data in (b"aaaaaa", b"aaaaaa\nb", b"\nc\n"):
        writer.write(data)
    assert files(tmp_path / "log") == expected


def test_what_a_full_disk_loses_is_said_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, write = [False], os.write

    def write_if_there_is_room(descriptor: int, data: bytes) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(log_writer.os, "write", write_if_there_is_room)
    writer = LogWriter(str(tmp_path / "log"), 0, 1)
    for line in (b"one\n", b"two\n", b"three\n", b"four\n", b"five\n"):
        full[0] = line.startswith(b"t")
        writer.write(line)
    missing = b"\n(10 bytes of output are missing here: they could not be written)\n"
    assert (tmp_path / "log").read_bytes() == b"one\n" + missing + b"four\nfive\n"


def test_a_log_without_room_is_an_error_before_the_program_starts(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("open('started', 'w')")
    ended = subprocess.run(
        [sys.executable, "-m", "rekindle.cli", "run", "-d", "program.py"],
        cwd=tmp_path,
        env=os.environ | {"REKINDLE_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)),  # stands for a full disk
        check=False,
    )
    assert ended.returncode == 2
    assert "error: the log cannot be written to" in ended.stderr
    assert "Give another file with --log, or set REKINDLE_STATE_DIR" in " ".join(ended.stderr.split())
    assert not (tmp_path / "started").exists()


def test_a_line_without_an_end_does_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_writer, "_LONGEST_LINE", 20)
    writer = LogWriter(str(tmp_path / "log"), 10, 2)
    for _ in range(10):
        writer.write(b"xxxxxxxxx")
    assert sum(map(len, files(tmp_path / "log").values())) <= 60


def test_a_disk_that_cannot_be_written_to_is_no_end(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "not" / "there" / "log"), 10, 2)
    writer.write(b"lost\n" * 10)
    (tmp_path / "not" / "there").mkdir(parents=True)
    writer.write(b"written\n")
    assert (tmp_path / "not" / "there" / "log").read_bytes().endswith(b"not be written)\nwritten\n")


def test_the_process_writes_all_that_comes_and_ends_with_it(tmp_path: Path) -> None:
    lines = b"".join(b"%d\n" % number for number in range(100_000))
    command = [sys.executable, "-I", "-S", log_writer.__file__, str(tmp_path / "log"), "100000", "20"]
    subprocess.run(command, input=lines, check=True, timeout=60)
    assert len(files(tmp_path / "log")) == 6
    assert contents(tmp_path / "log") == lines


@pytest.mark.parametrize("seed", seeds(10))
def test_a_reader_that_keeps_up_gets_every_byte_once_and_one_that_does_not_gets_what_is_kept(
    tmp_path: Path, seed: int
) -> None:
    random_ = random.Random(seed)
    path = str(tmp_path / "log")
    writer, reader = LogWriter(path, 50, 4), LogReader(path)
    written = read = b""
    since = 0
    for number in range(300):
        data = b"line %d%s\n" % (number, b"!" * random_.randrange(20))
        writer.write(data)
        written += data
        since += len(data)
        if random_.random() < 0.2 or since > 100:  # at most two files behind
            read += b"".join(reader.read())
            since = 0
    read += b"".join(reader.read())
    assert read == written
    for number in range(300):
        writer.write(b"more %d\n" % number)
    rest = b"".join(reader.read())
    assert rest.endswith(contents(tmp_path / "log")), "and before it what was added to the file that it had open"
    reader.close()
    assert rest.endswith(b"more 299\n")


def test_a_log_that_is_not_there_yet_is_read_when_it_is(tmp_path: Path) -> None:
    reader = LogReader(str(tmp_path / "log"))
    assert list(reader.read()) == []
    (tmp_path / "log").write_bytes(b"a\n")
    assert list(reader.read()) == [b"a\n"]
    os.rename(tmp_path / "log", tmp_path / "log.1")  # and the next one is not begun yet
    assert list(reader.read()) == []
    (tmp_path / "log").write_bytes(b"b\n")
    assert list(reader.read()) == [b"b\n"]
    reader.close()


@pytest.mark.parametrize(
    ("chunks", "count", "shown"),
    [
        ([b"a\nb\nc\n"], 2, b"b\nc\n"),
        ([b"a\nb", b"b\nc"], 2, b"bb\nc"),
        ([b"a\r\nb\n"], 1, b"b\n"),
        ([b"a\n", b"", b"b\n"], 5, b"a\nb\n"),
        ([b"a\n", b"b\n"], 0, b"a\nb\n"),
        ([], 3, b""),
    ],
)
def test_the_last_lines(chunks: list[bytes], count: int, shown: bytes) -> None:
    assert last_lines(chunks, count) == shown
