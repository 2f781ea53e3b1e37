"""State in RocksDB is encoded by a forked child, as it was at the barrier, and written beside the next epochs."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.roles import KeyedStateOwner
from rekindle.runtime.slot import forked_encoder
from rekindle.runtime.slot.slot_job import SnapshotSettings
from rekindle.runtime.slot.snapshotter import Snapshotter
from rekindle.runtime.wire.messages import SnapshotDone, SnapshotFailed, TriggerSnapshot
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.backend import RocksDBKeyedStateBackend
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_owner import StateOwner
from support.processes import wait_until

ALL = KeyGroupRange(0, 15)
KEYS = range(3_000)
VALUE, MAP = ValueStateDescriptor("v"), MapStateDescriptor("m")


class Owner(KeyedStateOwner):
    """Have a backend of its own."""

    def __init__(self, directory: Path) -> None:
        self.backend = RocksDBKeyedStateBackend(
            StateOwner("count"), ALL, 16, lambda: 0, str(directory), RocksDBSettings(), incremental=True
        )

    def process(self, chunk: Chunk) -> None:
        raise AssertionError

    def keyed_state_names(self) -> list[str]:
        return self.backend.state_names()

    def keyed_changes(self) -> tuple[int, int]:
        return self.backend.changes()

    def snapshot_keyed(self, request: SnapshotRequest) -> KeyedSnapshot:
        return self.backend.snapshot(request)

    def snapshot_completed(self, checkpoint_id: int) -> None:
        self.backend.snapshot_completed(checkpoint_id)


class OneOperator:
    """Take snapshots of one operator's state in RocksDB."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.owner = Owner(directory / "local")
        self.reports: list[Any] = []
        self.files = LocalCheckpointFiles(str(directory / "checkpoints"))
        job: Any = SimpleNamespace(
            job_id="job",
            snapshots=SnapshotSettings(self.files, 0, 1000),
            backend=BackendSettings(RocksDBSettings(), incremental=True),
            show_records=False,
        )
        graph: Any = [SimpleNamespace(node=SimpleNamespace(id=1, uid="count", name="count"), operator=self.owner)]
        self.snapshotter = Snapshotter(graph, job, 0, 0, self.reports.append)

    def write(self, number: int) -> None:
        """Change what each key has, in place."""
        backend = self.owner.backend
        values, maps = backend.get_or_create(VALUE), backend.get_or_create(MAP)
        for backend.key in KEYS:
            value = values.value()
            numbers = [] if value is None else value
            numbers.append(number)
            values.update(numbers)
            maps.put("numbers", maps.get("numbers") or [])
            maps.get("numbers").append(number)

    def report(self) -> Any:
        """Wait for the next report."""
        wait_until(lambda: bool(self.reports), "the snapshot is reported")
        return self.reports.pop(0)

    def restored(self, done: SnapshotDone) -> set[tuple[int, ...]]:
        """Return what keys have in a snapshot, each different one once."""
        local = self.directory / f"restored-{done.checkpoint_id}"
        files = local / "files"
        files.mkdir(parents=True)
        for name, stored in done.handle.native[0].files.items():
            assert stored.path is not None
            directory = self.directory / "checkpoints" / "job" / f"chk-{done.checkpoint_id}"
            (files / name).write_bytes((directory / stored.path).resolve().read_bytes())
        owner = Owner(local / "db")
        try:
            owner.backend.restore_native([NativePart(str(files), ALL)])
            values, maps = owner.backend.get_or_create(VALUE), owner.backend.get_or_create(MAP)
            found = set()
            for owner.backend.key in KEYS:
                assert values.value() == maps.get("numbers")
                found.add(tuple(values.value()))
            return found
        finally:
            owner.backend.close()


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[OneOperator]:
    """Return an operator without state."""
    made = OneOperator(tmp_path)
    yield made
    made.snapshotter.finish_uploads()
    made.owner.backend.close()


class Children:
    """Hold the forked children that wait before they encode anything."""

    def __init__(self) -> None:
        self.started: list[int] = []
        self.gate, self.opened = os.pipe()

    def let_one_go_on(self) -> None:
        """Let one of them encode."""
        os.write(self.opened, b".")


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    """Let forked children wait."""
    held = Children()
    fork, leave = os.fork, forked_encoder._leave_the_slot

    def forking() -> int:
        child = fork()
        if child:
            held.started.append(child)
        return child

    def leaving() -> None:
        leave()
        os.read(held.gate, 1)

    monkeypatch.setattr(os, "fork", forking)
    monkeypatch.setattr(forked_encoder, "_leave_the_slot", leaving)
    yield held
    os.close(held.gate)
    os.close(held.opened)


def test_objects_that_are_changed_in_place_are_stored_as_they_were(operator: OneOperator, children: Children) -> None:
    operator.write(1)
    operator.snapshotter.take(TriggerSnapshot(1, 0), {})
    operator.write(2)
    children.let_one_go_on()
    done = operator.report()
    assert operator.restored(done) == {(1,)}
    operator.write(3)
    operator.snapshotter.take(TriggerSnapshot(2, 0), {})
    children.let_one_go_on()
    assert operator.restored(operator.report()) == {(1, 2, 3)}


def test_state_of_a_child_that_was_killed_is_in_the_next_checkpoint(operator: OneOperator, children: Children) -> None:
    operator.write(1)
    operator.snapshotter.take(TriggerSnapshot(1, 0), {})
    operator.write(2)
    os.kill(children.started[0], signal.SIGKILL)
    assert isinstance(operator.report(), SnapshotFailed)
    operator.write(3)
    operator.snapshotter.take(TriggerSnapshot(2, 0), {})
    children.let_one_go_on()
    assert operator.restored(operator.report()) == {(1, 2, 3)}


def test_state_of_a_checkpoint_that_was_aborted_is_in_the_next(operator: OneOperator, children: Children) -> None:
    operator.write(1)
    operator.snapshotter.take(TriggerSnapshot(1, 0), {})
    operator.snapshotter.aborted(1)
    assert isinstance(operator.report(), SnapshotFailed)
    operator.write(2)
    operator.snapshotter.take(TriggerSnapshot(2, 0), {})
    children.let_one_go_on()
    assert operator.restored(operator.report()) == {(1, 2)}


def test_an_object_that_cannot_be_encoded_declines_the_checkpoint(operator: OneOperator) -> None:
    operator.write(1)
    backend = operator.owner.backend
    backend.key = 7
    backend.get_or_create(VALUE).update(lambda: None)
    operator.snapshotter.take(TriggerSnapshot(1, 0), {})
    failed = operator.report()
    assert isinstance(failed, SnapshotFailed)
    assert "pickle" in failed.reason
    assert "'count'" in failed.reason
    backend.key = 7
    backend.get_or_create(VALUE).update([1])
    operator.snapshotter.take(TriggerSnapshot(2, 0), {})
    assert operator.restored(operator.report()) == {(1,)}
