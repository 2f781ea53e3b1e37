"""A sink that cannot pre-commit fails the attempt; a snapshot that cannot be encoded is only declined."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.exceptions import CheckpointError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.roles import KeyedStateOwner, OperatorStateOwner
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.slot.forked_encoder import ForkedEncoder
from rekindle.runtime.slot.slot_job import SnapshotSettings
from rekindle.runtime.slot.snapshotter import UPLOADS, Snapshotter
from rekindle.runtime.wire.messages import SnapshotDone, SnapshotFailed, TriggerSnapshot
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from support.processes import wait_until

JOB: Any = SimpleNamespace(
    job_id="job", snapshots=SnapshotSettings(None, 0, 1000), backend=BackendSettings(), show_records=False
)


class Keyed(KeyedStateOwner):
    def process(self, chunk: Chunk) -> None:
        raise AssertionError

    def keyed_state_names(self) -> list[str]:
        return []

    def keyed_changes(self) -> tuple[int, int]:
        return 0, 0

    def snapshot_completed(self, checkpoint_id: int) -> None:
        raise AssertionError


class Broken(Keyed, OperatorStateOwner):
    def __init__(self, in_prepare: bool = False, in_lists: bool = False) -> None:
        self._in_prepare = in_prepare
        self._in_lists = in_lists

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        if self._in_prepare:
            raise OSError("no space left")

    def snapshot_lists(self) -> dict[str, StoredList]:
        if self._in_lists:
            raise OSError("no element of its type")
        return {}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        raise AssertionError

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        def blocks() -> Iterator[Any]:
            raise OSError("cannot be encoded")

        return KeyedSnapshot(blocks)


def take(operator: Operator) -> list[Any]:
    reports: list[Any] = []
    node = SimpleNamespace(uid="sink", name="the sink")
    graph: Any = [SimpleNamespace(node=node, operator=operator)]
    snapshotter = Snapshotter(graph, JOB, 0, 0, reports.append)
    try:
        snapshotter.take(TriggerSnapshot(1, 1), {})
    finally:
        snapshotter.close()
    return reports


def test_a_sink_that_cannot_pre_commit_fails_the_attempt() -> None:
    with pytest.raises(OperatorError) as caught:
        take(Broken(in_prepare=True))
    assert str(caught.value.__cause__) == "no space left"


def test_state_that_cannot_be_encoded_declines_the_checkpoint() -> None:
    for broken, reason in ((Broken(), "cannot be encoded"), (Broken(in_lists=True), "no element of its type")):
        (report,) = take(broken)
        assert isinstance(report, SnapshotFailed)
        assert reason in report.reason
        assert "'the sink'" in report.reason


class Slow(Keyed):
    """Hold up the upload until told to go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.released = 0

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        def exported() -> Iterator[Any]:
            self.go_on.wait(30)
            return iter(())

        return KeyedSnapshot(exported=exported, release=self._release)

    def _release(self) -> None:
        self.released += 1


def test_a_checkpoint_that_is_given_up_before_its_upload_began_is_never_uploaded() -> None:
    reports: list[Any] = []
    operator = Slow()
    node = SimpleNamespace(uid="slow", name="slow")
    graph: Any = [SimpleNamespace(node=node, operator=operator)]
    snapshotter = Snapshotter(graph, JOB, 0, 0, reports.append)
    try:
        last = UPLOADS + 3  # more than are uploaded at once
        for number in range(1, last + 1):
            snapshotter.take(TriggerSnapshot(number, 1), {})
        for number in (1, last):
            snapshotter.aborted(number)
        assert operator.released == 1, "the last one had not begun"
        operator.go_on.set()
        wait_until(lambda: len(reports) == last - 1 and operator.released == last, "all others are done")
    finally:
        snapshotter.close()
    done = {report.checkpoint_id for report in reports if isinstance(report, SnapshotDone)}
    assert done == set(range(2, last))
    assert [report.checkpoint_id for report in reports if isinstance(report, SnapshotFailed)] == [1]


def test_an_encoder_lets_the_slot_go_first() -> None:
    with tempfile.TemporaryFile() as buffer:
        encoder = ForkedEncoder.start(
            buffer,  # type: ignore[arg-type]
            0,
            lambda: os.pwrite(buffer.fileno(), b"%d" % os.nice(0), 0) and None,
        )
        assert encoder is not None
        encoder.wait()
        assert int(buffer.read()) > os.nice(0)


def test_a_killed_encoder_leaves_no_process_behind() -> None:
    with tempfile.TemporaryFile() as buffer:
        encoder = ForkedEncoder.start(buffer, 0, lambda: time.sleep(60))  # type: ignore[arg-type]
        assert encoder is not None
        encoder.kill()
        with pytest.raises(CheckpointError, match="killed by signal 9"):
            encoder.wait()
        encoder.kill()  # its number may be somebody else's by now: nobody is killed
        with pytest.raises(ChildProcessError):
            os.waitpid(encoder._pid, os.WNOHANG)
