"""Lays configurations over each other. Pure; ``configuration_files`` reads what there is on this machine.

The layers are, from the lowest to the highest: the defaults of the options, the file, the environment, the command
line, the program. An option may have several names, Flink 1's and Flink 2's: a higher layer wins whichever it uses.
Within one layer the preferred name wins, as in Flink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.configuration_origin import COMMAND_LINE
from rekindle.config.options import all_options
from rekindle.exceptions import ConfigurationError

__all__ = ["command_line_layer", "lay_over", "merged", "parse_properties"]


def merged(layers: Iterable[Configuration]) -> Configuration:
    """Return what holds, given the layers from the lowest to the highest."""
    result = Configuration()
    for layer in layers:
        lay_over(result, layer)
    return result


def lay_over(lower: Configuration, upper: Configuration) -> None:
    """Change a configuration to what holds when another one has precedence."""
    for key in upper.key_set():
        option = _OPTION_OF.get(key)
        for name in () if option is None else option.all_keys():
            lower.remove_config(name)
    lower.add_all(upper)


def command_line_layer(properties: Mapping[str, str]) -> Configuration:
    """Return the layer of what was given on a command line."""
    layer = Configuration()
    for key, value in properties.items():
        layer.put_from(COMMAND_LINE, key, value)
    return layer


def parse_properties(definitions: Iterable[str]) -> dict[str, str]:
    """Read ``key=value`` after ``key=value``; of a key that comes twice the last one holds.

    Raises:
        ConfigurationError: One of them reads differently.
    """
    properties = {}
    for definition in definitions:
        key, equals, value = definition.partition("=")
        if not equals or not key.strip():
            raise ConfigurationError(f"Cannot use {definition!r}: write key=value, as in parallelism.default=4.")
        properties[key.strip()] = value.strip()
    return properties


_OPTION_OF: dict[str, ConfigOption[Any]] = {key: option for option in all_options() for key in option.all_keys()}
