"""Settings of the command line that have no effect, because the program makes them, too, and wins."""

from __future__ import annotations

import logging
import os
from typing import Any

from rekindle.checkpoint.settings.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from rekindle.checkpoint.settings.state_backend import StateBackend
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.configuration_environment import command_line_in
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.execution_config import ExecutionConfig
from rekindle.config.options import (
    CheckpointingOptions,
    CoreOptions,
    PipelineOptions,
    RestartStrategyOptions,
    StateBackendOptions,
    all_options,
)
from rekindle.config.restart_strategy_configuration import FallbackRestartStrategyConfiguration
from rekindle.config.secrets import has_secret
from rekindle.logs.events import log_event


def warn_of_overridden_settings(
    job_name: str, in_force: Configuration, execution: ExecutionConfig, backend: StateBackend | None
) -> None:
    """Log each setting of the command line of this process that the program has replaced."""
    for text in overridden_settings(command_line_in(os.environ), in_force, execution, backend):
        log_event(logging.WARNING, job_name, None, "setting_overridden", text)


def overridden_settings(
    command_line: Configuration, in_force: Configuration, execution: ExecutionConfig, backend: StateBackend | None
) -> list[str]:
    """Say of each setting of the command line that the program has replaced it.

    Args:
        command_line: What the command line said.
        in_force: What holds.
        execution: What the program set there.
        backend: The state backend that the program set.
    """
    found = {
        **_brought_along(command_line, backend),
        **_in_configuration(command_line, in_force),
        **_elsewhere(command_line, execution, backend),
    }
    given = command_line.to_dict()
    return [f"{_given(key, given[key])} has no effect: the program sets {what}" for key, what in sorted(found.items())]


def _in_configuration(command_line: Configuration, in_force: Configuration) -> dict[str, str]:
    options = {key: option for option in all_options() for key in option.all_keys()}
    given, held = command_line.to_dict(), in_force.to_dict()
    found = {}
    for key in command_line.key_set():
        option = options.get(key)
        held_as = key if option is None else option.key_in(in_force) or key
        origin = in_force.origin_of(held_as)
        if not in_force.contains_key(held_as) or (origin is not None and origin.kind is OriginKind.COMMAND_LINE):
            continue
        one, other = given[key], held[held_as]
        if one != other and (option is None or option.parse(one) != option.parse(other)):
            found[key] = held_as if has_secret(key, other) else f"{held_as} to {other}"
    return found


def _elsewhere(command_line: Configuration, execution: ExecutionConfig, backend: StateBackend | None) -> dict[str, str]:
    """Look at what a program sets by methods that leave the configuration as it is."""
    parallelism, maximum = execution.get_parallelism(), execution.get_max_parallelism()
    strategy = execution.get_restart_strategy()
    fallback = isinstance(strategy, FallbackRestartStrategyConfiguration)
    ways: tuple[tuple[ConfigOption[Any], bool, str], ...] = (
        (CoreOptions.DEFAULT_PARALLELISM, parallelism > 0, f"the parallelism to {parallelism}"),
        (PipelineOptions.MAX_PARALLELISM, maximum > 0, f"the max parallelism to {maximum}"),
        (RestartStrategyOptions.RESTART_STRATEGY, not fallback, "a restart strategy"),
        (StateBackendOptions.STATE_BACKEND, backend is not None, "a state backend"),
    )
    found = {}
    for option, is_set, what in ways:
        key = option.key_in(command_line)
        same = what.endswith(f" to {command_line.get(option)}")
        if key is not None and is_set and not same:
            found[key] = what
    return found


def _brought_along(command_line: Configuration, backend: StateBackend | None) -> dict[str, str]:
    """Look at the directories that a backend of Flink 1.x brings along."""
    storage = None if backend is None else backend.get_checkpoint_storage()
    checkpoints = None
    if isinstance(storage, FileSystemCheckpointStorage | JobManagerCheckpointStorage):
        checkpoints = storage.get_checkpoint_path()
    ways = (
        (CheckpointingOptions.CHECKPOINTS_DIRECTORY, checkpoints),
        (CheckpointingOptions.SAVEPOINT_DIRECTORY, None if backend is None else backend.get_savepoint_path()),
    )
    found = {}
    for option, path in ways:
        key = option.key_in(command_line)
        if key is not None and path is not None and path != command_line.get(option):
            found[key] = f"a state backend with the directory {path}"
    return found


def _given(key: str, value: str) -> str:
    if key == CoreOptions.DEFAULT_PARALLELISM.key:
        return f"-p {value}"
    return f"-D {key}=…" if has_secret(key, value) else f"-D {key}={value}"
