"""Secrets that the processes of one user share."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rekindle.base.user_secret import user_secret
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.queries.user_token import user_token


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "secrets" / "door"


def secret(_: object = None) -> str:
    return user_secret("door", "it stays closed")


def test_all_who_ask_at_once_get_one_secret_which_only_the_user_can_read(path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        (found,) = set(pool.map(secret, range(64)))
    assert len(found) >= 32
    assert path.read_text() == found == secret()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["door"]


@pytest.mark.parametrize("left", ["", "\n"])
def test_one_that_was_lost_in_a_crash_lets_nobody_in(path: Path, left: str) -> None:
    secret()
    path.write_text(left)
    assert len(secret()) >= 32
    assert path.read_text() == secret()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_link_is_not_followed_and_the_error_says_what_to_set(path: Path, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("open barley")
    path.parent.mkdir(parents=True)
    os.symlink(tmp_path / "known", path.with_name("queryable-state"))
    with pytest.raises(ConfigurationError, match=r"queryable-state: .*set queryable-state\.token"):
        user_token()


def test_a_directory_to_which_others_may_write_is_refused(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.parent.chmod(0o777)
    with pytest.raises(ConfigurationError, match=r"others may write to .*, so it stays closed"):
        secret()
