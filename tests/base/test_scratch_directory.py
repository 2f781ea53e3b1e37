"""The scratch directory of a driver: gone when the driver is, however it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rekindle.base.scratch_directory import ScratchDirectory
from support.processes import all_pids, wait_until

# Makes a scratch directory, tells where it is and who looks after it, and waits for its end.
CHILD = """
import os, sys
from rekindle.base.scratch_directory import ScratchDirectory
scratch = ScratchDirectory()
with open(os.path.join(scratch.path, "file"), "w") as file:
    file.write("x")
print(scratch.path, scratch._janitor.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


class Driver:
    """A process that has made a scratch directory."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        path, janitor = self.process.stdout.readline().split()
        self.path, self.janitor = Path(path), int(janitor)

    def close(self) -> None:
        with self.process:
            self.process.kill()
        with suppress(ProcessLookupError):
            os.kill(self.janitor, signal.SIGKILL)  # it goes on looking for a while
        wait_until(lambda: self.janitor not in all_pids(), "the janitor has ended")


def ignores(pid: int, number: int) -> bool:
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.split("SigIgn:")[1].split()[0], 16) >> (number - 1) & 1)


@pytest.fixture
def driver(in_tmp_path: Path) -> Iterator[Driver]:
    started = Driver()
    yield started
    started.close()


def test_the_directory_is_there_while_the_driver_is(in_tmp_path: Path) -> None:
    scratch = ScratchDirectory()
    assert Path(scratch.path).is_dir()
    assert Path(scratch.path).parent == in_tmp_path
    assert Path(scratch.path).name.startswith("rekindle-")
    assert os.stat(scratch.path).st_mode & 0o777 == 0o700, "for nobody else to read"
    scratch.close()


def test_after_close_the_directory_with_all_it_holds_and_its_janitor_are_gone(in_tmp_path: Path) -> None:
    scratch = ScratchDirectory()
    below = Path(scratch.path) / "spark-0" / "offsets"
    below.mkdir(parents=True)
    (below / "0").write_text("v1")
    scratch.close()
    assert list(in_tmp_path.iterdir()) == []
    assert scratch._janitor.returncode == 0


def test_closing_is_no_error_when_the_directory_is_gone_already(in_tmp_path: Path) -> None:
    scratch = ScratchDirectory()
    os.rmdir(scratch.path)
    scratch.close()
    assert list(in_tmp_path.iterdir()) == []


def test_every_job_has_a_directory_of_its_own(in_tmp_path: Path) -> None:
    first, second = ScratchDirectory(), ScratchDirectory()
    assert first.path != second.path
    first.close()
    assert Path(second.path).is_dir()
    second.close()


def test_after_the_driver_was_killed_the_directory_is_gone(driver: Driver) -> None:
    assert (driver.path / "file").exists()
    driver.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not driver.path.exists(), "the directory of a killed driver is gone")


def test_what_is_still_written_after_the_driver_was_killed_goes_too(driver: Driver) -> None:
    driver.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not driver.path.exists(), "the directory of a killed driver is gone")
    driver.path.mkdir()
    (driver.path / "late").write_text("by Spark, which did not know yet")
    wait_until(lambda: not driver.path.exists(), "what came late is gone")


def test_ctrl_c_does_not_take_the_janitor_along(driver: Driver) -> None:
    wait_until(lambda: ignores(driver.janitor, signal.SIGINT), "the janitor is at its work")
    os.kill(driver.janitor, signal.SIGINT)
    driver.process.send_signal(signal.SIGKILL)
    wait_until(lambda: not driver.path.exists(), "the directory of a killed driver is gone")
