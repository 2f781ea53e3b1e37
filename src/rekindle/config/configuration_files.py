"""Reads the configuration that holds on this machine, for this process, before a program adds its own."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

from rekindle.config.configuration import Configuration
from rekindle.config.configuration_environment import CONFIGURATION_DIRECTORY, command_line_in, environment_layer
from rekindle.config.configuration_layers import command_line_layer, merged
from rekindle.config.configuration_origin import OriginKind
from rekindle.config.configuration_text import read_configuration
from rekindle.config.options import WARNED, known_key, warn_unknown_keys
from rekindle.exceptions import ConfigurationError

__all__ = ["FILE_NAME", "FLINKS_FILE_NAME", "configuration_file", "layered_configuration"]

FILE_NAME = "rekindle-conf.yaml"
FLINKS_FILE_NAME = "flink-conf.yaml"
_DEFAULT_DIRECTORY = "conf"


def layered_configuration(
    properties: Mapping[str, str] | None = None,
    variables: Mapping[str, str] | None = None,
    stacklevel: int = 2,
) -> Configuration:
    """Return the file's settings, the environment's over them, and the command line's over both.

    Args:
        properties: What the command line of this process says, over what the one that started it said.
        variables: The environment; by default that of this process.
        stacklevel: Whose line a warning of an unknown key points at; 2 is the caller's.

    Raises:
        ConfigurationError: A layer cannot be read, or the directory of the file is named and has none.
    """
    variables = os.environ if variables is None else variables
    path = configuration_file(variables)
    file = _file_layer(path)
    if path is not None and os.path.basename(path) == FLINKS_FILE_NAME:
        _tell_of_flinks_file(path, file)
    configuration = merged(
        (
            file,
            environment_layer(variables),
            command_line_in(variables),
            command_line_layer(properties or {}),
        )
    )
    warn_unknown_keys(configuration, stacklevel + 1)
    return configuration


def configuration_file(variables: Mapping[str, str]) -> str | None:
    """Return the path of the file that is read: in ``$REKINDLE_CONF_DIR``, else in ``./conf`` if there is one.

    Flink's ``flink-conf.yaml`` is read where there is no file of Rekindle's own.

    Raises:
        ConfigurationError: The variable names a directory without that file.
    """
    named = variables.get(CONFIGURATION_DIRECTORY)
    for name in (FILE_NAME, FLINKS_FILE_NAME):
        path = os.path.join(named or _DEFAULT_DIRECTORY, name)
        if os.path.isfile(path):
            return path
    if named:
        raise ConfigurationError(
            f"{CONFIGURATION_DIRECTORY} is {named!r}, and there is no file {FILE_NAME} in it: write one (it may be "
            "empty), or unset the variable."
        )
    return None


def _file_layer(path: str | None) -> Configuration:
    if path is None:
        return Configuration()
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Cannot read the configuration in {path}: {error}.") from error
    return read_configuration(text, OriginKind.FILE, path)


def _tell_of_flinks_file(path: str, layer: Configuration) -> None:
    """Say once that a file of Flink's was read, and remove the keys that mean nothing here, with their names."""
    unknown = sorted(key for key in layer.key_set() if not known_key(key))
    for key in unknown:
        layer.remove_config(key)
    without = f" These keys of it have no effect: {', '.join(unknown)}." if unknown else ""
    message = f"{path} was read, because there is no {FILE_NAME} beside it.{without}"
    warnings.warn_explicit(message, UserWarning, path, 1, registry=WARNED)
