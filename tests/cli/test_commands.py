"""What all commands have in common, those of today and those to come."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rekindle.cli.app import app
from support.command_line import rekindle, rekindle_here

ROOT: Any = get_command(app)
COMMANDS = sorted(ROOT.commands)


@pytest.fixture(autouse=True)
def _plain_help(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS", "REKINDLE_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))


def test_the_commands_are_these() -> None:
    assert {"cancel", "checkpoints", "demo", "list", "savepoint", "stop"} <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_whole_and_readable(name: str) -> None:
    ended = rekindle_here(name, "--help", COLUMNS="80")
    assert (ended.code, ended.err) == (0, "")
    assert all(len(line) <= 80 for line in ended.out.splitlines())
    words = ended.out.replace(", -", " -").split()
    text = " ".join(words)
    command = ROOT.commands[name]
    purpose, *explanation = command.help.strip().splitlines()
    assert purpose.endswith((".", ":"))
    assert purpose[0].isupper()
    assert " ".join(purpose.split()) in text
    for parameter in command.params:
        if getattr(parameter, "hidden", False):  # it is there to be refused
            continue
        assert parameter.help, f"{parameter.name} has no help"
        options = [*parameter.opts, *parameter.secondary_opts] if parameter.param_type_name == "option" else []
        assert all(option in words for option in options), options
        first_words = " ".join(parameter.help.split()[:2])
        assert first_words in text, f"the help of {parameter.name} is not shown"
    assert all(len(line) <= 78 for line in explanation), "lines are shown as they are written"
    assert f"Examples: rekindle {name}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_each_has_json(name: str) -> None:
    (json,) = [parameter for parameter in ROOT.commands[name].params if "--json" in parameter.opts]
    assert json.help == "Print one JSON document instead of text."


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_a_misunderstanding(name: str) -> None:
    ended = rekindle_here(name, "--no-such-option")
    assert (ended.code, ended.out) == (2, "")
    assert "No such option: --no-such-option" in ended.err
    assert f"(see rekindle {name} --help)" in ended.err
    ended = rekindle_here(name, "--json", "--no-such-option")
    assert ended.code == ended.json()["exit_code"] == 2
    assert "No such option: --no-such-option" in ended.json()["error"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if any(one.required for one in ROOT.commands[name].params)])
def test_a_missing_argument_is_a_misunderstanding(name: str) -> None:
    ended = rekindle_here(name, "--json")
    assert ended.code == ended.json()["exit_code"] == 2
    assert "Missing argument" in ended.json()["error"]


def test_without_a_command_there_is_help() -> None:
    ended = rekindle_here()
    assert ended.code == 2
    assert all(name in ended.out for name in COMMANDS)
    assert ended.err == ""


def test_an_unknown_command_is_a_misunderstanding() -> None:
    ended = rekindle_here("lost")
    assert ended.code == 2
    assert "No such command 'lost'" in ended.err


def test_all_help_as_processes() -> None:
    """One process for the command itself; what the commands say there, the tests above read."""
    ended = rekindle("--help", COLUMNS="80")
    assert ended.code == 0
    assert all(re.search(rf"^  {name} ", ended.out, re.MULTILINE) for name in COMMANDS)
    version = rekindle("--version")
    assert version.code == 0
    assert re.fullmatch(r"rekindle \d+\.\d+\.\d+\n", version.out)
