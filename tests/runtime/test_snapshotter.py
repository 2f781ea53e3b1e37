"""A sink that cannot pre-commit fails the attempt; a snapshot that cannot be encoded is only declined."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.runtime.operators.chunk import Chunk
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.slot.deployment import SnapshotSettings
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.slot.snapshotter import Snapshotter
from rekindle.runtime.wire.messages import SnapshotFailed, TriggerSnapshot
from rekindle.state.backend_settings import BackendSettings


class Broken(Operator):
    def __init__(self, in_prepare: bool) -> None:
        self._in_prepare = in_prepare

    def process(self, chunk: Chunk) -> None:
        raise AssertionError

    def prepare_snapshot(self, checkpoint_id: int) -> dict[str, list[bytes]]:
        if self._in_prepare:
            raise OSError("no space left")
        return {}

    def timer_blocks(self) -> Any:
        raise OSError("cannot be encoded")


def take(operator: Operator) -> list[Any]:
    reports: list[Any] = []
    node = SimpleNamespace(uid="sink", name="the sink")
    graph: Any = [SimpleNamespace(node=node, operator=operator)]
    job: Any = SimpleNamespace(job_id="job", snapshots=SnapshotSettings(None, 0, 1000), backend=BackendSettings())
    snapshotter = Snapshotter(graph, job, 0, 0, reports.append)
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
    (report,) = take(Broken(in_prepare=False))
    assert isinstance(report, SnapshotFailed)
    assert "cannot be encoded" in report.reason
    assert "'the sink'" in report.reason
