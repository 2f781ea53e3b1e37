from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.command_line import rekindle, rekindle_here

PROGRAM = """\
import sys
from rekindle.datastream import StreamExecutionEnvironment
from words import WORDS

print("the program prints", sys.argv[1:])
env = StreamExecutionEnvironment.get_execution_environment()
words = env.from_collection(WORDS).uid("words")
counted = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1).name("Count").uid("count")
{ending}
print("never reached")
"""

ENDINGS = {
    "execute": "counted.print().uid('out'); env.execute()",
    "execute_async": "counted.print().uid('out'); env.execute_async()",
    "execute_and_collect": "list(counted.execute_and_collect())",
    "a handler of exceptions": "try:\n    counted.print().uid('out'); env.execute()\nexcept Exception:\n    pass",
}


def program(directory: Path, ending: str) -> str:
    (directory / "words.py").write_text("WORDS = ['a', 'b', 'a']\n")
    path = directory / "count_words.py"
    path.write_text(PROGRAM.format(ending=ending))
    return str(path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_plan_is_printed_and_nothing_executed(tmp_path: Path, ending: str) -> None:
    ended = rekindle("info", "-p", "3", "--json", program(tmp_path, ENDINGS[ending]), "--json", "x")
    assert ended.code == 0, ended.err
    nodes = {node["uid"]: node for node in ended.json()["nodes"]}
    assert nodes["count"]["parallelism"] == 3
    assert nodes["count"]["type"] == "Count"
    assert "the program prints ['--json', 'x']" in ended.err
    assert "never reached" not in ended.err
    assert "Traceback" not in ended.err
    assert "attempt" not in ended.err  # Spark was not started


def test_people_get_a_tree_of_stages(tmp_path: Path) -> None:
    ended = rekindle("info", program(tmp_path, ENDINGS["execute"]), REKINDLE_PARALLELISM_DEFAULT="2")
    assert ended.code == 0, ended.err
    for line in ("Stage 0", "Stage 1", "3: Count", "uid count", "parallelism 2, at most 128", "from 2: Map (HASH"):
        assert line in ended.out
    assert "the program prints" not in ended.out


@pytest.mark.parametrize(("option", "beginning"), [("--mermaid", "flowchart LR"), ("--dot", "digraph plan {")])
def test_it_is_printed_as_a_drawing(tmp_path: Path, option: str, beginning: str) -> None:
    ended = rekindle("info", option, program(tmp_path, ENDINGS["execute"]))
    assert ended.code == 0, ended.err
    assert ended.out.startswith(beginning)


def test_graphviz_draws_it_where_it_is_installed(tmp_path: Path) -> None:
    drawing, dot = tmp_path / "plan.svg", tmp_path / "dot"
    dot.write_text("#!/bin/sh\ncat > /dev/null; echo '<svg/>'\n")
    dot.chmod(0o755)
    path = program(tmp_path, ENDINGS["execute"])
    ended = rekindle("info", "--svg", str(drawing), path, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ended.code == 0, ended.err
    assert drawing.read_text() == "<svg/>\n"


def test_without_graphviz_no_image_is_begun(tmp_path: Path) -> None:
    drawing = tmp_path / "plan.svg"
    ended = rekindle("info", "--svg", str(drawing), program(tmp_path, ENDINGS["execute"]), PATH=str(tmp_path))
    assert ended.code == 1
    assert "Install Graphviz" in ended.err
    assert not drawing.exists()


def test_a_module_is_named_by_its_dotted_name(tmp_path: Path) -> None:
    program(tmp_path, ENDINGS["execute"])
    ended = rekindle("info", "--json", "--module", "count_words", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert len(ended.json()["nodes"]) == 4


@pytest.mark.parametrize(
    ("ending", "message"),
    [("sys.exit(0)", "without having called execute()"), ("raise KeyError('oops')", "exit code 1 before it called")],
)
def test_a_program_without_a_plan_ends_with_1(tmp_path: Path, ending: str, message: str) -> None:
    ended = rekindle("info", "--json", program(tmp_path, ending))
    assert ended.code == 1
    assert message in ended.json()["error"]
    assert ("KeyError: 'oops'" in ended.err) is ("oops" in ending)


@pytest.mark.parametrize(
    "arguments",
    [(), ("missing.py",), ("--mermaid", "--json", "x.py"), ("--dot", "--json", "x.py"), ("-p", "0", "x.py")],
)
def test_what_cannot_work_ends_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert rekindle_here("info", *arguments, cwd=tmp_path).code == 2


def test_the_help_is_readable() -> None:
    ended = rekindle_here("info", "--help")
    assert ended.code == 0
    assert "Print the plan of a program" in ended.out
    for option in ("--mermaid", "--dot", "--svg", "--module", "--parallelism", "-D", "--json"):
        assert option in ended.out


def test_the_json_is_that_of_the_environment(tmp_path: Path) -> None:
    path = program(tmp_path, "counted.print().uid('out'); print('PLAN' + env.get_execution_plan()); env.execute()")
    ended = rekindle("info", "--json", path)
    assert json.loads(ended.err.split("PLAN")[1]) == ended.json()
