"""Which backend keeps the keyed state of a job, and how; settled before the job starts, told to every slot."""

from __future__ import annotations

from dataclasses import dataclass, field

from rekindle.state.rocksdb.settings import RocksDBSettings


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """Choose and set up the backend of a job.

    Attributes:
        rocksdb: How RocksDB is set up; None: state is kept on the heap.
        incremental: Whether a checkpoint stores only what changed since the one before.
        local_recovery: Whether slots keep copies of their snapshots on local disk.
        local_directories: Where slots keep those copies, and databases without directories of their own. Empty: the
            temporary directory.
    """

    rocksdb: RocksDBSettings | None = None
    incremental: bool = False
    local_recovery: bool = False
    local_directories: tuple[str, ...] = field(default=())

    @property
    def database_directories(self) -> tuple[str, ...]:
        """Name the directories for databases."""
        own = () if self.rocksdb is None else self.rocksdb.directories
        return own or self.local_directories

    @property
    def all_local_directories(self) -> tuple[str, ...]:
        """Name all directories in which slots keep anything."""
        return tuple(dict.fromkeys([*self.local_directories, *self.database_directories]))
