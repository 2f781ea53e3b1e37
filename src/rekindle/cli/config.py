"""``rekindle config``."""

from __future__ import annotations

import os
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, messages, print_json, warn
from rekindle.cli.properties import Properties, properties_of
from rekindle.config.configuration_files import configuration_file, layered_configuration
from rekindle.config.configuration_listing import Setting, listed_settings
from rekindle.config.options import all_options, closest_key

_NO_VALUE = "-"


def config(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY", help="Only these keys, even if they are not set.")
    ] = None,
    properties: Properties = None,
    show_all: Annotated[
        bool, typer.Option("--all", "-a", help="Also keys that are not set, with defaults and descriptions.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the settings that are in force, and where each value comes from.

    From the lowest to the highest: defaults, the file conf/rekindle-conf.yaml
    (or the one in $REKINDLE_CONF_DIR, else Flink's flink-conf.yaml), the
    environment, the command line. What a program sets itself wins over all of
    these, and is not known here.

    \b
    Examples:
      rekindle config
      rekindle config state.backend.type parallelism.default
      rekindle config --all --json
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        configuration = layered_configuration(properties_of(properties))
    for warning in caught:
        warn(str(warning.message))
    settings = list(listed_settings(configuration))
    if keys:
        settings = [_find(key, settings) for key in keys]
    elif not show_all:
        settings = [setting for setting in settings if setting.is_set]
    file = configuration_file(os.environ)
    if json:
        print_json({"file": file, "settings": [_fields(setting) for setting in settings]})
        return
    if not settings:
        read = "there is no conf/rekindle-conf.yaml" if file is None else f"nothing is set in {file}"
        messages().print(f"All settings are the defaults: {read}, nor in the environment. See rekindle config --all")
        return
    _print(settings, bool(show_all or keys), console())


def _find(key: str, settings: list[Setting]) -> Setting:
    preferred = next((option.key for option in all_options() if key in option.all_keys()), key)
    found = next((setting for setting in settings if setting.key == preferred), None)
    if found is None:
        closest = closest_key(key)
        hint = "rekindle config --all lists all keys" if closest is None else f"did you mean {closest!r}?"
        raise CommandError(f"there is no configuration key {key!r}; {hint}", ExitCode.NOT_FOUND)
    return found


def _fields(setting: Setting) -> dict[str, Any]:
    return {
        "key": setting.key,
        "value": setting.value,
        "origin": str(setting.origin),
        "layer": setting.origin.kind.value,
        "set_as": setting.set_as if setting.is_set else None,
        "group": setting.group,
        "description": setting.description or None,
    }


def _print(settings: list[Setting], described: bool, out: Console) -> None:
    rows = [(_name(setting), _NO_VALUE if setting.value is None else setting.value) for setting in settings]
    names, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    group = None
    for setting, (name, value) in zip(settings, rows, strict=True):
        if setting.group != group:
            out.print(Text(setting.group if group is None else f"\n{setting.group}", style="bold"))
            group = setting.group
        style = "" if setting.is_set else "dim"
        out.print(Text(f"  {name:{names}}  {value:{values}}  {setting.origin}", style=style))
        if described and setting.description:
            out.print(Text(f"      {setting.description}", style="dim italic"))


def _name(setting: Setting) -> str:
    return setting.key if setting.set_as == setting.key else f"{setting.key} (set as {setting.set_as})"
