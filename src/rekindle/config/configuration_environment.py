"""The settings that environment variables hold. Pure: takes the variables, looks at nothing else.

``REKINDLE_PROPERTIES`` is a text in YAML, like the file. Besides, every key has a variable of its own, which wins:
``REKINDLE_`` and the key in capitals, with ``_`` for ``.`` and ``-``. An empty variable counts as not set.
"""

from __future__ import annotations

import difflib
import json
import re
import warnings
from collections.abc import Mapping

from rekindle.config.configuration import Configuration
from rekindle.config.configuration_layers import command_line_layer, merged
from rekindle.config.configuration_origin import Origin, OriginKind
from rekindle.config.configuration_text import read_configuration
from rekindle.config.options import known_keys
from rekindle.exceptions import ConfigurationError

__all__ = [
    "CONFIGURATION_DIRECTORY",
    "DYNAMIC_PROPERTIES",
    "PROPERTIES",
    "command_line_in",
    "environment_layer",
    "variable_of",
]

CONFIGURATION_DIRECTORY = "REKINDLE_CONF_DIR"
PROPERTIES = "REKINDLE_PROPERTIES"
DYNAMIC_PROPERTIES = "REKINDLE_DYNAMIC_PROPERTIES"
"""How ``rekindle run`` hands the settings of its command line to the program: a JSON object."""

_PREFIX = "REKINDLE_"
_SURELY_MEANT = 0.9

OTHER_VARIABLES = frozenset(
    {
        CONFIGURATION_DIRECTORY,
        PROPERTIES,
        DYNAMIC_PROPERTIES,
        "REKINDLE_STATE_DIR",
        "REKINDLE_TRUSTED_USERS",
        "REKINDLE_TOKEN",
        "REKINDLE_PLAN_FILE",
        "REKINDLE_RUN_REPORT",
        "REKINDLE_DETACHED_REPORT",
        "REKINDLE_LOG_FILE",
        "REKINDLE_RESTARTED",
    }
)
"""The variables that mean something and set no key."""

_OF_KUBERNETES = re.compile(r"REKINDLE_(\w+_)?(SERVICE_HOST|SERVICE_PORT\w*|PORT(_\d+_\w+)?)")
"""What Kubernetes puts into every container beside a service whose name begins with ``rekindle``."""


def variable_of(key: str) -> str:
    """Return the variable that sets a key."""
    return _PREFIX + key.upper().replace(".", "_").replace("-", "_")


_KEY_OF = {variable_of(key): key for key in known_keys()}


def environment_layer(variables: Mapping[str, str]) -> Configuration:
    """Return the layer of the environment; warn of those that set nothing.

    Raises:
        ConfigurationError: ``REKINDLE_PROPERTIES`` cannot be read.
    """
    text = read_configuration(variables.get(PROPERTIES, ""), OriginKind.ENVIRONMENT, PROPERTIES)
    single = Configuration()
    for name in sorted(variables):
        key = _KEY_OF.get(name)
        if key is not None and variables[name]:
            single.put_from(Origin(OriginKind.ENVIRONMENT, name), key, variables[name])
        elif key is None and name.startswith(_PREFIX) and _is_meant_for_rekindle(name):
            _warn_unknown(name)
    return merged((text, single))


def command_line_in(variables: Mapping[str, str]) -> Configuration:
    """Return the layer of the command line that started this process.

    Raises:
        ConfigurationError: The variable holds something else than a JSON object of texts.
    """
    text = variables.get(DYNAMIC_PROPERTIES)
    if not text:
        return Configuration()
    try:
        properties = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"${DYNAMIC_PROPERTIES} is {text!r}, which is not JSON: {error}.") from error
    if not isinstance(properties, dict) or not all(isinstance(value, str) for value in properties.values()):
        raise ConfigurationError(f"${DYNAMIC_PROPERTIES} is {text!r}, and should be a JSON object of texts.")
    return command_line_layer(properties)


def _is_meant_for_rekindle(name: str) -> bool:
    return name not in OTHER_VARIABLES and _OF_KUBERNETES.fullmatch(name) is None


def _warn_unknown(name: str) -> None:
    known = {**_KEY_OF, **dict.fromkeys(OTHER_VARIABLES)}
    closest = difflib.get_close_matches(name, known, n=1, cutoff=_SURELY_MEANT)
    if closest:
        key = known[closest[0]]
        meant = f"did you mean {closest[0]}{f', which sets {key!r}' if key else ''}?"
    else:
        meant = "no setting has that name. rekindle config lists the settings in effect"
    warnings.warn(f"The environment variable {name} has no effect; {meant}", UserWarning, stacklevel=2)
