"""Queries hold up no job that ends."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from rekindle.exceptions import CheckpointCorruptError
from rekindle.queryable_state import NoCheckpointError, QueryableStateError
from rekindle.runtime.slot.queries import checkpointed_reads
from rekindle.runtime.slot.queries.checkpointed_reads import CheckpointedReads
from support.processes import wait_until
from support.queryable_jobs import keeps_all, running, settings


def test_a_job_that_is_cancelled_does_not_wait_for_a_storage_that_is_slow(
    local_cluster: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, goes_on = threading.Event(), threading.Event()
    restored = CheckpointedReads._restored

    def slow(self: Any, *arguments: Any) -> Any:
        reading.set()
        assert goes_on.wait(60)
        return restored(self, *arguments)

    with running(keeps_all, checkpoint_ms=20) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1, "checkpointed")
        monkeypatch.setattr(CheckpointedReads, "_restored", slow)
        asked = job.client.get_kv_state(job.job_id, "list", "a", None, None, "checkpointed")
        assert reading.wait(60)
        try:
            job.master.cancel()
            job.master.result.exception(30)
        finally:
            goes_on.set()
        with pytest.raises(QueryableStateError):
            asked.result(60)


def test_a_key_of_many_digits_is_unknown_like_any_other(local_cluster: object) -> None:
    with running(lambda env, stream: keeps_all(env, stream, typed=False), checkpoint_ms=20) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1, "checkpointed", typed=False)
        for consistency in ("live", "checkpointed"):
            found = job.client.get_kv_states(job.job_id, "value", ["a", 10**5_000], consistency=consistency)
            assert list(found.result(60)) == ["a"]


def test_a_checkpoint_that_cannot_be_restored_leaves_nothing_behind(
    local_cluster: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    def broken(backend: Any, *arguments: Any) -> None:
        made.append(backend)
        raise CheckpointCorruptError("it is damaged")

    with running(keeps_all, settings(rocksdb=True), checkpoint_ms=20) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1, "checkpointed")
        monkeypatch.setattr(checkpointed_reads, "restore_backend", broken)

        def is_broken() -> bool:
            try:
                job.ask("value", "a", "checkpointed")
            except NoCheckpointError:
                return True
            return False

        wait_until(is_broken, "a checkpoint cannot be read")
        assert not any(os.path.exists(backend._directory) for backend in made)
