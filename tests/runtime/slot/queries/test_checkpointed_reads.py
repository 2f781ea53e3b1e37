"""Reads out of a checkpoint that is deleted, damaged, or in a storage that takes its time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.base.clock import SystemClock
from rekindle.exceptions import CheckpointCorruptError, NoCheckpointError, NoStateOwnerError
from rekindle.runtime.slot.queries import checkpointed_reads
from rekindle.runtime.slot.queries.checkpointed_reads import CheckpointedReads
from rekindle.state.backend_settings import BackendSettings
from support.processes import wait_until

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


def reads(monkeypatch: pytest.MonkeyPatch, restored: Callable[[int], Any]) -> CheckpointedReads:
    """Return reads of checkpoint 7, with something in the place of what restores state out of a checkpoint."""
    monkeypatch.setattr(CheckpointedReads, "_as_restored", lambda self, done: checkpoint(done.checkpoint_id))
    monkeypatch.setattr(
        CheckpointedReads, "_restored", lambda self, completed, *part: restored(completed.metadata.checkpoint_id)
    )
    job: Any = SimpleNamespace(restore=checkpoint(7), backend=BackendSettings())
    nowhere: Any = None
    return CheckpointedReads(job, 0, [], nowhere, nowhere, SystemClock())


def checkpoint(number: int) -> Any:
    return SimpleNamespace(metadata=SimpleNamespace(checkpoint_id=number))


def taken(number: int) -> Any:
    return SimpleNamespace(checkpoint_id=number)


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as thread:
        yield thread


def test_closing_does_not_wait_for_a_storage_that_hangs(
    monkeypatch: pytest.MonkeyPatch, aside: ThreadPoolExecutor
) -> None:
    monkeypatch.setattr(checkpointed_reads, "_ENDING_SECONDS", 0.01)
    reading, answers = threading.Event(), threading.Event()
    backend = Backend()

    def restored(number: int) -> Backend:
        reading.set()
        answers.wait(60)
        return backend

    under_test = reads(monkeypatch, restored)
    found = aside.submit(under_test.read, STATE, ["key"])
    assert reading.wait(60)
    under_test.close()
    assert not found.done()  # the storage has not answered yet
    answers.set()
    assert found.result(60) == (7, ["key"])
    wait_until(lambda: backend.closed, "what was read is let go of")
    with pytest.raises(NoStateOwnerError, match="being closed"):
        under_test.read(STATE, ["key"])


def test_a_checkpoint_that_was_deleted_for_a_newer_one_is_not_missed(
    monkeypatch: pytest.MonkeyPatch, aside: ThreadPoolExecutor
) -> None:
    reading = threading.Event()

    def restored(number: int) -> Backend:
        reading.set()
        if number == 7:
            raise CheckpointCorruptError("a file is missing")
        return Backend()

    under_test = reads(monkeypatch, restored)
    under_test.taken(taken(8))
    found = aside.submit(under_test.read, STATE, ["key"])
    assert reading.wait(60)
    under_test.completed(8)
    assert found.result(60) == (8, ["key"])


@pytest.mark.parametrize("newer", [False, True], ids=["none is newer", "the newer one is given up"])
def test_a_checkpoint_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, aside: ThreadPoolExecutor, newer: bool
) -> None:
    reading = threading.Event()

    def restored(number: int) -> Backend:
        reading.set()
        raise CheckpointCorruptError("a file is missing")

    under_test = reads(monkeypatch, restored)
    if newer:
        under_test.taken(taken(8))
    found = aside.submit(under_test.read, STATE, ["key"])
    assert reading.wait(60)
    under_test.aborted(8)
    with pytest.raises(NoCheckpointError, match="checkpoint 7 cannot be read: a file is missing"):
        found.result(60)
