"""What belongs to a job is on disk when its result is there, and nothing acts on the user's directories after that."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import JobExecutionError
from rekindle.rest.history_api import HistoryApi
from rekindle.rest.job_record import DIRECTORY
from rekindle.runtime.master.running_jobs import running_jobs
from rekindle.testing import local_environment
from support.processes import wait_until

_FILE = f"{DIRECTORY}/"


class SlowStorage:
    """Holds up files of the history until it is told to go on, and notes all that is done to a directory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.done: list[str] = []
        create, delete = LocalCheckpointFiles.create, LocalCheckpointFiles.delete

        def slowly(files: LocalCheckpointFiles, path: str, data: bytes) -> None:
            if path.startswith(_FILE):
                self.reached.set()
                assert self.opened.wait(60)
            self.done.append(path)
            create(files, path, data)

        def noted(files: LocalCheckpointFiles, path: str) -> None:
            self.done.append(path)
            delete(files, path)

        monkeypatch.setattr(LocalCheckpointFiles, "create", slowly)
        monkeypatch.setattr(LocalCheckpointFiles, "delete", noted)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowStorage]:
    storage = SlowStorage(monkeypatch)
    yield storage
    storage.opened.set()


def fail(number: int) -> int:
    return number // 0


def execute(env: StreamExecutionEnvironment) -> None:
    env.execute("a job")


def execute_async(env: StreamExecutionEnvironment) -> None:
    env.execute_async("a job").get_job_execution_result().result()


def cancel(env: StreamExecutionEnvironment) -> None:
    env.execute_async("a job").cancel().result()


def collect(env: StreamExecutionEnvironment) -> None:
    env._graph.submitted = len(env._graph.nodes)
    with env.from_collection([1, 2, 3]).execute_and_collect("a job") as results:
        assert sorted(results) == [1, 2, 3]


HOW = {"execute": execute, "async": execute_async, "cancel": cancel, "collect": collect, "failure": execute}
END = {"cancel": "CANCELED", "failure": "FAILED"}


@pytest.mark.parametrize("how", list(HOW))
def test_a_job_has_ended_when_its_record_is_written(how: str, storage: SlowStorage, tmp_path: Path) -> None:
    directory = tmp_path / "checkpoints"
    settings = {"execution.checkpointing.dir": f"file://{directory}", "execution.checkpointing.interval": "20 ms"}
    settings |= {"restart-strategy.type": "none"}
    env = local_environment(2, settings)
    env.from_collection(list(range(100))).map(fail if how == "failure" else str).print()
    before = set(running_jobs().all())
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(HOW[how], env)
        assert storage.reached.wait(60)
        (job,) = set(running_jobs().all()) - before
        wait_until(lambda: job.ended, "the job is over")
        time.sleep(0.2)
        assert not running.done(), "its record is yet to be written"
        storage.opened.set()
        if how == "failure":
            with pytest.raises(JobExecutionError):
                running.result(60)
        else:
            running.result(60)
    (record,) = HistoryApi(LocalCheckpointFiles(str(directory))).records()
    assert record.entry.status == END.get(how, "FINISHED")
    done = len(storage.done)
    shutil.rmtree(directory)
    assert not [thread.name for thread in threading.enumerate() if thread.name in ("job-record", "job-archive")]
    assert storage.done[done:] == []
    assert not directory.exists()


def test_a_record_that_cannot_be_written_is_given_up_before_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create, refused = LocalCheckpointFiles.create, []

    def refuse(files: LocalCheckpointFiles, path: str, data: bytes) -> None:
        if path.startswith(_FILE):
            refused.append(path)
            raise OSError("the disk is full")
        create(files, path, data)

    monkeypatch.setattr(LocalCheckpointFiles, "create", refuse)
    env = local_environment(1, {"execution.checkpointing.dir": f"file://{tmp_path}/checkpoints"})
    env.from_collection([1]).print()
    env.execute("a job")
    attempts = len(refused)
    assert "has no up-to-date record for its history: the disk is full" in caplog.text
    assert "job-record" not in [thread.name for thread in threading.enumerate()]
    assert len(refused) == attempts >= 1


def test_programs_may_remove_their_directory_at_once(tmp_path: Path) -> None:
    for number in range(10):
        directory = tmp_path / str(number)
        env = local_environment(1, {"execution.checkpointing.dir": f"file://{directory}"})
        env.from_collection([1]).print()
        env.execute("a job")
        shutil.rmtree(directory)
    assert list(tmp_path.iterdir()) == []
