"""``rekindle state`` and ``rekindle dispose`` in this process: what they print, and how they end."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.cli import main
from rekindle.common import Types
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor
from support.command_line import Ended, rekindle_here
from support.in_process_job import InProcessJob, collect
from support.snapshot_job import BACKENDS, expected, take_snapshot


def rekindle(*arguments: str, code: int = 0) -> Ended:
    ended = rekindle_here(*arguments)
    assert ended.code == code, ended.err
    return ended


def document(*arguments: str, code: int = 0) -> Any:
    return rekindle(*arguments, "--json", code=code).json()


def location(stored: StoredCheckpoint) -> str:
    assert stored.files is not None
    return stored.files.describe(stored.directory)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("job")


@pytest.fixture(scope="module")
def savepoint(directory: Path) -> str:
    return location(take_snapshot(directory, "canonical"))


def test_operators_and_states(savepoint: str) -> None:
    shown = rekindle("state", savepoint).out
    for text in ("in process", "Everything (everything)", "by-parity", "STRING → DOUBLE", "reducing", "TIME_WINDOW"):
        assert text in shown
    found = document("state", savepoint)
    assert {operator["uid"] for operator in found["operators"]} >= {"everything", "windows", "records"}
    assert found["savepoint"] is True


class _Lazy(KeyedProcessFunction):
    """Declare a state and put nothing into it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.unused = runtime_context.get_list_state(ListStateDescriptor("unused", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        pass


@pytest.mark.parametrize("backend", ["heap", "rocksdb"])
def test_a_declared_state_without_entries(tmp_path: Path, backend: str) -> None:
    environment = StreamExecutionEnvironment.get_execution_environment()
    collect(environment.from_collection([1, 2, 3]).key_by(lambda v: v, Types.LONG()).process(_Lazy()).uid("lazy"))
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(environment, 1, files=files, backend=BACKENDS[backend]) as job:
        job.run_epoch(1)
        where = location(job.checkpoint())
    assert "unused" in rekindle("state", where).out
    (row,) = (line for line in rekindle("state", where, "-o", "lazy").out.splitlines() if "unused" in line)
    assert " 0" in row
    (lazy,) = (each for each in document("state", where)["operators"] if each["uid"] == "lazy")
    assert [(each["name"], each["keys"]) for each in lazy["keyed_states"]] == [("unused", 0)]
    assert document("state", where, "-s", "unused")["entries"] == []
    assert "there is no key 1" in rekindle("state", where, "-k", "1", code=3).err


def test_one_operator(savepoint: str) -> None:
    shown = rekindle("state", savepoint, "--operator", "everything").out
    assert "parallelism 2, max parallelism 128" in shown
    assert "Account(owner STRING, balance BIG_INT)" in shown
    (operator,) = document("state", savepoint, "--operator", "everything")["operators"]
    assert operator["name"] == "Everything"
    (by_parity,) = (state for state in operator["keyed_states"] if state["name"] == "by-parity")
    assert by_parity["kind"] == "map"
    (row,) = (line for line in shown.splitlines() if line.strip().startswith("by-parity"))
    assert f" {by_parity['keys']} keys " in row, "a map counts once for its key"


def test_entries_of_a_state(savepoint: str) -> None:
    shown = rekindle("state", savepoint, "--operator", "everything", "--state", "count").out
    assert "and 15 more" in shown
    found = document("state", savepoint, "--state", "count", "--limit", "0")
    assert len(found["entries"]) == 35
    assert {"key": "ada", "value": 8} in found["entries"]
    assert found["more"] == 0
    lists = document("state", savepoint, "--state", "rules")
    assert {"key": "high", "value": 10} in lists["entries"]
    timers = document("state", savepoint, "-o", "windows", "-s", "_event-time-timers")
    assert timers["entries"][0]["timestamp"] == 3999


def test_one_key(savepoint: str) -> None:
    found = document("state", savepoint, "--key", "ada")
    states = {(row["operator"], row["state"]): row["value"] for row in found["states"]}
    assert states["everything", "amounts"] == expected("ada")["amounts"]
    assert states["everything", "account"] == {"owner": "ada", "balance": 140}
    assert states["windows", "_window-contents"] == ["ada", 65]
    assert len(found["timers"]) == 9
    assert "140" in rekindle("state", savepoint, "-o", "everything", "-s", "total", "-k", "ada").out


@pytest.mark.parametrize(
    "options",
    [
        ("--key", "nobody"),
        ("--operator", "none"),
        ("--state", "none"),
        ("--operator", "everything", "--state", "none"),
        ("--operator", "none", "--key", "ada"),
    ],
)
def test_what_is_not_there(
    savepoint: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["rekindle", "state", savepoint, *options, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    error = json.loads(capsys.readouterr().out)
    assert error["exit_code"] == 3
    assert error["error"]


def test_no_savepoint_there(tmp_path: Path) -> None:
    assert "there is no checkpoint" in rekindle("state", str(tmp_path), code=3).err


def test_savepoints_of_a_directory_and_the_newest_checkpoint_of_a_job(directory: Path, savepoint: str) -> None:
    listed = document("state", str(directory / "savepoints"))["savepoints"]
    assert [summary["location"] for summary in listed] == [savepoint]
    assert savepoint in rekindle("state", str(directory / "savepoints")).out
    assert "give the directory of one" in rekindle("state", str(directory / "savepoints"), "-k", "a", code=2).err
    (job,) = (path for path in directory.iterdir() if path.name != "savepoints")
    assert document("state", str(job))["savepoint"] is False
    assert document("state", str(job / "chk-1" / "_metadata"))["checkpoint_id"] == 1


def test_the_checkpoints_of_a_job_are_listed(directory: Path, tmp_path: Path) -> None:
    (job,) = (path for path in directory.iterdir() if path.name != "savepoints")
    for number in (3, 4):
        shutil.copytree(job / "chk-1", tmp_path / "job" / f"chk-{number}")
    (tmp_path / "job" / "chk-4" / "_metadata").write_bytes(b"damaged")
    listed = document("state", str(tmp_path / "job"))["savepoints"]
    assert [Path(summary["location"]).name for summary in listed] == ["chk-3", "chk-4"], "what is damaged comes last"
    shown = rekindle("state", str(tmp_path / "job")).out
    assert "rekindle state " + listed[0]["location"] in shown
    shutil.rmtree(tmp_path / "job" / "chk-4")
    assert document("state", str(tmp_path / "job"))["checkpoint_id"] == 1, "one alone is looked into"


def test_a_savepoint_is_disposed_of(tmp_path: Path) -> None:
    savepoint = location(take_snapshot(tmp_path, "canonical"))
    assert "add --yes" in rekindle("dispose", savepoint, code=2).err
    assert Path(savepoint).exists()
    report = document("dispose", savepoint, "--yes")
    assert report["deleted"][0].endswith("_metadata")
    assert not Path(savepoint).exists()
    assert rekindle("dispose", savepoint, "--yes", code=3).err
    (job,) = (path for path in tmp_path.iterdir() if path.name != "savepoints")
    assert "is not a savepoint" in rekindle("dispose", str(job), "--yes", code=2).err
    shown = rekindle("dispose", str(job / "chk-1"), "-y")
    assert "still running" in shown.err
    assert "deleted checkpoint" in shown.out


def test_the_help_is_readable() -> None:
    assert "--operator" in rekindle("state", "--help").out
    assert "--yes" in rekindle("dispose", "--help").out
