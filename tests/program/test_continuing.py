"""The command line with which a job goes on: the program as it was started, from another place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.program.continuing import StartedProgram


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (StartedProgram("orders.py"), "rekindle run -s /chk-7 orders.py"),
        (
            StartedProgram("my orders.py", ["--day", "it's"]),
            """rekindle run -s /chk-7 'my orders.py' --day 'it'"'"'s'""",
        ),
        (StartedProgram("jobs.orders", ["x"], module=True), "rekindle run -s /chk-7 --module jobs.orders x"),
        (StartedProgram(None, ["x"]), "rekindle run -s /chk-7 PROGRAM"),
        (StartedProgram("orders.py", restarted=True), "rekindle run -s /chk-7 --restart-driver orders.py"),
        (
            StartedProgram("orders.py", properties={"parallelism.default": "4", "pipeline.name": "a b"}),
            "rekindle run -s /chk-7 -p 4 -D 'pipeline.name=a b' orders.py",
        ),
        (
            StartedProgram(
                "orders.py",
                properties={
                    "execution.state-recovery.path": "/old",
                    "execution.state-recovery.ignore-unclaimed-state": "true",
                },
            ),
            "rekindle run -s /chk-7 orders.py",
        ),
    ],
)
def test_it_is_what_a_shell_takes(program: StartedProgram, line: str) -> None:
    assert program.continued_from("/chk-7") == line


def test_secrets_are_not_in_it() -> None:
    line = StartedProgram("orders.py", properties={"db.password": "geheim"}).continued_from("/chk-7")
    assert "geheim" not in line
    assert "-D db.password=" in line.replace("'", "")


def test_nor_are_those_among_the_arguments() -> None:
    arguments = ["--password", "geheim", "--db", "postgresql://u:geheim@h/x", "--api-key=geheim", "--day", "monday"]
    assert StartedProgram("orders.py", arguments).continued_from("/chk-7") == (
        "rekindle run -s /chk-7 orders.py --password '******' --db 'postgresql://u:******@h/x' '--api-key=******' "
        "--day monday"
    )


SHOWS = "from rekindle.program.continuing import this_program\nprint(this_program().continued_from('/chk-7'))\n"


@pytest.mark.parametrize(
    ("how", "program"),
    [(["orders.py"], "orders.py x"), (["-m", "jobs.orders"], "--module jobs.orders x"), (["-c", SHOWS], "PROGRAM")],
    ids=["file", "module", "text"],
)
def test_a_program_knows_how_it_was_started(how: list[str], program: str, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    for file in ("orders.py", "jobs/orders.py"):
        (tmp_path / file).write_text(SHOWS)
    properties = {"high-availability.type": "filesystem", "rest.port": "0"}
    variables = {"REKINDLE_DYNAMIC_PROPERTIES": json.dumps(properties), "REKINDLE_RESTARTED": "1"}
    command = [sys.executable, *how, "x"]
    shown = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True).stdout
    assert shown == f"rekindle run -s /chk-7 --restart-driver -D rest.port=0 {program}\n"
