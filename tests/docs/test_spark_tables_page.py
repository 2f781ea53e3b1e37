"""What docs/spark-tables.md shows works: in this process, and its first program on Spark."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rekindle.contracts.table_commit import TableCommit
from rekindle.datastream.connectors import tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "spark-tables.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def names_of(part: str) -> dict[str, Any]:
    (block,) = [block for block in BLOCKS if part in block]
    names: dict[str, Any] = {}
    exec(compile(block, "spark-tables.md", "exec"), names)
    return names


@pytest.mark.usefixtures("spark", "no_slots_left")
def test_the_programs_give_what_they_should(capsys: pytest.CaptureFixture[str]) -> None:
    names = names_of("class Number")
    shutil.rmtree(names["directory"])
    assert re.search(r"\| *ann\| *3\|", capsys.readouterr().out)
    squares = names_of("squares.to_data_frame")["frame"]
    assert sorted(map(tuple, squares.collect())) == [(number, number**2) for number in range(5)]


def test_the_names_of_a_commit_are_those_of_the_page() -> None:
    listed = re.findall(r"^\| `(\w+)` \| .* \|$", PAGE, re.MULTILINE)
    assert [name for name in listed if hasattr(TableCommit, name)] == ["version", "app_id", "name", "repeated"]
    assert TableCommit("app", 3).checkpoint_id == 3
    assert set(re.findall(r"`(\w+_writer)`", PAGE)) == {name for name in tables.__all__ if name.endswith("_writer")}


def test_writers_are_made_as_the_page_says() -> None:
    assert {name for name in names_of("to_delta") if name.startswith("to_")} == {"to_delta", "to_parquet"}
    assert callable(names_of("def write_iceberg")["write_iceberg"])
