"""``rekindle demo`` as a process: the job survives, and the command says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import rekindle

EVENTS = 20_000


@pytest.mark.spark
def test_the_demonstration_loses_nothing(tmp_path: Path) -> None:
    ended = rekindle("demo", "--events", str(EVENTS), "--keep", str(tmp_path / "kept"), "--json")
    assert ended.code == 0, ended.err
    document = ended.json()
    assert document.pop("killed_pid") > 0
    assert Path(document.pop("directory")).is_relative_to(tmp_path / "kept")
    assert document == {
        "passed": True,
        "in": EVENTS,
        "out": EVENTS,
        "lost": 0,
        "duplicated": 0,
        "wrong_balances": 0,
    }
    assert f"kill -9 {ended.json()['killed_pid']}" in ended.err
