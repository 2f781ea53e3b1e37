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

from rekindle.config.accepted_options import AcceptedOptions
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.crash_record_options import CrashRecordOptions
from rekindle.config.high_availability_options import HighAvailabilityOptions
from rekindle.config.job_options import CoreOptions, ExecutionOptions, PipelineOptions, RestartStrategyOptions
from rekindle.config.log_options import LogOptions
from rekindle.config.rest_options import RestOptions
from rekindle.config.runtime_options import (
    HeartbeatOptions,
    JobManagerOptions,
    PythonOptions,
    QueryableStateOptions,
    RekindleOptions,
)
from rekindle.config.state_options import (
    CheckpointingOptions,
    RocksDBOptions,
    StateBackendOptions,
    StateRecoveryOptions,
)

__all__ = [
    "AcceptedOptions",
    "CheckpointingOptions",
    "CoreOptions",
    "CrashRecordOptions",
    "ExecutionOptions",
    "HeartbeatOptions",
    "HighAvailabilityOptions",
    "JobManagerOptions",
    "LogOptions",
    "PipelineOptions",
    "PythonOptions",
    "QueryableStateOptions",
    "RekindleOptions",
    "RestOptions",
    "RestartStrategyOptions",
    "RocksDBOptions",
    "StateBackendOptions",
    "StateRecoveryOptions",
    "all_options",
    "closest_key",
    "known_key",
    "known_keys",
    "option_groups",
    "warn_unknown_keys",
]

_PASSED_TO_SPARK = "spark."
WARNED: dict[str | tuple[str, type[Warning], int], int] = {}  # what Python remembers of warnings that it has shown

_GROUPS: tuple[type, ...] = (
    CheckpointingOptions,
    StateBackendOptions,
    RocksDBOptions,
    StateRecoveryOptions,
    RestartStrategyOptions,
    PipelineOptions,
    ExecutionOptions,
    CoreOptions,
    HeartbeatOptions,
    HighAvailabilityOptions,
    JobManagerOptions,
    QueryableStateOptions,
    RekindleOptions,
    CrashRecordOptions,
    LogOptions,
    RestOptions,
    PythonOptions,
    AcceptedOptions,
)
_NAMES: dict[type, str] = {AcceptedOptions: "Accepted, without effect"}


def option_groups() -> dict[str, list[ConfigOption[Any]]]:
    """Return the options by the name of their group, as ``RestartStrategy``; what has no effect comes last."""
    return {
        _NAMES.get(group, group.__name__.removesuffix("Options")): [
            option for option in vars(group).values() if isinstance(option, ConfigOption)
        ]
        for group in _GROUPS
    }


def all_options() -> Iterator[ConfigOption[Any]]:
    """Yield every option in the catalogue."""
    for options in option_groups().values():
        yield from options


_KNOWN_KEYS = frozenset(key for option in all_options() for key in option.all_keys())


def known_keys() -> frozenset[str]:
    """Return the keys of all options, their fallback keys among them."""
    return _KNOWN_KEYS


def closest_key(key: str) -> str | None:
    """Return the known key that is closest to one that is not known; ``None`` when none is close."""
    return next(iter(difflib.get_close_matches(key, _KNOWN_KEYS, n=1)), None)


def known_key(key: str) -> bool:
    """Return whether the key means something, be it a fallback key or one for Spark."""
    return key in _KNOWN_KEYS or key.startswith(_PASSED_TO_SPARK)


def warn_unknown_keys(configuration: Configuration, stacklevel: int = 2) -> None:
    """Warn of every key that means nothing, and name the known key that is closest to it.

    A key that was written in a file is warned of there, by file and line, and but once; any other one where it was set.

    Args:
        configuration: What to look through.
        stacklevel: Whose line the warning points at; 2 is the caller's.
    """
    for key in sorted(configuration.key_set()):
        if known_key(key):
            continue
        closest = closest_key(key)
        hint = "." if closest is None else f"; did you mean {closest!r}?"
        origin = configuration.origin_of(key)
        if origin is not None and origin.kind is OriginKind.FILE:
            message = f"Unknown configuration key {key!r} in {origin} has no effect{hint}"
            warnings.warn_explicit(message, UserWarning, origin.place, origin.line or 1, registry=WARNED)
            continue
        place = "" if origin is None else f" ({origin})"
        warnings.warn(f"Unknown configuration key {key!r}{place} has no effect{hint}", UserWarning, stacklevel)
