"""The page about the command line leaves nothing out: no command, no option, no exit code."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rekindle.base.process_identity import start_ticks
from rekindle.cli.app import app
from rekindle.cli.exit_codes import ExitCode
from rekindle.rest.discovery import Endpoint, publish
from support.command_line import rekindle_here
from support.fake_rest import FakeJob, FakeRest, serving

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
ROOT: Any = get_command(app)
EVERYWHERE = {"--help", "--json", "--token", "--jobmanager", "-m"}
"""Options that are explained once, above all commands."""


@pytest.mark.parametrize("name", sorted(ROOT.commands))
def test_each_command_has_a_section_with_all_options(name: str) -> None:
    section = SECTIONS[f"rekindle {name}"]
    assert f"rekindle {name} " in section, "there is a synopsis"
    assert f"[`{name}`](#rekindle-{name})" in PAGE
    for parameter in ROOT.commands[name].params:
        if parameter.param_type_name == "argument":
            assert (parameter.metavar or parameter.name.upper()) in section.split("```")[1]
            continue
        for option in {*parameter.opts, *parameter.secondary_opts} - EVERYWHERE:
            assert re.search(rf"`{re.escape(option)}\b", section), f"{option} is not explained"
    assert "--json" in section.split("```")[1]


def test_every_exit_code_is_listed() -> None:
    codes = re.findall(r"^\| (\d+) \|", SECTIONS["Results, progress, exit codes"], re.MULTILINE)
    assert [int(code) for code in codes] == sorted(ExitCode)


def test_the_documents_are_those_that_commands_print() -> None:
    def documented(name: str) -> Any:
        (text,) = re.findall(r"```json\n(.*?)```", SECTIONS[f"rekindle {name}"], re.DOTALL)
        return json.loads(text)

    commands = {
        "list": "list",
        "savepoint": "savepoint orders",
        "stop": "stop orders",
        "cancel": "cancel orders",
    }
    for name, command in commands.items():
        with serving(FakeRest(FakeJob("a" * 32))) as rest:
            printed = rekindle_here(*command.split(), "--json", "-m", rest.address).json()
        assert list(printed) == list(documented(name))
        if name == "list":
            assert list(printed["jobs"][0]) == list(documented(name)["jobs"][0])


def test_the_program_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with serving(FakeRest(FakeJob("a" * 32))) as rest:
        publish(Endpoint(pid=os.getpid(), start_ticks=start_ticks(os.getpid()), url=rest.url, token=None, started=1))
        exec(compile(program, "cli.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-2:] == ["/data/savepoints/savepoint-1"] * 2
