"""What tests of columns change in Rekindle. It is not done in their own modules: what those change by name might be a
function of a program, and nothing would run by columns then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from rekindle.graph.compilation import column_chains
from rekindle.runtime.slot.operator_graph import OperatorGraph
from rekindle.testing.in_process.epochs import InProcessEpochs


@pytest.fixture
def operator_graphs(monkeypatch: pytest.MonkeyPatch) -> list[OperatorGraph]:
    """Return a list to which each slot adds its operators."""
    graphs: list[OperatorGraph] = []
    init = OperatorGraph.__init__

    def noted(self: OperatorGraph, *args: Any, **named: Any) -> None:
        init(self, *args, **named)
        graphs.append(self)

    monkeypatch.setattr(OperatorGraph, "__init__", noted)
    return graphs


@pytest.fixture
def epochs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each epoch adds its number."""
    numbers: list[int] = []
    ran = InProcessEpochs.run
    monkeypatch.setattr(InProcessEpochs, "run", lambda self, *args: (numbers.append(args[0]), ran(self, *args))[1])
    return numbers


@pytest.fixture
def fail_to_read(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Exception], AbstractContextManager[None]]:
    """Return what lets one of the ways in which the functions of a program are read raise an error."""

    @contextmanager
    def failing(name: str, error: Exception) -> Iterator[None]:
        def raising(*args: Any) -> Any:
            raise error

        with monkeypatch.context() as changed:
            changed.setattr(column_chains, name, raising)
            yield

    return failing
