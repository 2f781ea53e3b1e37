"""Output that cannot be written is dropped or escaped, which is said once, and never raised."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.logs import standard_streams
from rekindle.logs.standard_streams import write_output


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(standard_streams, "_said", set())
    monkeypatch.setattr(standard_streams, "_broken", [])
    yield
    standard_streams.atexit.unregister(standard_streams._end_quietly)


class Full(io.StringIO):
    """A stream on a disk without room."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def of_bytes(encoding: str) -> tuple[io.BytesIO, io.TextIOWrapper]:
    raw = io.BytesIO()
    return raw, io.TextIOWrapper(raw, encoding=encoding)


@pytest.mark.parametrize(
    ("encoding", "text", "written"),
    [
        ("ascii", "Zürich\n", b"Z\\xfcrich\n"),
        ("latin-1", "Zürich 東\n", b"Z\xfcrich \\u6771\n"),
        ("utf-8", "Zürich\n", "Zürich\n".encode()),
        ("utf-8", b"odd \xff byte\n".decode("utf-8", "surrogateescape"), b"odd \\xff byte\n"),
    ],
)
def test_what_an_encoding_lacks_is_escaped(encoding: str, text: str, written: bytes) -> None:
    raw, stream = of_bytes(encoding)
    write_output(stream, text)
    assert raw.getvalue() == written


def test_it_is_said_once_for_each_stream(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    _, stream = of_bytes("ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    for _ in range(3):
        write_output(stream, "ü")
    (said,) = caplog.messages
    assert said.startswith("standard output cannot show all that jobs print; the rest is escaped, and the jobs go on: ")


@pytest.mark.parametrize("broken", ["full", "closed", "none", "odd"])
def test_what_cannot_be_written_is_dropped(
    broken: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream: io.TextIOBase | None = {"full": Full(), "closed": io.StringIO(), "none": None, "odd": Full()}[broken]
    if broken == "closed":
        assert stream is not None
        stream.close()
    if broken == "odd":
        monkeypatch.setattr(Full, "write", lambda self, text: 1 / 0)
    monkeypatch.setattr(sys, "stdout", stream)
    for _ in range(3):
        write_output(stream, "text")  # type: ignore[arg-type]
    (said,) = caplog.messages
    assert "the rest is dropped, and the jobs go on: " in said


def test_if_standard_error_is_the_broken_one_standard_output_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "stderr", Full())
    for _ in range(3):
        write_output(sys.stderr, "text")
    (line,) = shown.getvalue().splitlines()
    assert line.startswith("WARNING standard error cannot show all that jobs print; the rest is dropped")


PROGRAM = """\
import logging, sys
from rekindle.logs.setup import LogSettings, set_up_logging
from rekindle.logs.standard_streams import write_output

set_up_logging(LogSettings())
for number in range(5000):
    write_output(sys.stdout, f"a line of text, number {number}\\n")
    logging.getLogger("rekindle").info("a line of the log")
"""


@pytest.mark.parametrize("out", ["full", "pipe"])
@pytest.mark.parametrize("error", ["full", "pipe", "read"])
def test_a_program_whose_output_is_broken_ends_well(out: str, error: str, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    to = {"full": "> /dev/full", "pipe": "| head -1"}
    err = {"full": "2> /dev/full", "pipe": "2> >(head -1 > /dev/null)", "read": f"2> {errors}"}
    command = f'set -o pipefail; {sys.executable} -c "$PROGRAM" {err[error]} {to[out]}'
    ended = subprocess.run(
        ["bash", "-c", command], env={"PROGRAM": PROGRAM}, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    if out == "pipe":
        assert ended.stdout == "a line of text, number 0\n"
    if error == "read":
        lines = errors.read_text().splitlines()
        assert len([line for line in lines if "standard output cannot show all that jobs print" in line]) == 1
        assert len([line for line in lines if line.endswith("a line of the log")]) == 5000
        assert len(lines) == 5001, "neither a traceback nor a complaint at the end of the process"
