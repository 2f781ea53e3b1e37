"""The options by which commands take settings, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

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
    properties = parse_properties(definitions or ())
    if parallelism is not None:
        properties[CoreOptions.DEFAULT_PARALLELISM.key] = str(parallelism)
    if restore_path is not None:
        properties[StateRecoveryOptions.SAVEPOINT_PATH.key] = restore_path
    if allow_non_restored_state:
        properties[StateRecoveryOptions.IGNORE_UNCLAIMED_STATE.key] = "true"
    if drop_uncommitted_output:
        properties[StateRecoveryOptions.IGNORE_UNCOMMITTED_OUTPUT.key] = "true"
    if claim_mode is not None:
        properties[StateRecoveryOptions.CLAIM_MODE.key] = claim_mode
    return properties
