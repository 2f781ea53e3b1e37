"""Where checkpoints are stored, as a program says it: in the job master's memory or in a file system.

These are values; the storage itself is in ``rekindle.checkpoint``.
"""

from __future__ import annotations

import posixpath
from typing import NoReturn
from urllib.parse import urlsplit

from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.config.options import AcceptedOptions, CheckpointingOptions
from rekindle.exceptions import ConfigurationError, InvalidProgramError

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage:
    """Say where checkpoints go. Two storages of one kind with equal settings are equal."""

    def open_files(self) -> CheckpointFiles | None:
        """Open where the files of checkpoints go; None: the job master's memory."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CheckpointStorage):
            return NotImplemented
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name.lstrip('_')}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({settings})"


class JobManagerCheckpointStorage(CheckpointStorage):
    """Store checkpoints in the memory of the job master, which is the Spark driver.

    For trying things out and for tiny state: checkpoints are lost with the driver, unless they are given a directory.
    There the metadata goes, with all state inside. Savepoints still go to a file system.
    """

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024
    """The largest snapshot of one slot, in bytes, unless given: 5 MiB."""

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        """Describe the storage.

        Args:
            checkpoint_path: A directory for the metadata of checkpoints, which holds their state, too; optional.
            max_state_size: The largest snapshot of one slot, all states together, in bytes; a larger one fails.
        """
        size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size
        if size <= 0:
            raise ConfigurationError(f"max_state_size must be greater than zero, got {size!r}")
        self._checkpoint_path = None if checkpoint_path is None else checked_directory(checkpoint_path)
        self._max_state_size = size

    def open_files(self) -> CheckpointFiles | None:
        """Open the directory for metadata, if there is one."""
        return None if self._checkpoint_path is None else checkpoint_files(self._checkpoint_path)

    def get_checkpoint_path(self) -> str | None:
        """Return the directory for metadata, None if there is none."""
        return self._checkpoint_path

    def get_max_state_size(self) -> int:
        """Return the largest snapshot of one slot, in bytes."""
        return self._max_state_size

    def get_savepoint_path(self) -> str | None:
        """Return None: savepoints go where ``execution.checkpointing.savepoint-dir`` says."""
        return None


class FileSystemCheckpointStorage(CheckpointStorage):
    """Store checkpoints as files in a directory of any file system that all hosts reach.

    Each job has its own subdirectory there. Small state chunks are stored within the metadata file.
    """

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    """The largest threshold for storing state within the metadata file: 1 MiB."""

    def __init__(
        self,
        checkpoint_path: str,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int = -1,
    ) -> None:
        """Describe the storage.

        Args:
            checkpoint_path: The directory: a URI such as ``s3://bucket/checkpoints``, or an absolute path.
            file_state_size_threshold: State below this many bytes is stored within the metadata file;
                None or -1 leaves it to the configuration.
            write_buffer_size: The buffer for writing files, in bytes; -1 leaves it to the configuration.
        """
        threshold = -1 if file_state_size_threshold is None else file_state_size_threshold
        if not -1 <= threshold <= self.MAX_FILE_STATE_THRESHOLD:
            raise ConfigurationError(
                f"file_state_size_threshold must be in [-1, {self.MAX_FILE_STATE_THRESHOLD}], where -1 "
                f"leaves it to the configuration, got {threshold!r}"
            )
        if write_buffer_size < -1:
            raise ConfigurationError(
                "write_buffer_size must not be less than -1, which leaves it to the configuration, "
                f"got {write_buffer_size!r}"
            )
        self._checkpoint_path = checked_directory(checkpoint_path)
        self._file_state_size_threshold = threshold
        self._write_buffer_size = write_buffer_size

    def open_files(self) -> CheckpointFiles:
        """Open the directory."""
        return checkpoint_files(self._checkpoint_path)

    def get_checkpoint_path(self) -> str:
        """Return the directory, without a slash at its end."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """Return None: savepoints go where ``execution.checkpointing.savepoint-dir`` says."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """Return the size in bytes below which state is stored within the metadata file.

        The option's default if the program left it to the configuration.
        """
        if self._file_state_size_threshold == -1:
            return CheckpointingOptions.MEMORY_THRESHOLD.default
        return self._file_state_size_threshold

    def get_write_buffer_size(self) -> int:
        """Return the buffer for writing files, in bytes; the option's default if left open."""
        if self._write_buffer_size == -1:
            return AcceptedOptions.WRITE_BUFFER_SIZE.default
        return self._write_buffer_size

    def is_min_file_size_threshold_set(self) -> bool:
        """Return True if the program set the threshold, False if the configuration is to decide."""
        return self._file_state_size_threshold != -1

    def is_write_buffer_size_set(self) -> bool:
        """Return True if the program set the write buffer, False if the configuration is to decide."""
        return self._write_buffer_size != -1


class CustomCheckpointStorage(CheckpointStorage):
    """Refuse a storage written in Java: in PyFlink this class wraps one, here there is none to wrap."""

    def __init__(self, j_custom_checkpoint_storage: object) -> NoReturn:
        raise InvalidProgramError(
            "a checkpoint storage written in Java cannot be used: use JobManagerCheckpointStorage or "
            "FileSystemCheckpointStorage"
        )


def checked_directory(path: str, what: str = "checkpoint path") -> str:
    """Return a directory without a slash at its end; raise for one that cannot be meant.

    Args:
        path: A URI or an absolute path.
        what: What it is for, for the error message.
    """
    if not isinstance(path, str):
        raise ConfigurationError(f"the {what} must be a string, got {path!r}")
    if not path.strip():
        raise ConfigurationError(f"the {what} must not be empty")
    paths.checked_location(path, what)
    try:
        parts = urlsplit(path)
    except ValueError as error:
        raise ConfigurationError(f"the {what} {path!r} cannot be read as a URI: {error}") from error
    local = is_local(path)
    if local and parts.scheme not in ("", "file"):
        raise ConfigurationError(f"the {what} {path!r} has no // after its scheme: write scheme://host/path")
    if local and not local_path(path).startswith("/"):
        raise ConfigurationError(
            f"the {what} {path!r} is relative, and would mean another directory on every host: "
            "use a URI (file://, hdfs://, s3://, …) or an absolute path"
        )
    if not posixpath.normpath(parts.path).strip("/."):
        raise ConfigurationError(f"the {what} {path!r} is the root directory: name one below it")
    return paths.directory(path)
