"""Where working state lives, as a program says it: in memory or in RocksDB.

These are values; the backends themselves are in ``rekindle.state``.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn

from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint import paths
from rekindle.checkpoint.settings.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]

_DEFAULT_TRANSFER_THREADS = 4


class PredefinedOptions(Enum):
    """Choose a set of RocksDB options made for a kind of disk."""

    DEFAULT = 0
    """RocksDB's own defaults."""

    SPINNING_DISK_OPTIMIZED = 1
    """Level compaction with dynamic level sizes, four background jobs, all files kept open."""

    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    """As for spinning disks, with larger buffers, blocks and caches, and a bloom filter."""

    FLASH_SSD_OPTIMIZED = 3
    """Four background jobs, all files kept open."""


class StateBackend:
    """Say how working state is kept. Two backends of one kind with equal settings are equal.

    Attributes:
        incremental: Whether a checkpoint stores only what changed; None leaves it to the configuration.
        asynchronous: Whether snapshots are written in the background; None leaves it to the configuration.
    """

    incremental: bool | None = None
    asynchronous: bool | None = None

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return the storage a backend of Flink 1.x brings along; None for those that leave it open."""
        return None

    def get_savepoint_path(self) -> str | None:
        """Return the default directory of savepoints, None if the configuration is to decide."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StateBackend):
            return NotImplemented
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # some backends have setters

    def __repr__(self) -> str:
        settings = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class HashMapStateBackend(StateBackend):
    """Keep working state as Python objects in the memory of the slots: fast, and limited by memory."""


class EmbeddedRocksDBStateBackend(StateBackend):
    """Keep working state in RocksDB on the slots' local disks: large, at the price of serialization."""

    class PriorityQueueStateType(Enum):
        """Choose where timers are."""

        HEAP = 0
        """All in memory."""

        ROCKSDB = 1
        """The earliest in memory, all later ones in RocksDB."""

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        """Describe the backend.

        Args:
            enable_incremental_checkpointing: Whether a checkpoint stores only what changed since the last
                one; None leaves it to the configuration, which says no by default.
        """
        self.incremental = _optional_flag("enable_incremental_checkpointing", enable_incremental_checkpointing)
        self._db_storage_paths: list[str] = []
        self._predefined_options: PredefinedOptions | None = None
        self._options: Any = None
        self._transfer_threads: int | None = None
        self._ttl_compaction: bool | None = None
        self._timers: EmbeddedRocksDBStateBackend.PriorityQueueStateType | None = None

    def is_incremental_checkpoints_enabled(self) -> bool:
        """Return True if the program asked for incremental checkpoints."""
        return bool(self.incremental)

    def set_db_storage_paths(self, *paths: str | None) -> None:
        """Spread the database's files over these local directories; without any, over temporary ones."""
        self._db_storage_paths = [_local_directory(path) for path in paths if path is not None]

    def get_db_storage_paths(self) -> list[str]:
        """Return the local directories for the database's files; empty if none were set."""
        return list(self._db_storage_paths)

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Choose a set of RocksDB options."""
        if not isinstance(options, PredefinedOptions):
            raise TypeError(f"predefined options are given as PredefinedOptions, got {options!r}")
        self._predefined_options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """Return the chosen set of RocksDB options."""
        return self._predefined_options or PredefinedOptions.DEFAULT

    def set_options(self, options_factory: Any) -> None:
        """Set the factory whose options are applied on top of all others.

        Args:
            options_factory: An object with ``create_db_options(options)`` and ``create_column_options(options)``, which
                are given rocksdict's options as settled so far and return those to use; or the name of such an object
                or its class, ``module:name``.
        """
        self._options = options_factory

    def get_options(self) -> Any:
        """Return the options factory as it was set, None if there is none."""
        return self._options

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Set how many threads copy files when snapshots are written or restored; at least 1."""
        if number_of_transfering_threads <= 0:
            raise ConfigurationError(
                "the number of RocksDB transfer threads must be greater than zero, "
                f"got {number_of_transfering_threads!r}"
            )
        self._transfer_threads = number_of_transfering_threads

    def get_number_of_transfer_threads(self) -> int:
        """Return how many threads copy files when snapshots are written or restored."""
        return _DEFAULT_TRANSFER_THREADS if self._transfer_threads is None else self._transfer_threads

    def enable_ttl_compaction_filter(self) -> None:
        """Have expired state removed in the background, as is the default since Flink 1.10."""
        self._ttl_compaction = True

    def disable_ttl_compaction_filter(self) -> None:
        """Leave expired state where it is until it is read."""
        self._ttl_compaction = False

    def is_ttl_compaction_filter_enabled(self) -> bool | None:
        """Return whether expired state is removed in the background; None if the configuration is to decide."""
        return self._ttl_compaction

    def set_priority_queue_state_type(self, priority_queue_state_type: PriorityQueueStateType) -> None:
        """Choose where timers are."""
        if not isinstance(priority_queue_state_type, EmbeddedRocksDBStateBackend.PriorityQueueStateType):
            raise TypeError(
                "where timers are is given as EmbeddedRocksDBStateBackend.PriorityQueueStateType, "
                f"got {priority_queue_state_type!r}"
            )
        self._timers = priority_queue_state_type

    def get_priority_queue_state_type(self) -> PriorityQueueStateType:
        """Return where timers are."""
        return self._timers or EmbeddedRocksDBStateBackend.PriorityQueueStateType.HEAP

    def is_priority_queue_state_type_set(self) -> bool:
        """Return True if the program chose where timers are, False if the configuration is to decide."""
        return self._timers is not None

    def is_predefined_options_set(self) -> bool:
        """Return True if the program chose a set of options, False if the configuration is to decide."""
        return self._predefined_options is not None

    def is_number_of_transfer_threads_set(self) -> bool:
        """Return True if the program set the number of threads, False if the configuration is to decide."""
        return self._transfer_threads is not None


