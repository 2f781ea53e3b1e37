"""Rolling back by path: any of the retained checkpoints gives back the job as it was then, whatever the backend."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from support.in_process_job import JOB_ID, InProcessJob, collect

BACKENDS = {
    "heap": BackendSettings(),
    "heap incremental": BackendSettings(incremental=True),
    "rocksdb incremental": BackendSettings(rocksdb=RocksDBSettings(), incremental=True),
}
RETAINED = 20
CHECKPOINTS = 25
PER_CHECKPOINT = 20
EVENTS = 700


class Account(KeyedProcessFunction):
    """Number and sum up the events of a key, and keep the last three."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum"))
        self.recent = runtime_context.get_list_state(ListStateDescriptor("recent"))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int, int, int]]:
        count, total = self.sum.value() or (0, 0)
        self.sum.update((count + 1, total + value))
        recent = [*self.recent.get(), value][-3:]
        self.recent.update(recent)
        yield ctx.get_current_key(), count + 1, total + value, sum(recent)


def program() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    stream = environment.from_collection(list(range(EVENTS))).uid("events")
    collect(stream.key_by(lambda event: event * 7919 % 101).process(Account()).uid("account"))
    return environment


@pytest.fixture(scope="module")
def golden() -> list[object]:
    """What the job gives if nothing happens."""
    with InProcessJob(program()) as job:
        return list(job.run_to_end())


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> BackendSettings:
    return BACKENDS[request.param]


def run_and_stop(directory: Path, backend: BackendSettings) -> dict[int, list[object]]:
    """Run a job over 25 checkpoints, of which 20 are retained; give what had come out before each."""
    files = LocalCheckpointFiles(str(directory))
    options = CheckpointOptions(interval_ms=1, num_retained=RETAINED)
    before: dict[int, list[object]] = {}
    checkpoints = JobCheckpointDirectory(files, JOB_ID)
    with InProcessJob(program(), files=files, backend=backend, options=options, directory=checkpoints) as job:
        for _ in range(CHECKPOINTS):
            job.run_epoch(PER_CHECKPOINT)
            before[job.checkpoint().metadata.checkpoint_id] = list(job.collected)
        checkpoints.sweep({each.checkpoint_id for each in job.coordinator.completed()})
    return before


def below(directory: Path) -> set[Path]:
    return {path for path in directory.rglob("*") if path.is_file()}


def test_four_checkpoints_back_by_path(tmp_path: Path, backend: BackendSettings, golden: list[object]) -> None:
    before = run_and_stop(tmp_path / "first", backend)
    kept = sorted(int(path.parent.name[4:]) for path in tmp_path.glob(f"first/*/chk-*/{paths.METADATA}"))
    assert kept == list(range(CHECKPOINTS - RETAINED + 1, CHECKPOINTS + 1)), "20 of them are on disk"
    everything = below(tmp_path / "first")
    back = kept[-1] - 4
    restored = RestorePath(f"file://{tmp_path}/first/{JOB_ID}/chk-{back}").current
    assert restored.metadata.checkpoint_id == back
    with InProcessJob(program(), restore=restored, backend=backend) as job:
        assert before[back] + job.run_to_end() == golden
    assert below(tmp_path / "first") == everything, "nothing of what was restored is touched"


def test_each_of_those_retained_is_whole(tmp_path: Path, backend: BackendSettings, golden: list[object]) -> None:
    before = run_and_stop(tmp_path, backend)
    for number in range(CHECKPOINTS - RETAINED + 1, CHECKPOINTS + 1, 3):
        restored = RestorePath(str(tmp_path / JOB_ID / f"chk-{number}")).current
        with InProcessJob(program(), restore=restored, backend=backend) as job:
            assert before[number] + job.run_to_end() == golden, f"from checkpoint {number}"


def test_after_its_first_checkpoint_a_job_needs_nothing_of_what_it_was_started_from(
    tmp_path: Path, backend: BackendSettings, golden: list[object]
) -> None:
    before = run_and_stop(tmp_path / "first", backend)
    back = CHECKPOINTS - 4
    restored = RestorePath(str(tmp_path / "first" / JOB_ID / f"chk-{back}")).current
    files = LocalCheckpointFiles(str(tmp_path / "second"))
    options = CheckpointOptions(interval_ms=1, num_retained=RETAINED)
    with InProcessJob(program(), restore=restored, files=files, backend=backend, options=options) as job:
        job.run_epoch(PER_CHECKPOINT)
        first = job.checkpoint()
        assert first.metadata.checkpoint_id == back + 1
        job.run_epoch(PER_CHECKPOINT)
        job.checkpoint()
        so_far = before[back] + job.collected
    shutil.rmtree(tmp_path / "first")
    newest = RestorePath(str(tmp_path / "second")).current
    with InProcessJob(program(), restore=newest, backend=backend) as job:
        assert so_far + job.run_to_end() == golden
