"""The configuration keys that Rekindle knows, with their types and defaults.

Keys are Flink's. Where Flink 1.x and 2.x call the same thing by two names, the option has 2.x's name as its
key and 1.x's as a fallback key. Rekindle's own keys start with ``rekindle.``. Keys that start with ``spark.``
are handed to Spark and not listed here.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterator
from typing import Any

from rekindle.common.accepted_checkpointing_options import AcceptedCheckpointingOptions
from rekindle.common.config_options import ConfigOption
from rekindle.common.configuration import Configuration
from rekindle.common.job_options import CoreOptions, ExecutionOptions, PipelineOptions, RestartStrategyOptions
from rekindle.common.rest_options import RestOptions
from rekindle.common.runtime_options import (
    HeartbeatOptions,
    JobManagerOptions,
    PythonOptions,
    QueryableStateOptions,
    RekindleOptions,
    TaskManagerOptions,
)
from rekindle.common.state_options import (
    CheckpointingOptions,
    RocksDBOptions,
    StateBackendOptions,
    StateRecoveryOptions,
)

__all__ = [
    "CheckpointingOptions",
    "CoreOptions",
    "ExecutionOptions",
    "HeartbeatOptions",
    "JobManagerOptions",
    "PipelineOptions",
    "PythonOptions",
    "QueryableStateOptions",
    "RekindleOptions",
    "RestOptions",
    "RestartStrategyOptions",
    "RocksDBOptions",
    "StateBackendOptions",
    "StateRecoveryOptions",
    "TaskManagerOptions",
    "all_options",
    "known_key",
    "warn_unknown_keys",
]

_PASSED_TO_SPARK = "spark."

_GROUPS: tuple[type, ...] = (
    CheckpointingOptions,
    AcceptedCheckpointingOptions,
    StateBackendOptions,
    RocksDBOptions,
    StateRecoveryOptions,
    RestartStrategyOptions,
    PipelineOptions,
    ExecutionOptions,
    CoreOptions,
    HeartbeatOptions,
    JobManagerOptions,
    TaskManagerOptions,
    QueryableStateOptions,
    RekindleOptions,
    RestOptions,
    PythonOptions,
)


def all_options() -> Iterator[ConfigOption[Any]]:
    """Yield every option in the catalogue."""
    for group in _GROUPS:
        yield from (option for option in vars(group).values() if isinstance(option, ConfigOption))


_KNOWN_KEYS = frozenset(key for option in all_options() for key in option.all_keys())


def known_key(key: str) -> bool:
    """Return whether the key means something, be it a fallback key or one for Spark."""
    return key in _KNOWN_KEYS or key.startswith(_PASSED_TO_SPARK)


def warn_unknown_keys(configuration: Configuration, stacklevel: int = 2) -> None:
    """Warn of every key that means nothing, and name the known key that is closest to it.

    Args:
        configuration: What to look through.
        stacklevel: Whose line the warning points at; 2 is the caller's.
    """
    for key in sorted(configuration.key_set()):
        if known_key(key):
            continue
        closest = difflib.get_close_matches(key, _KNOWN_KEYS, n=1)
        hint = f"; did you mean {closest[0]!r}?" if closest else "."
        warnings.warn(f"Unknown configuration key {key!r} has no effect{hint}", UserWarning, stacklevel)
