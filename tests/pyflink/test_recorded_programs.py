"""Programs whose output was recorded on PyFlink 2.3, with other imports: Rekindle prints the same.

Each program has a function ``main(env)`` and runs with parallelism 1. The lines of each sink are expected in the order
in which PyFlink printed them; between sinks there is none, so the lines are sorted by what stands before ``>``.
To record another one, run its ``main`` on PyFlink, and sort its output in this way.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.testing import local_environment

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py"))
ON_SPARK = ["fraud"]


def loaded(program: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load a program as the main module: its functions travel by value, as those of a script do."""
    spec = importlib.util.spec_from_file_location("__main__", HERE / "programs" / f"{program}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "__main__", module)
    spec.loader.exec_module(module)
    return module


def sorted_by_sink(printed: str) -> list[str]:
    def sink(line: str) -> str:
        name = re.match(r"([\w ]+)> ", line)
        return name[0] if name else ""

    return sorted(printed.splitlines(), key=sink)


def run(program: str, env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    env.set_parallelism(1)
    loaded(program, monkeypatch).main(env)


def expected(program: str) -> list[str]:
    return (HERE / "expected" / f"{program}.txt").read_text().splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_prints_what_pyflink_prints(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(program, local_environment(), monkeypatch)
    assert sorted_by_sink(capsys.readouterr().out) == expected(program)


@pytest.mark.parametrize("program", ON_SPARK)
def test_prints_the_same_on_spark(
    program: str, spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(program, StreamExecutionEnvironment(spark_session=spark), monkeypatch)
    assert sorted_by_sink(capsys.readouterr().out) == expected(program)


def test_every_program_was_recorded() -> None:
    assert sorted(path.stem for path in (HERE / "expected").glob("*.txt")) == PROGRAMS
