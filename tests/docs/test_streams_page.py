"""The programs in docs/streams.md give what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rekindle.datastream import DataStream, StreamExecutionEnvironment
from support.in_process_job import InProcessJob, collect

PAGE = Path(__file__).resolve().parents[2] / "docs" / "streams.md"
PROGRAMS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("parallelism", [1, 2])
@pytest.mark.parametrize(("program", "output"), PROGRAMS)
def test_programs_on_the_page(monkeypatch: Any, program: str, output: str, parallelism: int) -> None:
    ran: list[str] = []

    def execute(env: StreamExecutionEnvironment, job_name: str) -> None:
        with InProcessJob(env, parallelism) as job:
            ran.extend(map(str, job.run_to_end()))

    monkeypatch.setattr(DataStream, "print", collect)
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    exec(compile(program, str(PAGE), "exec"), {})
    assert sorted(ran) == sorted(output.splitlines())


def test_there_are_programs_on_the_page() -> None:
    assert len(PROGRAMS) == PAGE.read_text().count("```python") == 1
