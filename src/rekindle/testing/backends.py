"""State backends as tests use them: made, snapshotted, and restored from snapshots of the same or of another kind.

heap, rocksdb = BackendUnderTest("heap"), BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings()))
clock = ManualClock()
backend = heap.create(KeyGroupRange(0, 127), 128, clock.now)
backend.key = "ada"
backend.get_or_create(ValueStateDescriptor("count")).update(1)
snapshot = take_snapshot(backend, checkpoint_id=1)

first_half = rocksdb.restore([snapshot], KeyGroupRange(0, 63), 128, clock.now)
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.backends import create_backend, restore_backend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.rocksdb.settings import DEFAULT_CACHE_ENTRIES, RocksDBSettings
from rekindle.state.state_owner import StateOwner
from rekindle.testing.backend_snapshots import BackendSnapshot

__all__ = ["BackendUnderTest", "heap_backends", "rocksdb_backends"]


_OWNER = StateOwner("operator", "uid")


class BackendUnderTest:
    """Make and restore backends of one kind, in temporary directories where they need some.

    To try a backend of your own, override :meth:`make`.

    Attributes:
        name: What to call the kind in the names of tests.
        settings: What a job with such backends has set.
    """

    def __init__(self, name: str, settings: BackendSettings | None = None) -> None:
        """Choose the kind.

        Args:
            name: What to call it.
            settings: Which backend, and how; the heap if None.
        """
        self.name = name
        self.settings = settings or BackendSettings()
        self._made: list[KeyedStateBackend] = []
        self._directories: list[str] = []

    def make(
        self, owner: StateOwner, key_groups: KeyGroupRange, max_parallelism: int, now: Callable[[], int]
    ) -> KeyedStateBackend:
        """Make an empty backend, for :meth:`create`."""
        return create_backend(self.settings, owner, key_groups, max_parallelism, now, self.fresh_directory)

    def create(
        self,
        key_groups: KeyGroupRange,
        max_parallelism: int,
        now: Callable[[], int],
        owner: StateOwner = _OWNER,
    ) -> KeyedStateBackend:
        """Make an empty backend.

        Args:
            key_groups: The key groups whose state it keeps.
            max_parallelism: The number of all key groups.
            now: Tells the processing time, in milliseconds, such as ``ManualClock().now``.
            owner: The operator, with the serializer of its keys.
        """
        made = self.make(owner, key_groups, max_parallelism, now)
        self._made.append(made)
        return made

    def restore(
        self,
        snapshots: Sequence[BackendSnapshot],
        key_groups: KeyGroupRange,
        max_parallelism: int,
        now: Callable[[], int],
        owner: StateOwner = _OWNER,
    ) -> KeyedStateBackend:
        """Make a backend and let it take over its part of the state of others, of any kind.

        Args:
            snapshots: The snapshots of all backends of the operator.
            key_groups: The key groups whose state it keeps.
            max_parallelism: The number of all key groups.
            now: Tells the processing time, in milliseconds.
            owner: The operator, with the serializer of its keys.
        """
        made = self.create(key_groups, max_parallelism, now, owner)
        wanted = [snapshot for snapshot in snapshots if snapshot.key_groups.intersects(key_groups)]
        with ExitStack() as unpacked:
            native = [
                NativePart(unpacked.enter_context(part.unpacked()), part.key_groups) for part in wanted if part.files
            ]
            restore_backend(made, native, (block for part in wanted for block in part.blocks_of(key_groups)))
        return made

    def close(self) -> None:
        """Close all backends made so far and delete their directories. More can be made."""
        for backend in self._made:
            backend.close()
        self._made.clear()
        for directory in self._directories:
            shutil.rmtree(directory, ignore_errors=True)
        self._directories.clear()

    def fresh_directory(self, purpose: str) -> str:
        """Make a directory that exists until :meth:`close`."""
        directory = tempfile.mkdtemp(prefix=f"rekindle-{purpose}-")
        self._directories.append(directory)
        return directory

    def __repr__(self) -> str:
        return f"BackendUnderTest({self.name!r})"


def heap_backends() -> list[BackendUnderTest]:
    """Return the heap backend, with whole and with incremental snapshots."""
    return [BackendUnderTest("heap"), BackendUnderTest("heap incremental", BackendSettings(incremental=True))]


def rocksdb_backends(cache_entries: Iterable[int] = (0, 1, 3, DEFAULT_CACHE_ENTRIES)) -> list[BackendUnderTest]:
    """Return the RocksDB backend with caches of several sizes: none, some that are always full, the default."""
    return [
        BackendUnderTest(
            f"rocksdb cache {size}", BackendSettings(rocksdb=RocksDBSettings(cache_entries=size), incremental=True)
        )
        for size in cache_entries
    ]
