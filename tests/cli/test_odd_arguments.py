"""Whatever stands on a command line: the command ends with a code and a sentence, and no traceback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from rekindle.cli.exit_codes import ExitCode
from support.command_line import Ended, rekindle, rekindle_command, rekindle_here
from support.fake_rest import FakeJob, FakeRest, serving
from support.odd_text import any_text
from support.snapshot_job import take_snapshot

ORDERS = "5f1c".ljust(32, "0")
CODES = set(map(int, ExitCode)) - {ExitCode.INTERRUPTED}
FIXTURES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("REKINDLE_TOKEN", raising=False)


@pytest.fixture(scope="module")
def rest() -> Iterator[FakeRest]:
    with serving(FakeRest(FakeJob(ORDERS))) as server:
        yield server


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    stored = take_snapshot(tmp_path_factory.mktemp("job"), "canonical")
    assert stored.files is not None
    return stored.files.describe(stored.directory)


def is_sentence(ended: Ended) -> bool:
    """Return whether a command says why it has not done what it was asked to."""
    return ended.code == 0 or ("error: " in ended.err and "Traceback" not in ended.err)


WITHOUT_JOB = [
    ["list", "-m"],
    ["list", "-m", "127.0.0.1:1", "--token"],
    ["savepoint"],
    ["stop"],
    ["cancel"],
    ["checkpoints"],
    ["state"],
    ["dispose", "-y"],
    ["config"],
    ["config", "-D"],
    ["run"],
    ["run", "-p"],
    ["run", "-s"],
    ["run", "--claim-mode"],
    ["run", "--log"],
    ["info"],
    ["info", "-p"],
]


@FIXTURES
@given(st.sampled_from(WITHOUT_JOB), any_text)
@example(["list", "-m", "127.0.0.1:1", "--token"], "a\nb")
@example(["list", "-m"], "\udcff")
def test_any_argument_ends_a_command_well(command: list[str], text: str) -> None:
    assume(command[0] not in ("run", "info") or not os.path.exists(text))
    ended = rekindle_here(*command, text)
    assert ended.code in CODES
    assert is_sentence(ended)


@FIXTURES
@given(st.sampled_from(["-o", "-s", "-k", "--limit"]), any_text)
@example("-k", "[" * 5_000)
def test_any_name_and_key_is_looked_for_in_a_snapshot(savepoint: str, option: str, text: str) -> None:
    ended = rekindle_here("state", savepoint, option, text)
    assert ended.code in CODES
    assert is_sentence(ended)


@FIXTURES
@given(any_text)
@example("\udcff")
@example("a\nb")
def test_a_directory_reaches_the_job_as_it_was_given_or_not_at_all(rest: FakeRest, text: str) -> None:
    assume(not text.startswith("-"))
    before = len(rest.requests)
    ended = rekindle_here("savepoint", "orders", text, "--detached", "-m", rest.address)
    assert is_sentence(ended)
    sent = [request.body for request in rest.requests[before:] if request.method == "POST"]
    if ended.code == 0:
        assert [body["target-directory"] for body in sent] == [text]
    else:
        assert ended.code == ExitCode.USAGE
        assert sent == []


def test_a_number_that_no_checkpoint_has_is_refused(rest: FakeRest) -> None:
    for text in ("-1", "1.5", "nan", "0x10", "9" * 100, "\u0661"):
        assert rekindle_here("checkpoints", "orders", text, "-m", rest.address).code != 0


def test_a_file_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("")
    missing = str(tmp_path / "missing" / "job.log")
    ended = rekindle_here("run", "-d", "--log", missing, str(program))
    assert ended.code == ExitCode.USAGE
    assert f"error: the log cannot be written to {missing}: No such file or directory" in ended.err
    program.write_text(
        "from rekindle.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).print()\n"
        "env.execute()\n"
    )
    (tmp_path / "dot").write_text("#!/bin/sh\necho '<svg/>'\n")
    (tmp_path / "dot").chmod(0o755)
    ended = rekindle("info", "--svg", missing, str(program), PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ended.code == ExitCode.FAILED
    assert f"error: [Errno 2] No such file or directory: {missing!r}" in ended.err


def test_a_name_that_is_no_text_is_printed_as_json() -> None:
    """In a process, whose standard output is strict where a locale asks for it."""
    command = [os.fsencode(part) for part in rekindle_command("savepoint", "--json")] + [b"\xff"]
    ended = subprocess.run(
        command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"}, check=False
    )
    assert ended.returncode == ExitCode.NOT_FOUND, ended.stderr
    assert b"Traceback" not in ended.stderr
