"""The job master knows its cluster by an interface only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rekindle.runtime.master

MODULES = sorted(Path(rekindle.runtime.master.__path__[0]).rglob("*.py"))
FORBIDDEN = ("pyspark", "py4j", "rekindle.runtime.spark", "rekindle.testing")


def imported(module: Path) -> set[str]:
    """List what a module imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_no_module_of_the_job_master_imports_a_cluster(module: Path) -> None:
    assert not [name for name in imported(module) if f"{name}.".startswith(tuple(f"{each}." for each in FORBIDDEN))]
