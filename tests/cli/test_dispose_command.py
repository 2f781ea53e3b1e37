from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.command_line import rekindle_here


@pytest.mark.parametrize("options", [(), ("-y",)], ids=str)
def test_what_is_not_there_is_told_before_anybody_is_asked(tmp_path: Path, options: tuple[str, ...]) -> None:
    for path in ("gone", str(tmp_path / "deeper" / "gone")):
        ended = rekindle_here("dispose", *options, path, cwd=tmp_path)
        assert ended.code == 3
        assert f"error: there is no savepoint or checkpoint at {tmp_path / path}" in ended.err


def test_an_empty_path_is_not_the_current_directory(tmp_path: Path) -> None:
    (tmp_path / "_metadata").touch()
    for command in (("dispose", "-y"), ("state",)):
        ended = rekindle_here(*command, "", cwd=tmp_path)
        assert ended.code == 2
        assert "the path given as SAVEPOINT is empty; did the command that should print it fail?" in ended.err
    assert os.listdir(tmp_path) == ["_metadata"]
