"""Several checkpoints under way at once: uploads overlap, each builds on a completed one only, all can be restored."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, ClassVar

import pytest

from rekindle.checkpoint import paths
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.events import TriggerCheckpoint
from rekindle.checkpoint.job_directory import JobCheckpointDirectory
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.statistics import CheckpointStatus
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.slot import snapshotter
from rekindle.runtime.wire.messages import SnapshotDone, TriggerSnapshot
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import ManualClock
from support.in_process_job import JOB_ID, InProcessJob, collect
from support.processes import wait_until

BACKENDS = {
    "heap": BackendSettings(),
    "heap incremental": BackendSettings(incremental=True),
    "rocksdb": BackendSettings(rocksdb=RocksDBSettings()),
    "rocksdb incremental": BackendSettings(rocksdb=RocksDBSettings(), incremental=True),
}
KEYS = 300


class GatedFiles(LocalCheckpointFiles):
    """Hold up the uploads of a checkpoint until its gate is opened."""

    gates: ClassVar[dict[int, threading.Event]] = {}
    waiting: ClassVar[defaultdict[int, int]] = defaultdict(int)

    def write(self, path: str, source: BinaryIO) -> int:
        directory, _, name = path.rpartition("/")
        number = paths.checkpoint_id_of(directory) or paths.written_for(name)
        gate = self.gates.get(number or 0)
        if gate is not None:
            self.waiting[number or 0] += 1
            assert gate.wait(30)
        return super().write(path, source)


class Last(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: tuple[int, str], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, str]]:
        if value[1] == "tell":
            yield value[0], self.last.value()
        else:
            self.last.update(value[1])


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> BackendSettings:
    return BACKENDS[request.param]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[GatedFiles]:
    yield GatedFiles(str(tmp_path))
    for gate in GatedFiles.gates.values():
        gate.set()
    GatedFiles.gates.clear()
    GatedFiles.waiting.clear()


def program() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    told = [(key, "tell") for key in range(KEYS)]
    stream = environment.from_collection(told).uid("tell")
    collect(stream.key_by(lambda record: record[0]).process(Last()).uid("last"))
    return environment


def feed(job: InProcessJob, word: str, keys: range) -> None:
    """Hand records to the operator, past the exchange."""
    last = next(running for running in job.slots[0]._graph if running.node.uid == "last")
    last.operator.process(Chunk([(key, word) for key in keys], None, list(keys)))


def begin_held(job: InProcessJob) -> int:
    """Begin a checkpoint whose upload does not come to its end; wait until the upload has begun."""
    number = job.coordinator.next_checkpoint_id
    GatedFiles.gates[number] = threading.Event()
    assert job.begin_checkpoint() == number
    wait_until(lambda: GatedFiles.waiting[number] > 0, f"the upload of checkpoint {number} is under way")
    return number


def restored(stored: StoredCheckpoint, backend: BackendSettings) -> dict[int, str]:
    with InProcessJob(program(), restore=stored, files=stored.files, backend=backend) as job:
        return dict(job.run_to_end())


def golden(*words: tuple[str, range]) -> dict[int, str]:
    return {key: word for word, keys in words for key in keys}


def overlapping(files: GatedFiles, backend: BackendSettings, num_retained: int) -> InProcessJob:
    options = CheckpointOptions(interval_ms=1, max_concurrent=3, num_retained=num_retained)
    directory = JobCheckpointDirectory(files, JOB_ID)
    return InProcessJob(program(), files=files, backend=backend, options=options, directory=directory)


def stored(completed: CompletedCheckpoint | None) -> StoredCheckpoint:
    assert completed is not None
    return completed.location


def all_there(checkpoint: StoredCheckpoint) -> bool:
    files = checkpoint.files
    assert files is not None
    wanted = [file.path for handle in checkpoint.metadata.handles for file in handle.files() if file.path is not None]
    return all(files.read(paths.resolve(checkpoint.directory, path)) for path in wanted)


def test_uploads_overlap_and_every_checkpoint_can_be_restored(files: GatedFiles, backend: BackendSettings) -> None:
    base = ("base", range(KEYS))
    with overlapping(files, backend, num_retained=10) as job:
        feed(job, *base)
        job.checkpoint()
        feed(job, "second", range(40))
        second = begin_held(job)
        feed(job, "third", range(20, 60))
        third = begin_held(job)
        assert job.coordinator.pending_ids() == (second, third), "both are under way at once"
        GatedFiles.gates[second].set()
        assert job.hear_snapshot().checkpoint_id == second
        feed(job, "fourth", range(50, 70))
        fourth = begin_held(job)  # builds on the second, while the third, which builds on the first, is under way
        GatedFiles.gates[third].set()
        assert job.hear_snapshot().checkpoint_id == third
        GatedFiles.gates[fourth].set()
        assert job.hear_snapshot().checkpoint_id == fourth
        checkpoints = [stored(each) for each in job.coordinator.completed()]
    assert [each.metadata.checkpoint_id for each in checkpoints] == [1, 2, 3, 4]
    seconds, thirds, fourths = ("second", range(40)), ("third", range(20, 60)), ("fourth", range(50, 70))
    assert restored(checkpoints[0], backend) == golden(base)
    assert restored(checkpoints[1], backend) == golden(base, seconds)
    assert restored(checkpoints[2], backend) == golden(base, seconds, thirds)
    assert restored(checkpoints[3], backend) == golden(base, seconds, thirds, fourths)


def test_a_newer_one_that_is_complete_first_ends_the_older(files: GatedFiles, backend: BackendSettings) -> None:
    with overlapping(files, backend, num_retained=1) as job:
        feed(job, "base", range(KEYS))
        job.checkpoint()
        feed(job, "second", range(40))
        second = begin_held(job)
        feed(job, "third", range(20, 60))
        third = begin_held(job)
        GatedFiles.gates[third].set()
        assert job.hear_snapshot().checkpoint_id == third
        assert job.coordinator.pending_ids() == ()
        GatedFiles.gates[second].set()
        assert job.hear_snapshot().checkpoint_id == second, "it comes too late and is discarded"
        latest = stored(job.coordinator.latest_completed())
        assert [each.checkpoint_id for each in job.coordinator.completed()] == [third]
        assert all_there(latest)
        statuses = {entry.checkpoint_id: entry.status for entry in job.coordinator.history()}
        assert statuses == {
            1: CheckpointStatus.COMPLETED,
            second: CheckpointStatus.FAILED,
            third: CheckpointStatus.COMPLETED,
        }
    words = (("base", range(KEYS)), ("second", range(40)), ("third", range(20, 60)))
    assert restored(latest, backend) == golden(*words)


def test_what_one_under_way_builds_on_is_not_deleted(files: GatedFiles, backend: BackendSettings) -> None:
    with overlapping(files, backend, num_retained=1) as job:
        feed(job, "base", range(KEYS))
        first = job.checkpoint()
        feed(job, "second", range(40))
        second = begin_held(job)
        third = begin_held(job)  # builds on the first, too
        GatedFiles.gates[second].set()
        job.hear_snapshot()
        assert all_there(first), "no longer retained, but the third builds on it"
        GatedFiles.gates[third].set()
        job.hear_snapshot()
        latest = stored(job.coordinator.latest_completed())
        assert latest.metadata.checkpoint_id == third
        assert all_there(latest)
        assert paths.METADATA not in files.list(first.directory)
    assert restored(latest, backend) == golden(("base", range(KEYS)), ("second", range(40)))


def test_builds_only_on_what_is_complete(files: GatedFiles) -> None:
    with overlapping(files, BACKENDS["heap incremental"], num_retained=10) as job:
        feed(job, "base", range(KEYS))
        first = job.checkpoint()
        feed(job, "second", range(40))
        begin_held(job)
        job.clock.advance(1_000)
        [order] = job.coordinator.trigger(job.clock.now(), 1)
        assert isinstance(order, TriggerCheckpoint)
        assert order.base_id == first.metadata.checkpoint_id


def test_large_state_is_encoded_in_two_children_at_once(files: GatedFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshotter, "_FORK_FROM_ENTRIES", 1)
    test_uploads_overlap_and_every_checkpoint_can_be_restored(files, BACKENDS["heap incremental"])


def test_the_slot_measures_every_operator(tmp_path: Path, backend: BackendSettings) -> None:
    files = LocalCheckpointFiles(str(tmp_path))
    with InProcessJob(program(), parallelism=2, files=files, backend=backend) as job:
        feed(job, "base", range(KEYS))
        whole = job.checkpoint().metadata
        feed(job, "second", range(3))
        job.checkpoint()
        overview = job.coordinator.statistics()
    first, second = overview.ended
    assert first.subtask_count == first.acknowledged_count == sum(node.parallelism for node in job.graph.nodes)
    sizes = {task.uid: (task.state_size, task.written_size) for task in first.tasks}
    state, written = sizes["last"]
    assert 0 < state <= whole.state_size
    assert written == state, "the first is whole"
    again = {task.uid: (task.state_size, task.written_size) for task in second.tasks}["last"]
    if backend.incremental:
        assert again[1] < again[0]
    else:
        assert again[1] == again[0]
    assert all(subtask.end_to_end_ms >= 0 for task in first.tasks for subtask in task.subtasks)


class WatchedClock(ManualClock):
    """A clock that counts how often it was asked."""

    asked = 0

    def now(self) -> int:
        self.asked += 1
        return super().now()


def test_the_slot_tells_how_long_the_order_took_and_how_long_it_waited_for_the_end_of_a_chunk(tmp_path: Path) -> None:
    with InProcessJob(program(), files=LocalCheckpointFiles(str(tmp_path))) as job:
        slot, clock = job.slots[0], WatchedClock(10_000)
        slot._clock = clock
        order = TriggerSnapshot(1, 1, timestamp=9_950)
        with slot._lock:  # as while a chunk is processed
            thread = threading.Thread(target=slot.snapshot, args=(order,))
            thread.start()
            wait_until(lambda: clock.asked, "the slot has heard of it")
            clock.advance(30)
        thread.join()
        done = job._answers.get(timeout=30)[1]
        assert isinstance(done, SnapshotDone)
        assert (done.start_delay_ms, done.alignment_ms) == (50, 30)
