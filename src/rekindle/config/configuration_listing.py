"""Lists what a configuration comes to: each setting with its value and where that was written. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.configuration_origin import DEFAULT, PROGRAM, Origin
from rekindle.config.options import PipelineOptions, known_key, option_groups
from rekindle.config.secrets import shown

__all__ = ["Setting", "listed_settings"]

SPARK = "Spark"
UNKNOWN = "Unknown"

_TIMES = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
_SIZES = (("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10))


@dataclass(frozen=True, slots=True)
class Setting:
    """Describe a setting in force.

    Attributes:
        group: What it belongs to, such as ``RestartStrategy``; ``Spark`` for what Spark is given.
        key: Its name.
        set_as: The name that was used to set it; the key itself, where that is not one of Flink 1's.
        value: Its value as it was written, or its default; ``None`` while it has neither. Secrets are hidden.
        origin: Where the value was written.
        description: One sentence on what it does; empty where nobody knows.
    """

    group: str
    key: str
    set_as: str
    value: str | None
    origin: Origin
    description: str

    @property
    def is_set(self) -> bool:
        """Return whether somebody set it."""
        return self.origin is not DEFAULT


def listed_settings(configuration: Configuration) -> Iterator[Setting]:
    """Yield every option, then the keys of Spark and the unknown ones that are set; by group, then by key.

    Raises:
        ConfigurationError: A value does not fit its option.
    """
    listed: set[str] = set()
    for group, options in option_groups().items():
        listed.update(key for option in options for key in option.all_keys())
        yield from (_setting(group, option, configuration) for option in sorted(options, key=lambda each: each.key))
    others = sorted(configuration.key_set() - listed)
    for key in sorted(others, key=known_key, reverse=True):  # keys that nobody knows come last
        yield Setting(
            group=SPARK if known_key(key) else UNKNOWN,
            key=key,
            set_as=key,
            value=_shown(key, configuration.get_string(key, "")),
            origin=configuration.origin_of(key) or PROGRAM,
            description="",
        )


def _setting(group: str, option: ConfigOption[Any], configuration: Configuration) -> Setting:
    key = option.key_in(configuration)
    if key is None:
        value = None if option.default is None else _shown(option.key, _default_text(option))
        return Setting(group, option.key, option.key, value, DEFAULT, option.description)
    option.get_from(configuration)
    value = _shown(option.key, configuration.get_string(key, ""))
    return Setting(group, option.key, key, value, configuration.origin_of(key) or PROGRAM, option.description)


def _shown(key: str, value: str) -> str:
    """Return a value for everybody's eyes; the parameters of a job are settings of their own, some of them secret."""
    if key != PipelineOptions.GLOBAL_JOB_PARAMETERS.key:
        return shown(key, value)
    pairs = (pair.partition(":") for pair in value.split(","))
    return ",".join(f"{name}{colon}{shown(name, each)}" for name, colon, each in pairs)


def _default_text(option: ConfigOption[Any]) -> str:
    default = option.default
    match option.type_name:
        case "boolean":
            return "true" if default else "false"
        case "duration":
            return _in_units(default, _TIMES, "ms")
        case "memory":
            return _in_units(default, _SIZES, "bytes")
        case "ports" if len(default) > 1 and default == tuple(range(default[0], default[-1] + 1)):
            return f"{default[0]}-{default[-1]}"
        case "ports":
            return ",".join(map(str, default))
    return str(default)


def _in_units(number: int, units: tuple[tuple[str, int], ...], smallest: str) -> str:
    for unit, size in units:
        if number and number % size == 0:
            return f"{number // size} {unit}"
    return f"{number} {smallest}"
