"""The page about plans: its example runs, and its drawing is what the example prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "plan.md").read_text()


def test_the_drawing_is_what_the_example_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "plan.md", "exec"), {})
    (drawing,) = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
    assert drawing in capsys.readouterr().out
    assert Path("plan.dot").read_text().startswith("digraph plan {")
