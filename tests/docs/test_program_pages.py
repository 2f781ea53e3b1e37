"""Whole programs in the pages of the documentation give what the pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rekindle.datastream import DataStream, StreamExecutionEnvironment
from support.in_process_job import InProcessJob, collect

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {"iterations.md": 2, "streams.md": 1}
"""The pages, with the number of programs on each."""

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
        ran.clear()
        exec(compile(program, page, "exec"), {})
        assert sorted(ran) == sorted(output.splitlines())
