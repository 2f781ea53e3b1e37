"""The tests that docs/testing.md shows pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def shown_tests() -> dict[str, Callable[..., None]]:
    names: dict[str, Any] = {"__name__": "shown"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    return {name: value for name, value in names.items() if name.startswith("test_")}


SHOWN = shown_tests()


@pytest.mark.parametrize("name", SHOWN)
def test_a_shown_test_passes(name: str, tmp_path: Path) -> None:
    shown = SHOWN[name]
    shown(*[tmp_path] if "tmp_path" in shown.__annotations__ else [])


def test_all_of_them_are_run() -> None:
    assert len(SHOWN) == 3
