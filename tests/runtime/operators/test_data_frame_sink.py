"""The slots' part of a sink for Spark's writers: rows in files, named with the checkpoint they were prepared for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rekindle.checkpoint.row_staging import RowStaging
from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.exceptions import CheckpointStorageError, SerializationError
from rekindle.metrics.slot_metrics import MetricRegistry
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.data_frame_sink import DataFrameSinkOperator
from rekindle.runtime.operators.event_loop import EventLoopThread
from rekindle.runtime.operators.operator_context import JobInfo, OperatorContext, SlotServices, TaskInfo
from rekindle.runtime.operators.restored_operator_state import RestoredOperatorState
from rekindle.testing import ManualClock

SCHEMA = pa.schema([("number", pa.int64())])


def context(staging: RowStaging) -> OperatorContext:
    """Make what a sink is opened with."""
    clock = ManualClock()
    return OperatorContext(
        task=TaskInfo("sink", "sink", 0, 1, 128),
        job_parameters={},
        metrics=MetricRegistry(clock).group("sink", "sink", 0),
        job=JobInfo("job", checkpointing=True),
        slot=SlotServices(clock, EventLoopThread(), lambda: None, str, staging),
        keyed_backend=None,  # type: ignore[arg-type]
        to_driver=lambda channel, data: None,
        restored=RestoredOperatorState(),
    )


class FlakyFiles(LocalCheckpointFiles):
    """Fails while it is told to."""

    failing = False

    def write(self, path: str, source: BinaryIO) -> int:
        if self.failing:
            source.read(1)
            raise CheckpointStorageError("the storage is away")
        return super().write(path, source)


class Sink:
    """An operator with its files."""

    def __init__(self, directory: Path) -> None:
        self.files = FlakyFiles(str(directory))
        self.operator = DataFrameSinkOperator(SCHEMA)
        self.operator.open(context(RowStaging(self.files, "job")))

    def process(self, *numbers: Any) -> None:
        self.operator.process(Chunk(list(numbers), None))

    def staged(self) -> dict[int, list[int]]:
        """Return the rows that are staged, by version."""
        found: dict[int, list[int]] = {}
        for staged in self.operator.staged_rows():
            assert staged.file.path is not None
            path = Path(self.files.root) / "job" / "chk-1" / staged.file.path
            assert path.resolve().stat().st_size == staged.file.size
            numbers = pq.read_table(pa.BufferReader(path.resolve().read_bytes())).column("number").to_pylist()
            assert len(numbers) == staged.rows
            found.setdefault(staged.version, []).extend(numbers)
        return found


@pytest.fixture
def sink(tmp_path: Path) -> Iterator[Sink]:
    sink = Sink(tmp_path)
    yield sink
    sink.operator.close()


def test_rows_are_staged_at_the_barrier_and_named_until_the_checkpoint_is_complete(sink: Sink) -> None:
    sink.process(1, 2)
    sink.process(3)
    assert sink.staged() == {}
    sink.operator.prepare_snapshot(1, 0)
    assert sink.staged() == {1: [1, 2, 3]}
    sink.operator.notify_complete(1)
    assert sink.staged() == {}


def test_a_barrier_without_rows_stages_nothing(sink: Sink) -> None:
    sink.process()
    sink.operator.prepare_snapshot(1, 0)
    assert sink.staged() == {}
    assert sink.files.list("job/shared") == []


def test_rows_of_an_aborted_checkpoint_keep_its_version_and_belong_to_the_next(sink: Sink) -> None:
    sink.process(1)
    sink.operator.prepare_snapshot(1, 0)
    sink.operator.notify_aborted(1)
    sink.process(2)
    sink.operator.prepare_snapshot(2, 0)
    assert sink.staged() == {1: [1], 2: [2]}
    sink.process(3)
    sink.operator.prepare_snapshot(3, 0)
    sink.operator.notify_complete(2)
    assert sink.staged() == {3: [3]}


def test_a_savepoint_in_passing_leaves_its_rows_to_the_next_checkpoint(sink: Sink) -> None:
    sink.process(1)
    sink.operator.prepare_snapshot(1, 0)
    sink.operator.savepoint_completed(1)
    assert sink.staged() == {1: [1]}


def test_a_storage_that_fails_loses_no_rows(sink: Sink) -> None:
    sink.process(1)
    sink.files.failing = True
    for number in (1, 2):
        with pytest.raises(CheckpointStorageError):
            sink.operator.prepare_snapshot(number, 0)
        assert sink.staged() == {}
        sink.process(number + 1)
    sink.files.failing = False
    sink.operator.prepare_snapshot(3, 0)
    assert sink.staged() == {3: [1, 2, 3]}


def test_a_large_file_is_stored_before_the_barrier(sink: Sink) -> None:
    sink.operator.large_file = 100
    sink.process(*range(1_000))
    assert len(sink.files.list("job/shared")) == 1
    sink.process(*range(1_000, 2_000))
    sink.process(1)
    sink.operator.prepare_snapshot(1, 0)
    assert sorted(sink.staged()[1]) == sorted([*range(2_000), 1])
    assert len(sink.operator.staged_rows()) > 1


def test_the_end_of_a_job_without_checkpoints_stages_all(sink: Sink) -> None:
    sink.process(1)
    sink.operator.commit_final(5)
    assert sink.staged() == {5: [1]}


def test_attempts_never_write_to_the_same_file(tmp_path: Path) -> None:
    sinks = [Sink(tmp_path), Sink(tmp_path)]  # of two drivers, both in their first attempt
    for number, sink in enumerate(sinks):
        sink.process(number)
        sink.operator.prepare_snapshot(1, 0)
    assert [sink.staged() for sink in sinks] == [{1: [0]}, {1: [1]}]


def test_a_record_that_does_not_fit_stages_nothing_of_its_chunk(sink: Sink) -> None:
    sink.process(1)
    with pytest.raises(SerializationError, match="column 'number'"):
        sink.process(2, "three")
    sink.operator.prepare_snapshot(1, 0)
    assert sink.staged() == {1: [1]}