class MemoryStateBackend(HashMapStateBackend):
    """Be Flink 1.x's name for state in memory with checkpoints in the job master's memory."""

    DEFAULT_MAX_STATE_SIZE = JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE
    """The largest snapshot of one slot, in bytes, unless given: 5 MiB."""

    def __init__(
        self,
        checkpoint_path: str | None = None,
        savepoint_path: str | None = None,
        max_state_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        """Describe the backend.

        Args:
            checkpoint_path: A directory for the metadata of checkpoints, which holds their state, too; optional.
            savepoint_path: The default directory of savepoints; optional.
            max_state_size: The largest snapshot of one slot, all its states together, in bytes.
            using_asynchronous_snapshots: Whether snapshots are written in the background; yes by default.
        """
        self._checkpoint_storage = JobManagerCheckpointStorage(checkpoint_path, max_state_size)
        self._savepoint_path = savepoint_path and paths.directory(savepoint_path)
        self.asynchronous = _optional_flag("using_asynchronous_snapshots", using_asynchronous_snapshots)

    def get_checkpoint_storage(self) -> JobManagerCheckpointStorage:
        """Return the storage this backend brings along."""
        return self._checkpoint_storage

    def get_checkpoint_path(self) -> str | None:
        """Return the directory for metadata, None if there is none."""
        return self._checkpoint_storage.get_checkpoint_path()

    def get_savepoint_path(self) -> str | None:
        """Return the default directory of savepoints, None if the configuration is to decide."""
        return self._savepoint_path

    def get_max_state_size(self) -> int:
        """Return the largest snapshot of one slot, in bytes."""
        return self._checkpoint_storage.get_max_state_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """Return whether snapshots are written in the background."""
        return self.asynchronous is not False


class FsStateBackend(HashMapStateBackend):
    """Be Flink 1.x's name for state in memory with checkpoints in a file system."""

    def __init__(
        self,
        checkpoint_directory_uri: str,
        default_savepoint_directory_uri: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
        using_asynchronous_snapshots: bool | None = None,
    ) -> None:
        """Describe the backend.

        Args:
            checkpoint_directory_uri: The directory for checkpoints.
            default_savepoint_directory_uri: The default directory of savepoints; optional.
            file_state_size_threshold: State below this many bytes is stored within the metadata file.
            write_buffer_size: The buffer for writing files, in bytes.
            using_asynchronous_snapshots: Whether snapshots are written in the background; yes by default.
        """
        self._checkpoint_storage = FileSystemCheckpointStorage(
            checkpoint_directory_uri,
            file_state_size_threshold,
            -1 if write_buffer_size is None else write_buffer_size,
        )
        self._savepoint_path = default_savepoint_directory_uri and paths.directory(default_savepoint_directory_uri)
        self.asynchronous = _optional_flag("using_asynchronous_snapshots", using_asynchronous_snapshots)

    def get_checkpoint_storage(self) -> FileSystemCheckpointStorage:
        """Return the storage this backend brings along."""
        return self._checkpoint_storage

    def get_checkpoint_path(self) -> str:
        """Return the directory for checkpoints."""
        return self._checkpoint_storage.get_checkpoint_path()

    def get_savepoint_path(self) -> str | None:
        """Return the default directory of savepoints, None if the configuration is to decide."""
        return self._savepoint_path

    def get_min_file_size_threshold(self) -> int:
        """Return the size in bytes below which state is stored within the metadata file."""
        return self._checkpoint_storage.get_min_file_size_threshold()

    def get_write_buffer_size(self) -> int:
        """Return the buffer for writing files, in bytes."""
        return self._checkpoint_storage.get_write_buffer_size()

    def is_using_asynchronous_snapshots(self) -> bool:
        """Return whether snapshots are written in the background."""
        return self.asynchronous is not False


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """Be Flink 1.x's name for state in RocksDB with checkpoints in a file system."""

    def __init__(
        self,
        checkpoint_data_uri: str | StateBackend | None = None,
        enable_incremental_checkpointing: bool | None = None,
        checkpoint_stream_backend: StateBackend | None = None,
    ) -> None:
        """Describe the backend.

        Args:
            checkpoint_data_uri: The directory for checkpoints; or, as in Java, a backend whose storage is used.
            enable_incremental_checkpointing: Whether a checkpoint stores only what changed since the last.
            checkpoint_stream_backend: In place of a directory, a backend whose storage is used.
        """
        super().__init__(enable_incremental_checkpointing)
        if isinstance(checkpoint_data_uri, StateBackend):
            if checkpoint_stream_backend is not None:
                raise TypeError("RocksDBStateBackend takes one backend whose storage is used, and was given two")
            checkpoint_data_uri, checkpoint_stream_backend = None, checkpoint_data_uri
        if checkpoint_stream_backend is None:
            if checkpoint_data_uri is None:
                raise ConfigurationError(
                    "RocksDBStateBackend needs checkpoint_data_uri or checkpoint_stream_backend; "
                    "EmbeddedRocksDBStateBackend needs neither"
                )
            checkpoint_stream_backend = FsStateBackend(checkpoint_data_uri)
        if not isinstance(checkpoint_stream_backend, StateBackend):
            raise TypeError(f"checkpoint_stream_backend must be a StateBackend, got {checkpoint_stream_backend!r}")
        self._checkpoint_backend = checkpoint_stream_backend

    def get_checkpoint_backend(self) -> StateBackend:
        """Return the backend whose checkpoint storage is used."""
        return self._checkpoint_backend

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return the storage this backend brings along."""
        return self._checkpoint_backend.get_checkpoint_storage()

    def get_savepoint_path(self) -> str | None:
        """Return the default directory of savepoints, None if the configuration is to decide."""
        return self._checkpoint_backend.get_savepoint_path()


class CustomStateBackend(StateBackend):
    """Refuse a backend written in Java: in PyFlink this class wraps one, here there is none to wrap."""

    def __init__(self, j_custom_state_backend: object) -> NoReturn:
        raise InvalidProgramError(
            "a state backend written in Java cannot be used: use HashMapStateBackend or EmbeddedRocksDBStateBackend"
        )


def _optional_flag(name: str, value: bool | None) -> bool | None:
    if value not in (None, True, False):
        raise TypeError(f"{name} must be None, True or False, got {value!r}")
    return value


def _local_directory(path: str) -> str:
    if not is_local(path):
        raise ConfigurationError(f"RocksDB storage path {path!r} is not on a local file system")
    local = local_path(path)
    if not local.startswith("/"):
        raise ConfigurationError(f"RocksDB storage path {path!r} is relative: use an absolute path")
    return paths.directory(local)
