"""What ``sink_to_data_frame`` takes as a writer, and what it tells it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.contracts.table_commit import TableCommit
from rekindle.datastream.table_columns import table_writer

COMMIT = TableCommit("job-table", 3)


@pytest.mark.parametrize(
    ("write", "given"),
    [
        (lambda frame, commit: calls.append([frame, commit]), ["frame", COMMIT]),
        (lambda frame, commit=None: calls.append([frame, commit]), ["frame", COMMIT]),
        (lambda frame, commit, path="path": calls.append([frame, commit, path]), ["frame", COMMIT, "path"]),
        (lambda *arguments: calls.append([*arguments]), ["frame", COMMIT]),
        (lambda frame, *rest: calls.append([frame, *rest]), ["frame", COMMIT]),
        (lambda frame: calls.append([frame]), ["frame"]),
        (lambda frame, path="path": calls.append([frame, path]), ["frame", "path"]),
        (lambda frame, *, path="path": calls.append([frame, path]), ["frame", "path"]),
    ],
)
def test_a_commit_is_given_to_who_asks_for_it(write: Callable[..., None], given: list[Any]) -> None:
    calls.clear()
    table_writer(write)("frame", COMMIT)
    assert calls == [given]


@pytest.mark.parametrize("write", [lambda: None, lambda frame, commit, more: None, "a table"])
def test_what_cannot_be_called_so_is_refused(write: Any) -> None:
    with pytest.raises(TypeError, match="sink_to_data_frame takes a function"):
        table_writer(write)


calls: list[list[Any]] = []


@pytest.mark.parametrize(
    ("uid", "name"),
    [
        ("visits table", "job-visits table-3"),
        ("shop/visits", "job-shop%2Fvisits-3"),
        ("a:b=c's", "job-a%3Ab%3Dc%27s-3"),
        ("50%", "job-50%25-3"),
        ("größe", "job-größe-3"),
    ],
)
def test_the_name_of_a_commit_can_be_that_of_a_directory(uid: str, name: str) -> None:
    assert TableCommit(f"job-{uid}", 3).name == name
