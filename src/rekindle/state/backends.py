"""Makes the backend that a job's settings ask for, and restores it from whatever a checkpoint holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.native_part import NativePart
from rekindle.state.state_owner import StateOwner


def create_backend(
    settings: BackendSettings,
    owner: StateOwner,
    key_groups: KeyGroupRange,
    max_parallelism: int,
    now: Callable[[], int],
    fresh_directory: Callable[[str], str],
) -> KeyedStateBackend:
    """Make an empty backend.

    Args:
        settings: Which one, and how.
        owner: The operator.
        key_groups: The key groups it keeps.
        max_parallelism: The number of all key groups.
        now: Tells the processing time.
        fresh_directory: Makes a directory on local disk, given what for.
    """
    if settings.rocksdb is None:
        return HeapKeyedStateBackend(owner, key_groups, max_parallelism, now, settings.incremental)
    from rekindle.state.rocksdb.backend import RocksDBKeyedStateBackend  # loads a library that the heap does not need

    directory = fresh_directory("rocksdb")
    return RocksDBKeyedStateBackend(
        owner, key_groups, max_parallelism, now, directory, settings.rocksdb, settings.incremental
    )


def restore_backend(backend: KeyedStateBackend, native: Sequence[NativePart], blocks: Iterable[KeyGroupBlock]) -> None:
    """Fill a backend that is still empty: with the files of a RocksDB, and with blocks on top of them."""
    if native:
        from rekindle.state.rocksdb.backend import RocksDBKeyedStateBackend
        from rekindle.state.rocksdb.native import native_blocks  # as above

        if isinstance(backend, RocksDBKeyedStateBackend):
            backend.restore_native(native)
        else:
            for part in native:
                backend.restore_blocks(native_blocks(part.directory, backend.key_groups))
    backend.restore_blocks(blocks)
