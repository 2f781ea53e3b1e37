"""The command line against a job in another process: find it, look at its checkpoints, take a savepoint, stop it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.client import get_job_client
from rekindle.common import JobStatus
from support.balances import KEYS, read_output
from support.command_line import rekindle
from support.driver import driver
from support.processes import wait_until

EVENTS = 100_000_000  # more than any test waits for


def succeeded(*arguments: str) -> Any:
    """Run a command as a process; give its document."""
    ended = rekindle(*arguments, "--json")
    assert ended.code == 0, ended
    return ended.json()


def test_a_job_is_listed_looked_at_saved_and_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path / "state"))
    savepoints = tmp_path / "savepoints"
    setting = f"execution.checkpointing.savepoint-dir={savepoints}"
    settings = (setting, "spark=no", "pause=0.001", "rest.enabled=true")
    with driver("numbering.py", str(EVENTS), str(tmp_path), *settings) as running:
        wait_until(lambda: any((tmp_path / "checkpoints").glob("*/chk-*/_metadata")), "there is a checkpoint")

        (job,) = succeeded("list", "-r")["jobs"]
        assert (job["job_name"], job["status"], job["parallelism"], job["restarts"]) == ("numbering", "RUNNING", 2, 0)
        job_id = job["job_id"]
        address = job["url"].removeprefix("http://")

        overview = succeeded("checkpoints", "numbering", "--jobmanager", address)
        assert overview["counts"]["completed"] >= 1
        assert overview["counts"]["failed"] == 0
        last = overview["latest"]["completed"]
        one = succeeded("checkpoints", job_id[:8], str(last["id"]))
        assert one["status"] == "COMPLETED"
        assert {len(task["subtasks"]) for task in one["tasks"].values()} == {2}
        shown = rekindle("checkpoints", job_id, str(last["id"]))
        assert shown.code == 0
        assert "numbering" in shown.out.split("State\n")[1]
        assert rekindle("checkpoints", job_id, "999999").code == 3

        saved = succeeded("savepoint", "numbering")
        assert (saved["job_id"], Path(saved["savepoint"]).parent) == (job_id, savepoints)
        assert (Path(saved["savepoint"]) / "_metadata").exists()
        assert get_job_client("numbering").get_job_status().result() is JobStatus.RUNNING
        (tmp_path / "file").write_text("in the way")
        refused = rekindle("savepoint", "numbering", str(tmp_path / "file"), "--json")
        assert refused.code == 1
        assert "Savepoint" in refused.json()["error"]

        stopped = succeeded("stop", "numbering", "-p", str(tmp_path / "stopped"))
        assert stopped["status"] == "FINISHED"
        assert (Path(stopped["savepoint"]) / "_metadata").exists()
        assert running.wait() == 0, "the program ended as it does when its job finishes"
        assert rekindle("stop", "numbering").code == 3, "it is not found any more"
    numbers: dict[str, list[int]] = {}
    for line in read_output(str(tmp_path / "out")):
        key, number, _ = line.split(",")
        numbers.setdefault(key, []).append(int(number))
    assert len(numbers) == KEYS
    assert all(sorted(seen) == list(range(1, len(seen) + 1)) for seen in numbers.values()), "none lost, none twice"
