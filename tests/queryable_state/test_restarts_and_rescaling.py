"""Queries across kills, restarts and rescaling, and of two jobs side by side."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from rekindle.queryable_state import QueryableStateClient, UnknownJobError
from rekindle.testing import InProcessCluster
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.queryable_jobs import KINDS, Feed, descriptor, expected, keeps_all, running, settings

KEYS = [f"key {number}" for number in range(16)]


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        return port


@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
def test_queries_outlive_a_killed_slot(local_cluster: PacedCluster, rocksdb: bool, tmp_path: Path) -> None:
    more = {"state.checkpoints.dir": f"file://{tmp_path}", "queryable-state.proxy.ports": str(free_port())}
    with running(keeps_all, settings(rocksdb, **more), 2, local_cluster, checkpoint_ms=30) as job:
        job.feed.put(*((key, 1) for key in KEYS))
        for key in KEYS:
            job.shows("list", key, [1], "checkpointed")
        for slot in (0, 1):
            wait_until(lambda: len(local_cluster.running_slots) == 2, "all slots run")
            restarts = job.master.history.restarts
            local_cluster.kill_slot(slot)
            for key in KEYS:  # what a checkpoint holds is there as soon as anything is; live state comes back to it
                assert 1 in job.ask("list", key, "checkpointed")
                assert 1 in job.ask("list", key)
            wait_until(lambda before=restarts: job.master.history.restarts > before, "the job has restarted")
        job.feed.put(*((key, 2) for key in KEYS))
        for kind in KINDS:
            for consistency in ("live", "checkpointed"):
                job.shows(kind, KEYS[3], expected(kind, [1, 2]), consistency)


@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
def test_queries_of_a_rescaled_job_find_the_new_owners(local_cluster: object, rocksdb: bool, tmp_path: Path) -> None:
    feed = Feed()
    feed.put(*((key, 1) for key in KEYS))
    configuration = settings(rocksdb, **{"state.checkpoints.dir": f"file://{tmp_path}"})
    with running(keeps_all, configuration, 2, feed=feed, checkpoint_ms=30) as job:
        for key in KEYS:
            job.shows("map", key, {"1": 1})
        savepoint = job.master.stop_with_savepoint(f"file://{tmp_path}/savepoints", False).result(60)
        job.master.result.exception(60)
    for parallelism in (3, 1):
        restored = {**configuration, "execution.savepoint.path": savepoint}
        with running(keeps_all, restored, parallelism, feed=feed) as job:
            for key in KEYS:
                assert job.ask("map", key) == {"1": 1}
                assert job.ask("map", key, "checkpointed") == {"1": 1}


def test_any_proxy_answers_for_all_keys(local_cluster: object) -> None:
    with running(keeps_all, parallelism=3) as job:
        job.feed.put(*((key, number) for number, key in enumerate(KEYS)))
        for number, key in enumerate(KEYS):
            job.shows("value", key, number)
        for proxy in job.proxies():
            with QueryableStateClient(*proxy) as client:
                key_type, value = _types()
                found = client.get_kv_states(job.job_id, "value", [*KEYS, "none"], key_type, value).result(30)
                assert {key: state.value() for key, state in found.items()} == dict(zip(KEYS, range(16), strict=True))


def _types() -> tuple[Any, Any]:
    from rekindle.common import Types

    return Types.STRING(), descriptor("value")


def test_two_jobs_side_by_side_answer_for_themselves(local_cluster: object) -> None:
    configuration = settings(**{"queryable-state.proxy.ports": str(free_port())})
    with running(keeps_all, configuration, 1) as first, running(keeps_all, configuration, 1) as second:
        assert first.proxies() != second.proxies()
        first.feed.put(("a", 1))
        second.feed.put(("a", 2))
        first.shows("value", "a", 1)
        second.shows("value", "a", 2)
        with pytest.raises(UnknownJobError):
            first.client.get_kv_state(second.job_id, "value", "a", *_types()).result(30)


def test_a_client_that_asks_too_early_is_answered_when_the_job_has_started() -> None:
    port = free_port()
    release = threading.Event()

    class Waits(InProcessCluster):
        def obeys(self, slot: int, order: Any) -> bool:
            release.wait(60)
            return True

    found: list[Any] = []
    feed = Feed()
    feed.put(("a", 1))
    with QueryableStateClient("127.0.0.1", port, timeout=60) as client:
        threading.Timer(0.1, release.set).start()
        with running(keeps_all, settings(**{"queryable-state.proxy.ports": str(port)}), 1, Waits(), feed) as job:
            job.shows("value", "a", 1)
            found.append(client.get_kv_state(job.job_id, "value", "a", *_types()).result(60).value())
    assert found == [1]
