"""Every cell of the tables of guarantees names a test that exists, and every connector has a row.

A cell is a word of the page's legend that links to a test, ``as`` and another column, or a dash where the failure
cannot happen. A link's address is the file of the test, and behind ``#`` its name: ``test_…``, or ``TestClass.test_…``.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import rekindle.datastream.connectors as faces
from rekindle.datastream.connectors import GenericWriteAheadSink, Sink, Source
from rekindle.datastream.functions import SinkFunction, SourceFunction

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "guarantees.md").read_text()
MAY_NOT_HAPPEN = {"system", "commit", "rescaled", "driver"}


@dataclass(frozen=True)
class Row:
    """A row of one of the two tables."""

    connector: str
    cells: dict[str, str]


def _rows() -> Iterator[Row]:
    failures: list[str] = []
    for line in PAGE.splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")] if line.startswith("| ") else []
        if not parts:
            failures = [] if not line.startswith("|") else failures
        elif parts[0] in ("Source", "Sink"):
            failures = parts[1:]
        elif failures:
            assert len(parts) == len(failures) + 1, line
            yield Row(parts[0], dict(zip(failures, parts[1:], strict=True)))


ROWS = list(_rows())
WORDS = set(re.findall(r"^\| \*\*([\w ]+)\*\* \|", PAGE, re.MULTILINE))
LINKS = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", PAGE, re.MULTILINE))


def target(cell: str) -> tuple[str, str] | None:
    """Return word and address of a cell that is a link."""
    link = re.fullmatch(r"\[([\w ]+)\](?:\[([\w-]+)\]|\((\S+)\))", cell)
    return (link[1], LINKS.get(link[2], link[3] or "")) if link else None


@cache
def named_tests(path: Path) -> set[str]:
    """Name the tests of a file, without importing it."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{method.name}" for method in node.body if isinstance(method, ast.FunctionDef)}
    return {name for name in found if name.rpartition(".")[2].startswith("test_")}


def problem(address: str) -> str | None:
    """Return what is wrong with the address of a test."""
    name, _, test = address.partition("#")
    path = (DOCS / name).resolve()
    if not path.is_relative_to(ROOT / "tests") or not path.is_file():
        return f"there is no file of tests at {address!r}"
    return None if test in named_tests(path) else f"there is no test {test!r} in {name}"


def test_there_are_rows_of_both_kinds() -> None:
    assert len(ROWS) >= 20
    assert {"once", "again", "not twice"} == WORDS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.connector)
def test_each_cell_names_a_test_that_exists(row: Row) -> None:
    for failure, cell in row.cells.items():
        linked = target(cell)
        if linked is not None:
            word, address = linked
            assert word in WORDS, f"{failure}: {word!r} is not in the legend"
            assert problem(address) is None, f"{failure}: {problem(address)}"
        elif cell.startswith("as "):
            same = row.cells.get(cell.removeprefix("as "), "")
            assert target(same) is not None, f"{failure}: {cell!r}, and that column names no test"
        else:
            assert cell == "—", f"{failure}: {cell!r} names no test"
            assert failure in MAY_NOT_HAPPEN, f"{failure} happens to every connector"


def test_what_is_wrong_with_a_cell_is_noticed() -> None:
    assert "no file" in (problem("../tests/chaos/test_nothing.py#test_x") or "")
    assert "no file" in (problem("../docs/guarantees.md#test_x") or "")
    assert "no test" in (problem("../tests/docs/test_guarantees_page.py#test_nothing") or "")
    assert problem("../tests/docs/test_guarantees_page.py#test_each_cell_names_a_test_that_exists") is None
    assert target("[once][all-slot]") == ("once", LINKS["all-slot"])
    assert target("[once](../tests/x.py#test_x)") == ("once", "../tests/x.py#test_x")
    assert target("once") is None


def test_all_links_are_used() -> None:
    assert [name for name in LINKS if f"][{name}]" not in PAGE] == []


def connectors() -> Iterator[str]:
    """Name the classes of sources and sinks that programs import."""
    kinds = (Source, Sink, SinkFunction, SourceFunction, GenericWriteAheadSink)
    for module in pkgutil.iter_modules(faces.__path__, f"{faces.__name__}."):
        face = importlib.import_module(module.name)
        for name in [*face.__all__, *faces.__all__]:
            found = getattr(face, name, None) or getattr(faces, name)
            if inspect.isclass(found) and issubclass(found, kinds) and not name.endswith("Base"):
                yield name


def methods(page: str, owner: str) -> Iterator[str]:
    """Name the methods in the first column of the table that a page begins with."""
    for line in (DOCS / page).read_text().split("\n## ")[0].splitlines():
        yield from re.findall(rf"^\| `{owner}\.(\w+)\(", line)


def test_every_connector_has_a_row() -> None:
    named = {name for row in ROWS for name in re.findall(r"\w+", row.connector)}
    missing = {name for name in connectors() if name not in named} - {"Source"}
    assert missing == set(), "add rows to docs/guarantees.md"


def test_every_method_of_the_pages_about_sources_and_sinks_has_a_row() -> None:
    named = {name for row in ROWS for name in re.findall(r"\w+", row.connector)}
    found = {*methods("sources.md", "env"), *methods("sinks.md", "stream")}
    assert {"from_data_frame", "print"} <= found
    general = {"from_source", "sink_to"}  # their rows have the names of the connectors they take
    assert found - general - named == set()
