"""The options by which commands take settings, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from rekindle.cli.given_twice import warn_of_repeated_keys
from rekindle.cli.output import warn
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration_layers import parse_properties
from rekindle.config.options import CoreOptions, StateRecoveryOptions

Properties = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="KEY=VALUE", help="Set a key of the configuration; may be given several times."),
]
"""Settings of the command line."""

Parallelism = Annotated[
    int | None,
    typer.Option(
        "--parallelism", "-p", min=1, metavar="N", help="The parallelism of operators for which the program sets none."
    ),
]
"""The same as ``-D parallelism.default=N``."""


def properties_of(
    definitions: Sequence[str] | None,
    parallelism: int | None = None,
    restore_path: str | None = None,
    allow_non_restored_state: bool = False,
    drop_uncommitted_output: bool = False,
    claim_mode: str | None = None,
) -> dict[str, str]:
    """Return the settings that a command line makes; an option of its own wins over ``-D``.

    Raises:
        ConfigurationError: A ``-D`` does not read key=value.
    """
    warn_of_repeated_keys(definitions or ())
    defined = parse_properties(definitions or ())
    options: dict[str, tuple[ConfigOption[Any], str | None]] = {
        "-p": (CoreOptions.DEFAULT_PARALLELISM, None if parallelism is None else str(parallelism)),
        "-s": (StateRecoveryOptions.SAVEPOINT_PATH, restore_path),
        "-n": (StateRecoveryOptions.IGNORE_UNCLAIMED_STATE, "true" if allow_non_restored_state else None),
        "--drop-uncommitted-output": (
            StateRecoveryOptions.IGNORE_UNCOMMITTED_OUTPUT,
            "true" if drop_uncommitted_output else None,
        ),
        "-cm": (StateRecoveryOptions.CLAIM_MODE, claim_mode),
    }
    given = {flag: (option, value) for flag, (option, value) in options.items() if value is not None}
    for flag, (option, value) in given.items():
        for key in option.all_keys():
            other = defined.pop(key, value)
            if other != value:
                warn(f"{flag} {value} takes precedence over -D {key}={other}")
    return defined | {option.key: value for option, value in given.values()}
