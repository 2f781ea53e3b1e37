"""Which Python the workers of a session run that the program made itself."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.runtime.spark.session import use_this_python


def session(master: str, *settings: str) -> Any:
    configuration = SimpleNamespace(contains=lambda key: key in settings)
    return SimpleNamespace(
        sparkContext=SimpleNamespace(master=master, pythonExec="python3", getConf=lambda: configuration)
    )


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


def test_on_this_machine_it_is_that_of_the_program() -> None:
    own = session("local[2]")
    use_this_python(own)
    assert own.sparkContext.pythonExec == sys.executable


@pytest.mark.parametrize("own", [session("spark://host:7077"), session("local[2]", "spark.pyspark.python")])
def test_elsewhere_or_where_the_program_chose_it_stays_as_it_is(own: Any) -> None:
    use_this_python(own)
    assert own.sparkContext.pythonExec == "python3"


def test_so_it_does_where_the_environment_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    own = session("local[*]")
    use_this_python(own)
    assert own.sparkContext.pythonExec == "python3"
