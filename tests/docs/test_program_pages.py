"""Whole programs in the pages of the documentation give what the pages say."""

from __future__ import annotations

import re
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.testing import local_environment
from support.in_process_job import InProcessJob, collect
from support.paced_cluster import PacedCluster
from support.processes import wait_until

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {"iterations.md": 2, "streams.md": 3}
"""The pages, with the number of programs on each."""
ENDLESS = "execute_and_collect"
"""What programs call that end when they have seen enough; all others run to the end of their input."""

PROGRAM = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("page", PAGES)
def test_each_program_prints_what_stands_below_it(monkeypatch: Any, page: str, parallelism: int) -> None:
    ran: list[str] = []

    def execute(env: StreamExecutionEnvironment, job_name: str) -> None:
        with InProcessJob(env, parallelism) as job:
            ran.extend(map(str, job.run_to_end()))

    monkeypatch.setattr(DataStream, "print", collect)
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    text = (DOCS / page).read_text()
    programs = PROGRAM.findall(text)
    assert len(programs) == text.count("```python") == PAGES[page]
    for program, output in programs:
        if ENDLESS in program:
            continue
        ran.clear()
        module = ModuleType("program_of_a_page")  # where pickle finds its classes
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(program, page, "exec"), vars(module))
        assert sorted(ran) == sorted(output.splitlines())


def program_with_an_idle_input() -> tuple[str, list[str]]:
    [(program, output)] = [found for found in PROGRAM.findall((DOCS / "streams.md").read_text()) if ENDLESS in found[0]]
    return program, output.splitlines()


def test_the_program_with_an_idle_input_prints_what_stands_below_it(
    local_cluster: PacedCluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = staticmethod(lambda: local_environment(1, cluster=local_cluster))
    monkeypatch.setattr(StreamExecutionEnvironment, "get_execution_environment", environment)
    program, output = program_with_an_idle_input()
    exec(compile(program, "streams.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == output


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize("may_be_idle", [True, False])
def test_without_idleness_the_timer_of_that_program_never_fires(
    monkeypatch: pytest.MonkeyPatch, may_be_idle: bool, parallelism: int
) -> None:
    def not_executed(stream: DataStream) -> Any:
        collect(stream)
        return nullcontext(iter(output))

    monkeypatch.setattr(DataStream, "execute_and_collect", not_executed)
    program, output = program_with_an_idle_input()
    *seen, fired = output
    if not may_be_idle:
        program, lines = re.subn(r"^.*with_idleness.*without this line.*\n", "", program, flags=re.MULTILINE)
        assert lines == 1
    names: dict[str, Any] = {}
    exec(compile(program, "streams.md", "exec"), names)
    with InProcessJob(names["env"], parallelism) as job:
        wait_until(lambda: job.run_epoch() and sorted(job.collected) == sorted(seen), "all records have been read")
        job.clock.advance(24 * 3_600_000)
        for _ in range(3):
            job.run_epoch()
        assert sorted(job.collected) == sorted([*seen, fired] if may_be_idle else seen)
