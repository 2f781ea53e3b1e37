"""A session that the program made itself, as quiet as one of Rekindle's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.driver import driver

MEANT = re.compile(r"\d\d:\d\d:\d\d \[quiet\] .|[A-Z]+:(rekindle|program)\b.|\d> ")


@pytest.mark.spark
def test_nothing_is_shown_but_what_rekindle_or_the_program_meant(tmp_path: Path) -> None:
    with driver("own_session.py", str(tmp_path)) as running:
        assert running.wait() == 0, running.output()
        _, _, output = running.output().partition("The session has started.\n")
        running.assert_nothing_is_left()
    lines = re.split(r"[\r\n]+", output)  # a progress bar writes over its own line
    assert [line for line in lines if line.strip() and not MEANT.match(line)] == []
    for shown in ("INFO:program:the job has started", "slot \\d was lost", "attempt 2 runs", "CANCELED"):
        assert re.search(shown, output), shown
