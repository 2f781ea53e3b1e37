"""Faults to order: a checkpoint storage that fails at its k-th operation, counted over all processes of a job."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from enum import Enum
from typing import BinaryIO, TypeVar

from rekindle.checkpoint.settings.checkpoint_storage import FileSystemCheckpointStorage
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import CheckpointStorageError

__all__ = ["FaultInjectingCheckpointStorage", "FaultKind"]

T = TypeVar("T")


class FaultKind(Enum):
    """Say what happens at the chosen operation."""

    ERROR_BEFORE = "the operation fails and leaves nothing"
    ERROR_AFTER = "the operation takes place, but is reported as failed"
    KILL = "the process is killed with SIGKILL instead of doing the operation"


class FaultInjectingCheckpointStorage(FileSystemCheckpointStorage):
    """Store checkpoints in a directory; fail once, at operation ``fail_at``.

    Args:
        checkpoint_path: The directory of the checkpoints.
        counter_path: A file in which all processes count their operations; it must not exist yet.
        fail_at: Number of the operation that fails, counted from 1; 0 never fails.
        kind: What happens there.
    """

    def __init__(
        self, checkpoint_path: str, counter_path: str, fail_at: int = 0, kind: FaultKind = FaultKind.ERROR_BEFORE
    ) -> None:
        super().__init__(checkpoint_path, file_state_size_threshold=0)
        self._counter_path = counter_path
        self._fail_at = fail_at
        self._kind = kind

    def open_files(self) -> CheckpointFiles:
        """Open the directory, behind the fault."""
        return _FaultyFiles(checkpoint_files(self.get_checkpoint_path()), self._counter_path, self._fail_at, self._kind)

    def operations(self) -> list[str]:
        """List the operations so far: what was done to which path."""
        try:
            with open(self._counter_path) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []


class _FaultyFiles(CheckpointFiles):
    def __init__(self, files: CheckpointFiles, counter_path: str, fail_at: int, kind: FaultKind) -> None:
        self.root = files.root
        self._files = files
        self._counter_path = counter_path
        self._fail_at = fail_at
        self._kind = kind

    def write(self, path: str, source: BinaryIO) -> int:
        return self._do("write", path, lambda: self._files.write(path, source))

    def create(self, path: str, data: bytes) -> None:
        self._do("create", path, lambda: self._files.create(path, data))

    def open(self, path: str) -> BinaryIO:
        return self._do("open", path, lambda: self._files.open(path))

    def list(self, directory: str) -> list[str]:
        return self._do("list", directory, lambda: self._files.list(directory))

    def delete(self, path: str) -> None:
        self._do("delete", path, lambda: self._files.delete(path))

    def _do(self, what: str, path: str, operation: Callable[[], T]) -> T:
        faulty = self._count(f"{what} {path}") == self._fail_at
        if faulty and self._kind is FaultKind.KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if faulty and self._kind is FaultKind.ERROR_BEFORE:
            raise self._error(what, path)
        result = operation()
        if faulty:
            raise self._error(what, path)
        return result

    def _error(self, what: str, path: str) -> CheckpointStorageError:
        cause = OSError(errno.EIO, "Input/output error (injected)")
        error = CheckpointStorageError(f"cannot {what} {self.describe(path)}: {cause.strerror}")
        error.__cause__ = cause
        return error

    def _count(self, line: str) -> int:
        """Add a line to the shared count; return its number."""
        with open(self._counter_path, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = file.read().count("\n") + 1
            file.write(line + "\n")
            file.flush()
            return number
