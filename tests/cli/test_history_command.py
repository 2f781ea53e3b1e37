"""``rekindle history``: what jobs have left behind, served until Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import JobStatus
from rekindle.rest.discovery import discovered
from rekindle.rest.job_record import RecordName, record_of, write_record
from rekindle.testing import ManualClock
from support.rest_jobs import JOB, FakeMaster, registered


def history(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rekindle.cli", "history", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_records_are_served_on_this_machine_until_ctrl_c(tmp_path: Path) -> None:
    master = FakeMaster(clock=ManualClock(10**12)).run()
    master.end(JobStatus.FINISHED)
    (job,) = registered(master).all()
    write_record(LocalCheckpointFiles(str(tmp_path)), RecordName(10**12, JOB, 1), record_of(job))
    with history(str(tmp_path), "--json") as process:
        try:
            assert process.stdout is not None
            told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            assert told["jobs"] == [JOB]
            assert told["url"].startswith("http://127.0.0.1:")
            assert told["dashboard"] == f"{told['url']}/?token={told['token']}"
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"{told['url']}/jobs/overview")
            request = urllib.request.Request(f"{told['url']}/jobs/overview")
            request.add_header("Authorization", f"Bearer {told['token']}")
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)["jobs"][0]["state"] == "FINISHED"
            assert process.pid not in {endpoint.pid for endpoint in discovered()}
        finally:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=30)
    assert (output, "Traceback" in errors) == ("", False)


def test_a_directory_without_records_is_code_3(tmp_path: Path) -> None:
    with history(str(tmp_path)) as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "no job has left a record in" in errors
