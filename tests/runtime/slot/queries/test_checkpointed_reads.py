"""Reads out of a checkpoint whose storage takes its time."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.base.clock import SystemClock
from rekindle.exceptions import NoStateOwnerError
from rekindle.runtime.slot.queries import checkpointed_reads
from rekindle.runtime.slot.queries.checkpointed_reads import CheckpointedReads
from rekindle.state.backend_settings import BackendSettings

STATE: Any = SimpleNamespace(
    uid="uid", descriptor=SimpleNamespace(get_name=lambda: "value"), max_parallelism=1, key_groups=range(1)
)


class Backend:
    """Stands for what was restored out of the checkpoint."""

    def __init__(self) -> None:
        self.closed = False

    def get_or_create(self, descriptor: Any) -> None:
        pass

    def peek(self, name: str, key: Any) -> Any:
        return key

    def changes(self) -> tuple[int, int]:
        return 0, 1

    def close(self) -> None:
        self.closed = True


def test_closing_does_not_wait_for_a_storage_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointed_reads, "_ENDING_SECONDS", 0.01)
    reading, answers = threading.Event(), threading.Event()
    backend = Backend()

    def restored(self: CheckpointedReads, *part: Any) -> Backend:
        reading.set()
        answers.wait(60)
        return backend

    monkeypatch.setattr(CheckpointedReads, "_restored", restored)
    completed = SimpleNamespace(metadata=SimpleNamespace(checkpoint_id=7))
    job: Any = SimpleNamespace(restore=completed, backend=BackendSettings())
    nowhere: Any = None
    reads = CheckpointedReads(job, 0, [], nowhere, nowhere, SystemClock())
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(reads.read(STATE, ["key"])))
    thread.start()
    assert reading.wait(60)
    reads.close()
    assert thread.is_alive()  # the storage has not answered yet
    answers.set()
    thread.join(60)
    assert found == [(7, ["key"])]
    assert backend.closed
    with pytest.raises(NoStateOwnerError, match="being closed"):
        reads.read(STATE, ["key"])
