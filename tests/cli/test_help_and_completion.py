"""Help without Python's types, and what a shell offers."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rekindle.cli.app import app
from rekindle.cli.completion import complete_known_job, complete_running_job
from support.command_line import rekindle_command, rekindle_here
from support.kept_jobs import START, keep

ROOT: Any = get_command(app)


@pytest.mark.parametrize("command", ["", *sorted(ROOT.commands)])
def test_help_names_what_is_to_be_given_and_no_types(command: str) -> None:
    ended = rekindle_here(*command.split(), "--help")
    assert ended.code == 0
    assert not re.findall(r"<\w+|\{[A-Z]|INTEGER|TEXT|BOOLEAN", ended.out)
    assert "..." not in ended.out.replace("]...", ""), "nothing is cut off"
    for parameter in ROOT.commands[command].params if command else ():
        if not getattr(parameter, "hidden", False):
            assert parameter.opts[0] in ended.out or (parameter.metavar or "") in ended.out


def test_the_usage_tells_what_may_be_left_out() -> None:
    assert "Usage: rekindle run [OPTIONS] PROGRAM [ARGS]...\n" in rekindle_here("run", "--help").out
    assert "Usage: rekindle savepoint [OPTIONS] JOB [DIR]\n" in rekindle_here("savepoint", "--help").out


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))


@pytest.fixture
def jobs() -> None:
    keep("aaaa", job_name="orders")
    keep("bbbb", job_name="my orders", started=START + 1)
    keep("cccc", job_name="payments", status="FAILED", ended=START, started=START + 2)


@pytest.mark.usefixtures("jobs")
class TestJobs:
    def test_names_of_running_jobs_are_offered_and_ids_of_those_that_need_quotes(self) -> None:
        assert complete_running_job("") == [
            ("orders", "RUNNING " + "aaaa".ljust(32, "0")),
            ("bbbb".ljust(32, "0"), "RUNNING my orders"),
        ]

    def test_ids_are_offered_when_one_was_begun(self) -> None:
        assert complete_running_job("AA") == [("aaaa".ljust(32, "0"), "RUNNING orders")]
        assert complete_running_job("or") == [("orders", "RUNNING " + "aaaa".ljust(32, "0"))]
        assert complete_running_job("x") == []

    def test_jobs_that_have_ended_are_offered_where_they_can_be_meant(self) -> None:
        assert [name for name, _ in complete_known_job("")] == ["payments", "orders", "bbbb".ljust(32, "0")]

    def test_an_archive_that_cannot_be_read_offers_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REKINDLE_STATE_DIR", "/proc/self/mem")
        assert complete_known_job("") == complete_running_job("") == []

    @pytest.mark.parametrize(
        ("words", "offered"),
        [
            ("rekindle ca", ["cancel"]),
            ("rekindle cancel ", ["orders", "bbbb".ljust(32, "0")]),
            ("rekindle stop ord", ["orders"]),
            ("rekindle logs cc", ["cccc".ljust(32, "0")]),
            ("rekindle list --a", ["--all"]),
        ],
    )
    def test_a_shell_is_told(self, words: str, offered: list[str]) -> None:
        asked = {"_REKINDLE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        ended = subprocess.run(
            rekindle_command(), capture_output=True, text=True, env={**os.environ, **asked}, check=False, timeout=60
        )
        assert (ended.stdout.split(), ended.stderr) == (offered, "")


def test_the_script_for_a_shell_is_printed() -> None:
    from_bash = ["bash", "-c", '"$@"; exit', "bash", *rekindle_command("--show-completion")]  # whoever runs the tests
    ended = subprocess.run(from_bash, capture_output=True, text=True, check=False, timeout=60)
    assert "_rekindle_completion" in ended.stdout
