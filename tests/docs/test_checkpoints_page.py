"""What docs/checkpoints.md says against the options there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rekindle.common.config_options import ConfigOption
from rekindle.config.options import CheckpointingOptions, known_key

PAGE = (Path(__file__).parents[2] / "docs" / "checkpoints.md").read_text()
PREFIX = "execution.checkpointing."


def rows(heading: str) -> dict[str, list[str]]:
    """Read the table below a line: the other cells of each row, by every key in its first cell."""
    lines = PAGE[PAGE.index(heading) :].splitlines()
    table = [line for line in lines if line.startswith("|")]
    length = next(i for i, line in enumerate(lines[lines.index(table[0]) :]) if not line.startswith("|"))
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table[2:length]]
    found = {}
    for first, *others in cells:
        for key in re.findall(r"`([^`]+)`", first):
            found[key if known_key(key) else PREFIX + key] = others
    return found


EFFECTIVE = rows("## Settings")


def options(group: type) -> list[ConfigOption[object]]:
    return [option for option in vars(group).values() if isinstance(option, ConfigOption)]


@pytest.mark.parametrize("option", options(CheckpointingOptions), ids=lambda option: option.key)
def test_every_option_is_in_the_table(option: ConfigOption[object]) -> None:
    assert option.key in EFFECTIVE


@pytest.mark.parametrize("option", options(CheckpointingOptions), ids=lambda option: option.key)
def test_defaults_are_those_of_the_options(option: ConfigOption[object]) -> None:
    if option.key not in EFFECTIVE or option.key == PREFIX + "storage":
        return
    default = EFFECTIVE[option.key][0].strip("`")
    assert option.default == (None if default == "\N{EN DASH}" else option.parse(default))


def test_every_key_in_the_tables_is_known() -> None:
    assert [key for key in EFFECTIVE if not known_key(key)] == []
