"""How drivers on this machine are found."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.base.process_identity import start_ticks
from rekindle.exceptions import ConfigurationError
from rekindle.rest import discovery
from rekindle.rest.discovery import Endpoint, discovered, discovery_directory, header_file, publish


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "state"
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(path))
    return path


def endpoint(pid: int = os.getpid(), ticks: int | None = start_ticks(os.getpid()), started: int = 1) -> Endpoint:
    return Endpoint(pid=pid, start_ticks=ticks, url="http://127.0.0.1:8081", token="secret", started=started)


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_file_is_as_the_format_says(directory: Path) -> None:
    path = publish(endpoint())
    assert path == directory / f"{os.getpid()}.json"
    assert json.loads(path.read_text()) == {
        "version": 1,
        "pid": os.getpid(),
        "start_ticks": start_ticks(os.getpid()),
        "url": "http://127.0.0.1:8081",
        "token": "secret",
        "started": 1,
    }


def test_only_the_owner_can_read_the_directory_and_the_file(directory: Path) -> None:
    path = publish(endpoint())
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    header = header_file(endpoint())
    assert header is not None
    assert stat.S_IMODE(header.stat().st_mode) == 0o600


def test_the_header_stands_in_a_file_and_goes_with_the_driver(directory: Path) -> None:
    header = header_file(endpoint(pid := ended_process()))
    publish(endpoint(pid))
    assert header is not None
    assert header.read_text() == "Authorization: Bearer secret\n"
    assert discovered() == []
    assert list(directory.iterdir()) == []


def test_our_own_directory_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REKINDLE_STATE_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    own = tmp_path / "rekindle"
    own.mkdir()
    own.chmod(0o755)
    assert stat.S_IMODE(discovery_directory().stat().st_mode) == 0o700


def test_a_directory_that_the_user_named_is_left_as_it_is(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o755)
    assert stat.S_IMODE(discovery_directory().stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_directory_to_which_others_write_is_refused(directory: Path, mode: int) -> None:
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(ConfigurationError, match="others may write"):
        discovery_directory()
    assert stat.S_IMODE(directory.stat().st_mode) == mode


def test_a_written_file_is_found_and_nothing_else_is_left(directory: Path) -> None:
    publish(endpoint(started=1))
    publish(endpoint(started=2))
    assert discovered() == [endpoint(started=2)]
    assert {path.name for path in directory.iterdir()} == {f"{os.getpid()}.json", f"{os.getpid()}.header"}


@pytest.mark.parametrize("ticks", [17, None])
def test_the_file_of_a_process_that_is_gone_is_ignored_and_removed(directory: Path, ticks: int | None) -> None:
    path = publish(endpoint(ended_process(), ticks))
    assert discovered() == []
    assert not path.exists()


def test_another_process_with_the_number_of_the_driver_is_not_taken_for_it(directory: Path) -> None:
    ticks = start_ticks(os.getpid())
    if ticks is None:
        pytest.skip("this system does not tell when a process started")
    path = publish(endpoint(ticks=ticks + 1))
    assert discovered() == []
    assert not path.exists()


def test_where_nobody_knows_when_a_process_started_its_number_counts(directory: Path) -> None:
    publish(endpoint(ticks=None))
    assert discovered() == [endpoint(ticks=None)]


def test_the_oldest_comes_first(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "process_runs", lambda *_: True)
    publish(endpoint(pid=3, started=7))
    publish(endpoint(pid=20, started=5))
    assert [each.pid for each in discovered()] == [20, 3]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version":2,"pid":1,"start_ticks":null,"url":"u","token":null,"started":1}',
    ],
)
def test_a_file_that_is_not_ours_is_ignored_and_left_alone(directory: Path, content: bytes) -> None:
    path = discovery_directory() / "1.json"
    path.write_bytes(content)
    assert discovered() == []
    assert path.read_bytes() == content


def test_a_file_that_says_another_number_than_its_name_is_ignored(directory: Path) -> None:
    path = publish(endpoint())
    path.rename(path.with_name("999999.json"))
    assert discovered() == []


def test_a_directory_that_is_none_is_refused(directory: Path) -> None:
    directory.write_text("a file")
    with pytest.raises(ConfigurationError, match=r"is not a directory of yours.*REKINDLE_STATE_DIR"):
        discovered()


def test_a_directory_of_somebody_else_is_refused(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: directory.stat().st_uid + 1)
    with pytest.raises(ConfigurationError, match="is not a directory of yours"):
        publish(endpoint())


def test_a_link_that_somebody_planted_in_the_temporary_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REKINDLE_STATE_DIR", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"rekindle-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="is not a directory of yours"):
        discovery_directory()


def test_without_a_named_directory_that_of_the_session_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REKINDLE_STATE_DIR")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert discovery_directory() == tmp_path / "rekindle"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "not there"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert discovery_directory() == tmp_path / f"rekindle-{os.getuid()}"
