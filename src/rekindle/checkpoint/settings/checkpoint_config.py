"""The checkpoint settings of a program, as a typed view over its configuration.

A setter writes the configuration key that a file could set as well, a getter reads it, so there is one truth.
"""

from __future__ import annotations

from typing import Any

from rekindle.base.time import Duration
from rekindle.checkpoint.settings.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.options import AcceptedOptions, CheckpointingOptions
from rekindle.contracts.checkpointing_mode import CheckpointingMode
from rekindle.contracts.externalized_checkpoint_retention import (
    ExternalizedCheckpointCleanup,
    ExternalizedCheckpointRetention,
)
from rekindle.exceptions import ConfigurationError

__all__ = ["CheckpointConfig", "ExternalizedCheckpointCleanup"]

_TOLERATE_ALL = 2**31 - 1
_STORAGE_OPTIONS: tuple[ConfigOption[Any], ...] = (
    CheckpointingOptions.CHECKPOINT_STORAGE,
    CheckpointingOptions.CHECKPOINTS_DIRECTORY,
    CheckpointingOptions.MEMORY_THRESHOLD,
    AcceptedOptions.WRITE_BUFFER_SIZE,
)


class CheckpointConfig:
    """Set when, how and where to a job's checkpoints are taken; setters return the object itself.

    Times are in milliseconds. Unaligned checkpoints and their settings are accepted and remembered, and
    change nothing: a checkpoint is taken between two epochs, when no record is in flight, so it is aligned
    by construction and never waits behind records.
    """

    DEFAULT_MODE = CheckpointingMode.EXACTLY_ONCE
    DEFAULT_TIMEOUT = 10 * 60 * 1000
    DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS = 0
    DEFAULT_MAX_CONCURRENT_CHECKPOINTS = 1

    def __init__(self, configuration: Configuration) -> None:
        """View a configuration.

        Args:
            configuration: Read and written in place, not copied.
        """
        self._configuration = configuration
        self._storage: CheckpointStorage | None = None
        self._storage_keys: tuple[Any, ...] | None = None
        self._prefer_checkpoint_for_recovery = False

    # -- when

    def is_checkpointing_enabled(self) -> bool:
        """Return True if an interval is set."""
        return self.get_checkpoint_interval() > 0

    def disable_checkpointing(self) -> CheckpointConfig:
        """Take no periodic checkpoints; savepoints are still possible."""
        self._configuration.remove_config(CheckpointingOptions.CHECKPOINTING_INTERVAL.key)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the time between the starts of two checkpoints, -1 if none are taken."""
        interval = self._configuration.get(CheckpointingOptions.CHECKPOINTING_INTERVAL)
        return -1 if interval is None else interval

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the time between the starts of two checkpoints; more than 0."""
        return self._set_at_least(CheckpointingOptions.CHECKPOINTING_INTERVAL, checkpoint_interval, 1)

    def get_checkpoint_timeout(self) -> int:
        """Return how long a checkpoint may take before it is given up."""
        return self._configuration.get(CheckpointingOptions.CHECKPOINTING_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set how long a checkpoint may take before it is given up; more than 0."""
        return self._set_at_least(CheckpointingOptions.CHECKPOINTING_TIMEOUT, checkpoint_timeout, 1)

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the time between the end of a checkpoint and the start of the next."""
        return self._configuration.get(CheckpointingOptions.MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Set the time between the end of a checkpoint and the start of the next.

        If it is more than 0, there is at most one checkpoint at a time.
        """
        return self._set_at_least(CheckpointingOptions.MIN_PAUSE, min_pause_between_checkpoints, 0)

    def get_max_concurrent_checkpoints(self) -> int:
        """Return how many checkpoints may be under way at once."""
        return self._configuration.get(CheckpointingOptions.MAX_CONCURRENT_CHECKPOINTS)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set how many checkpoints may be under way at once; at least 1."""
        return self._set_at_least(CheckpointingOptions.MAX_CONCURRENT_CHECKPOINTS, max_concurrent_checkpoints, 1)

    # -- how

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return what a record may do to state when the job recovers."""
        return CheckpointingMode[self._configuration.get(CheckpointingOptions.CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Choose what a record may do to state when the job recovers."""
        return self._set(CheckpointingOptions.CHECKPOINTING_MODE, checkpointing_mode)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return how many checkpoints in a row may fail before the job does."""
        return self._configuration.get(CheckpointingOptions.TOLERABLE_FAILED_CHECKPOINTS)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many checkpoints in a row may fail before the job does; 0: the first failure fails it."""
        return self._set_at_least(
            CheckpointingOptions.TOLERABLE_FAILED_CHECKPOINTS, tolerable_checkpoint_failure_number, 0
        )

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return True if the first failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Let the first failed checkpoint fail the job, or none at all."""
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else _TOLERATE_ALL)

    def is_prefer_checkpoint_for_recovery(self) -> bool:
        """Return what was set; without effect, Flink itself no longer has it."""
        return self._prefer_checkpoint_for_recovery

    def set_prefer_checkpoint_for_recovery(self, prefer_checkpoint_for_recovery: bool) -> CheckpointConfig:
        """Remember the setting; without effect, Flink itself no longer has it."""
        self._prefer_checkpoint_for_recovery = prefer_checkpoint_for_recovery
        return self

    # -- where to, and for how long

    def get_checkpoint_storage(self) -> CheckpointStorage | None:
        """Return where checkpoints go, as the program or the configuration says; None if neither does."""
        if self._storage is not None and self._storage_keys == self._current_storage_keys():
            return self._storage
        kind, directory, threshold, write_buffer = self._current_storage_keys()
        if kind is None and directory is None:
            return None
        if kind == "jobmanager":
            return JobManagerCheckpointStorage(directory)
        if directory is None:
            raise ConfigurationError(
                f"{CheckpointingOptions.CHECKPOINT_STORAGE.key} is 'filesystem', which needs "
                f"{CheckpointingOptions.CHECKPOINTS_DIRECTORY.key} too"
            )
        return FileSystemCheckpointStorage(directory, threshold, -1 if write_buffer is None else write_buffer)

    def set_checkpoint_storage(self, storage: CheckpointStorage | str) -> CheckpointConfig:
        """Choose where checkpoints go.

        Args:
            storage: A storage; or a directory, as a URI or an absolute path.
        """
        if isinstance(storage, str):
            storage = FileSystemCheckpointStorage(storage)
        elif not isinstance(storage, CheckpointStorage):
            raise TypeError(f"checkpoint storage is given as CheckpointStorage or path, got {storage!r}")
        if isinstance(storage, FileSystemCheckpointStorage):
            self._set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem")
            self._set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, storage.get_checkpoint_path())
            if storage.is_min_file_size_threshold_set():
                self._set(CheckpointingOptions.MEMORY_THRESHOLD, storage.get_min_file_size_threshold())
            if storage.is_write_buffer_size_set():
                self._set(AcceptedOptions.WRITE_BUFFER_SIZE, storage.get_write_buffer_size())
        elif isinstance(storage, JobManagerCheckpointStorage):
            self._set(CheckpointingOptions.CHECKPOINT_STORAGE, "jobmanager")
            path = storage.get_checkpoint_path()
            if path is not None:
                self._set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, path)
        # The object says more than the keys (its class, its limits), and holds until one of them changes.
        self._storage = storage
        self._storage_keys = self._current_storage_keys()
        return self

    def set_checkpoint_storage_dir(self, checkpoint_path: str) -> CheckpointConfig:
        """Let checkpoints go to files in this directory, a URI or an absolute path."""
        return self.set_checkpoint_storage(FileSystemCheckpointStorage(checkpoint_path))

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return True if checkpoints may outlive the job."""
        return (
            self.get_externalized_checkpoint_retention()
            is not ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
        )

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return what becomes of checkpoints when the job ends."""
        name = self._configuration.get(CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION)
        return ExternalizedCheckpointRetention[name]

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Choose what becomes of checkpoints when the job ends."""
        return self._set(CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION, retention_mode)

    def enable_externalized_checkpoints(self, cleanup_mode: ExternalizedCheckpointRetention) -> CheckpointConfig:
        """Choose what becomes of checkpoints when the job ends (Flink 1.x's name)."""
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    def get_externalized_checkpoint_cleanup(self) -> ExternalizedCheckpointRetention:
        """Return what becomes of checkpoints when the job ends (Flink 1.x's name)."""
        return self.get_externalized_checkpoint_retention()

    def set_externalized_checkpoint_cleanup(self, cleanup_mode: ExternalizedCheckpointRetention) -> CheckpointConfig:
        """Choose what becomes of checkpoints when the job ends (Flink 1.x's name)."""
        return self.set_externalized_checkpoint_retention(cleanup_mode)

    def is_force_checkpointing(self) -> bool:
        """Return True if also programs with iterations have checkpoints."""
        return self._configuration.get(CheckpointingOptions.FORCE_CHECKPOINTING)

    def set_force_checkpointing(self, force_checkpointing: bool) -> CheckpointConfig:
        """Choose whether also programs with iterations have checkpoints."""
        return self._set(CheckpointingOptions.FORCE_CHECKPOINTING, force_checkpointing)

    # -- without effect: epochs are aligned by construction

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return True if unaligned checkpoints were asked for; without exactly-once there are none."""
        exactly_once = self.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
        return exactly_once and self._configuration.get(AcceptedOptions.UNALIGNED)

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Remember the setting; without effect, checkpoints are aligned by construction."""
        return self._set(AcceptedOptions.UNALIGNED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Remember the setting; without effect, checkpoints are aligned by construction."""
        return self.enable_unaligned_checkpoints(False)

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return what was set; without effect, there is no alignment to wait for."""
        return Duration.of_millis(self._configuration.get(AcceptedOptions.ALIGNED_CHECKPOINT_TIMEOUT))

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Remember the setting; without effect, there is no alignment to wait for."""
        return self._set_at_least(AcceptedOptions.ALIGNED_CHECKPOINT_TIMEOUT, alignment_timeout, 0)

    def get_alignment_timeout(self) -> Duration:
        """Return what was set; the old name of ``get_aligned_checkpoint_timeout``."""
        return self.get_aligned_checkpoint_timeout()

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Remember the setting; the old name of ``set_aligned_checkpoint_timeout``."""
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return what was set; without effect, checkpoints are aligned by construction."""
        return self._configuration.get(AcceptedOptions.FORCE_UNALIGNED)

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Remember the setting; without effect, checkpoints are aligned by construction."""
        return self._set(AcceptedOptions.FORCE_UNALIGNED, force_unaligned_checkpoints)

    def _set(self, option: ConfigOption[Any], value: object) -> CheckpointConfig:
        self._configuration.set(option, value)
        return self

    def _set_at_least(self, option: ConfigOption[Any], value: object, least: int) -> CheckpointConfig:
        number = option.parse(value)
        if number < least:
            raise ConfigurationError(f"{option.key} is {value!r}, but must be at least {least}")
        return self._set(option, number)

    def _current_storage_keys(self) -> tuple[Any, ...]:
        return tuple(
            self._configuration.get(option) if self._configuration.contains(option) else None
            for option in _STORAGE_OPTIONS
        )
