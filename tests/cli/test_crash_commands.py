"""``rekindle crashes`` and ``rekindle reproduce``."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rekindle.exceptions import JobExecutionError
from rekindle.testing import local_environment
from support import crash_programs
from support.command_line import TIMEOUT, rekindle_command, rekindle_here
from support.kept_jobs import keep


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints"


def crash(directory: Path, program: str = "value", restarts: int = 1, **settings: str) -> None:
    env = local_environment(
        1,
        {
            "execution.checkpointing.dir": str(directory),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(restarts),
            "restart-strategy.fixed-delay.delay": "1 ms",
            **settings,
        },
    )
    crash_programs.PROGRAMS[program](env.from_collection(crash_programs.RECORDS)).uid("count").print()
    with pytest.raises(JobExecutionError):
        env.execute("crashing")


def only_path(directory: Path) -> str:
    (found,) = rekindle_here("crashes", str(directory), "--json").json()["crashes"]
    path: str = found["path"]
    return path


class TestCrashes:
    def test_they_are_listed_by_directory_and_by_job(self, directory: Path) -> None:
        crash(directory)
        by_directory = rekindle_here("crashes", str(directory))
        assert by_directory.code == 0
        row = by_directory.out.splitlines()[-1]
        assert "KEYED PROCESS" in row
        assert "record ('a', 3) of key 'a'" in row
        assert "ValueError: 3 of a: ('a', 3)" in row
        assert row.endswith(only_path(directory))
        assert row.split()[4:6] == ["0", "2"], "the subtask, and the attempt as the log counts them: from 1"
        assert rekindle_here("crashes", "crashing").out == by_directory.out

    def test_as_json_all_is_there_but_the_record_itself(self, directory: Path) -> None:
        crash(directory)
        (found,) = rekindle_here("crashes", str(directory), "--json").json()["crashes"]
        expected = {
            "operator": "KEYED PROCESS",
            "uid": "count",
            "subtask": 0,
            "attempt": 1,
            "kind": "record",
            "key": "'a'",
            "record": "('a', 3)",
            "exception": "builtins.ValueError",
            "message": "3 of a: ('a', 3)",
            "state": "before",
            "states": ["seen"],
            "left_out": [],
            "problem": None,
        }
        assert {name: found[name] for name in expected} == expected

    def test_where_there_are_none_it_says_so(self, tmp_path: Path) -> None:
        ended = rekindle_here("crashes", str(tmp_path))
        assert (ended.code, ended.out) == (0, "there are no crash records\n")
        assert rekindle_here("crashes", str(tmp_path), "--json").json() == {"crashes": []}

    def test_what_does_not_exist_is_not_found(self, tmp_path: Path) -> None:
        assert rekindle_here("crashes", str(tmp_path / "nothing")).code == 3
        assert rekindle_here("crashes", "nothing").code == 3
        assert rekindle_here("reproduce", str(tmp_path / "nothing")).code == 3

    def test_a_job_whose_checkpoints_are_in_memory_has_none(self) -> None:
        keep("aaaa", job_name="orders")
        ended = rekindle_here("crashes", "orders")
        assert ended.code == 1
        assert "writes no crash records: its checkpoints are in memory" in ended.err


class TestReproduce:
    def test_it_prints_the_traceback_and_succeeds_if_it_is_the_same(self, directory: Path) -> None:
        crash(directory)
        ended = rekindle_here("reproduce", only_path(directory))
        assert (ended.code, ended.err) == (0, "")
        lines = ended.out.splitlines()
        assert lines[0] == "operator 'KEYED PROCESS' (uid count), subtask 0, attempt 2"
        assert lines[1].startswith("at record ('a', 3) of key 'a', ")
        assert lines[-3:] == ["ValueError: 3 of a: ('a', 3)", "", "same exception"]
        assert not [line for line in lines if "/rekindle/runtime/" in line]

    def test_it_fails_and_says_why_if_it_is_not_the_same(self, directory: Path) -> None:
        crash(directory, restarts=0)
        ended = rekindle_here("reproduce", only_path(directory))
        assert ended.code == 1
        assert ended.out.splitlines()[2:4] == ["no exception", "  in the job: builtins.ValueError: 3 of a: ('a', 3)"]
        assert "The state is from after the function raised" in ended.out

    def test_as_json_the_two_are_compared(self, directory: Path) -> None:
        crash(directory)
        document = rekindle_here("reproduce", only_path(directory), "--json").json()
        assert document["outcome"] == "same"
        assert document["recorded"] == {name: document[name] for name in ("exception", "message", "lines")}

    def test_another_exception_is_said_to_be_one(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        crash(directory)

        def other(self: Any, value: Any, ctx: Any) -> None:
            raise ValueError("other")

        monkeypatch.setattr(crash_programs.Values, "process_element", other)
        ended = rekindle_here("reproduce", only_path(directory))
        assert ended.code == 1
        assert "another exception\n  text: 3 of a: ('a', 3) in the job, other here\n  line: " in ended.out

    def test_one_that_is_elsewhere_is_refused(self) -> None:
        ended = rekindle_here("reproduce", "s3://bucket/crash")
        assert ended.code == 1
        assert "s3://bucket/crash is not on this machine" in ended.err

    def test_the_debugger_and_json_do_not_go_together(self) -> None:
        assert rekindle_here("reproduce", "x", "--pdb", "--json").code == 2

    @pytest.mark.parametrize(
        ("program", "asked", "answer"),
        [
            ("reducing and aggregating", "p ('at', value, accumulator)", "('at', 3, (3, 2))"),
            ("in a library", "p ('at', value)", "('at', ('b', 10))"),
        ],
    )
    def test_the_debugger_opens_in_the_frame_of_the_function(
        self, directory: Path, program: str, asked: str, answer: str
    ) -> None:
        crash(directory, program)
        ended = subprocess.run(
            rekindle_command("reproduce", only_path(directory), "--pdb"),
            input=f"{asked}\nq\n",
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            env={**os.environ, "COLUMNS": "200"},
        )
        assert ended.returncode == 0, ended.stderr
        assert answer in ended.stdout
