"""How a program is executed: parallelism, watermark interval, cancellation, object reuse.

A pure holder. What concerns Java's serializers (Kryo, Avro, POJOs) is remembered and has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Any

from rekindle.config.accepted_options import AcceptedOptions
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.java_serializer_config import JavaSerializerConfig
from rekindle.config.job_options import CoreOptions, PipelineOptions
from rekindle.config.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from rekindle.config.state_options import CheckpointingOptions
from rekindle.exceptions import ConfigurationError

__all__ = ["ExecutionConfig", "ExecutionMode", "InputDependencyConstraint"]

_MAX_PARALLELISM_LIMIT = 32_768


class ExecutionMode(Enum):
    """Say whether exchanges are pipelined or blocking. Without effect: for programs written for Flink 1.x."""

    PIPELINED = 0
    PIPELINED_FORCED = 1
    BATCH = 2
    BATCH_FORCED = 3


class InputDependencyConstraint(Enum):
    """Say whether a task starts with one input or all. Without effect: for programs written for Flink 1.x."""

    ANY = 0
    ALL = 1


class ExecutionConfig(JavaSerializerConfig):
    """Hold the settings of a program's execution. Setters return the config, so that they chain."""

    PARALLELISM_DEFAULT = -1
    """Stands for the environment's default parallelism."""

    PARALLELISM_UNKNOWN = -2
    """Stands for no parallelism at all: setting it changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._closure_cleaner = True
        self._auto_watermark_interval = 200
        self._latency_tracking_interval = 0
        self._parallelism = self.PARALLELISM_DEFAULT
        self._max_parallelism = -1
        self._task_cancellation_interval = 30_000
        self._task_cancellation_timeout = 180_000
        self._auto_generated_uids = True
        self._object_reuse = False
        self._snapshot_compression = False
        self._global_job_parameters: dict[str, str] = {}
        self._restart_strategy: RestartStrategyConfiguration = RestartStrategies.fall_back_restart()
        self._execution_mode = ExecutionMode.PIPELINED
        self._input_dependency_constraint = InputDependencyConstraint.ANY

    def configure(self, configuration: Configuration) -> None:
        """Apply what a configuration says about these settings; the others stay as they are.

        Raises:
            ConfigurationError: A value in it does not fit.
        """
        settings: tuple[tuple[ConfigOption[Any], Callable[[Any], object]], ...] = (
            (CoreOptions.DEFAULT_PARALLELISM, self.set_parallelism),
            (PipelineOptions.MAX_PARALLELISM, self._take_max_parallelism),
            (PipelineOptions.AUTO_WATERMARK_INTERVAL, self.set_auto_watermark_interval),
            (PipelineOptions.AUTO_GENERATE_UIDS, partial(setattr, self, "_auto_generated_uids")),
            (AcceptedOptions.OBJECT_REUSE, partial(setattr, self, "_object_reuse")),
            (CheckpointingOptions.SNAPSHOT_COMPRESSION, self.set_use_snapshot_compression),
            (AcceptedOptions.CANCELLATION_INTERVAL, self.set_task_cancellation_interval),
            (AcceptedOptions.CANCELLATION_TIMEOUT, self.set_task_cancellation_timeout),
        )
        for option, take in settings:
            if option.is_set_in(configuration):
                take(option.get_from(configuration))

    def _take_max_parallelism(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism if max_parallelism > 0 else -1

    # -- parallelism

    def get_parallelism(self) -> int:
        """Return the parallelism of operators that set none; ``PARALLELISM_DEFAULT`` if it is left open."""
        return self._parallelism

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the parallelism of operators that set none.

        Raises:
            ConfigurationError: It is below 1 and not ``PARALLELISM_DEFAULT``.
        """
        if parallelism == self.PARALLELISM_UNKNOWN:
            return self
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ConfigurationError(
                "Parallelism must be at least one, or ExecutionConfig.PARALLELISM_DEFAULT (use system "
                f"default), got {parallelism}."
            )
        self._parallelism = parallelism
        return self

    def get_max_parallelism(self) -> int:
        """Return the number of key groups, -1 if it is left open."""
        return self._max_parallelism

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the number of key groups, which bounds the parallelism after any rescaling.

        Raises:
            ConfigurationError: It is not between 1 and 32768.
        """
        if not 0 < max_parallelism <= _MAX_PARALLELISM_LIMIT:
            raise ConfigurationError(
                f"The maximum parallelism must be greater than 0 and at most {_MAX_PARALLELISM_LIMIT}, "
                f"got {max_parallelism}."
            )
        self._max_parallelism = max_parallelism
        return self

    # -- time

    def get_auto_watermark_interval(self) -> int:
        """Return how many milliseconds there are between watermarks."""
        return self._auto_watermark_interval

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set how many milliseconds there are between watermarks; 0 switches them off."""
        self._auto_watermark_interval = _not_negative("Auto watermark interval", interval)
        return self

    def get_latency_tracking_interval(self) -> int:
        """Return how many milliseconds there are between latency marks; 0 or less for none."""
        return self._latency_tracking_interval

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Set how many milliseconds there are between latency marks; 0 or less switches them off."""
        self._latency_tracking_interval = interval
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return how many milliseconds there are between attempts to cancel a task."""
        return self._task_cancellation_interval

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set how many milliseconds there are between attempts to cancel a task."""
        self._task_cancellation_interval = interval
        return self

    def get_task_cancellation_timeout(self) -> int:
        """Return after how many milliseconds a task that does not cancel is an error; 0 for never."""
        return self._task_cancellation_timeout

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set after how many milliseconds a task that does not cancel is an error; 0 for never."""
        self._task_cancellation_timeout = _not_negative("Timeout", timeout)
        return self

    # -- switches

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Switch the closure cleaner on; Python functions need none."""
        self._closure_cleaner = True
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Switch the closure cleaner off."""
        self._closure_cleaner = False
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return whether the closure cleaner is on."""
        return self._closure_cleaner

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Let operators without a uid get one derived from the graph."""
        self._auto_generated_uids = True
        return self

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Demand that every operator is given a uid, so that savepoints outlive changes of the program."""
        self._auto_generated_uids = False
        return self

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether operators may go without a uid."""
        return self._auto_generated_uids

    def enable_object_reuse(self) -> ExecutionConfig:
        """Let functions of one chain hand each other the same objects, without copies."""
        self._object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        """Keep the objects of different functions apart."""
        self._object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        """Return whether functions of one chain hand each other the same objects."""
        return self._object_reuse

    def is_use_snapshot_compression(self) -> bool:
        """Return whether keyed state is compressed in full checkpoints and savepoints."""
        return self._snapshot_compression

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Set whether keyed state is compressed in full checkpoints and savepoints."""
        self._snapshot_compression = use_snapshot_compression
        return self

    # -- parameters and strategies

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that every function of the job can read."""
        return dict(self._global_job_parameters)

    def set_global_job_parameters(self, global_job_parameters_dict: Mapping[str, Any]) -> ExecutionConfig:
        """Set the parameters that every function of the job can read; values become text."""
        self._global_job_parameters = {key: str(value) for key, value in global_job_parameters_dict.items()}
        return self

    def get_restart_strategy(self) -> RestartStrategyConfiguration:
        """Return the restart strategy; while none is set, the one that falls back on the configuration."""
        return self._restart_strategy

    def set_restart_strategy(self, restart_strategy: RestartStrategyConfiguration) -> ExecutionConfig:
        """Set the restart strategy; it wins over the configuration's."""
        self._restart_strategy = restart_strategy
        return self

    def get_execution_mode(self) -> ExecutionMode:
        """Return the execution mode that was set; it has no effect."""
        return self._execution_mode

    def set_execution_mode(self, execution_mode: ExecutionMode) -> ExecutionConfig:
        """Remember an execution mode; it has no effect."""
        self._execution_mode = execution_mode
        return self

    def get_default_input_dependency_constraint(self) -> InputDependencyConstraint:
        """Return the input dependency constraint that was set; it has no effect."""
        return self._input_dependency_constraint

    def set_default_input_dependency_constraint(
        self, input_dependency_constraint: InputDependencyConstraint
    ) -> ExecutionConfig:
        """Remember an input dependency constraint; it has no effect."""
        self._input_dependency_constraint = input_dependency_constraint
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((self._parallelism, self._max_parallelism, self._auto_watermark_interval))


def _not_negative(name: str, value: int) -> int:
    if value < 0:
        raise ConfigurationError(f"{name} must not be negative, got {value}.")
    return value
