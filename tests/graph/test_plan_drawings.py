"""Drawn plans: everything is there, and no text breaks the drawing."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from rekindle.common import Types
from rekindle.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from rekindle.exceptions import GraphvizError
from rekindle.graph import to_dot, to_mermaid, to_svg
from rekindle.graph.plan import Plan

NASTY = 'a "quoted" <b>&amp;</b> #35; | ; `x` \\ \n] end ]]>'


class Pass(ProcessFunction):
    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        yield value


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    orders = env.from_collection([1]).name("Orders").uid("orders")
    parsed = orders.process(Pass()).name("Parse").uid("parse")
    parsed.get_side_output(OutputTag("late", Types.INT())).print()
    parsed.key_by(lambda order: order).reduce(lambda a, b: a + b).name("Sum").set_description("Sum by customer").print()
    return env


def test_mermaid_has_a_box_for_each_stage_and_operator_and_an_arrow_for_each_edge() -> None:
    drawn = to_mermaid(environment())
    assert drawn.startswith("flowchart LR\n")
    assert re.findall(r'subgraph (\w+)\["(.*)"\]', drawn) == [
        ("stage0", "Stage 0"),
        ("stage1", "Stage 1"),
        ("stage2", "Stage 2"),
    ]
    assert 'n1(["Source: Orders<br/>uid orders<br/>parallelism 1, at most 128"])' in drawn
    assert 'n2["Parse<br/>uid parse<br/>parallelism 2, at most 128"]' in drawn
    assert 'n5["Sum<br/>Sum by customer<br/>uid ' in drawn
    assert re.search(r'n6\[\["Sink: Print to Std. Out<br/>uid \w{8}… \(derived\)<br/>', drawn)
    assert 'n1 ==>|"REBALANCE"| n2' in drawn
    assert 'n2 -->|"FORWARD, side output late"| n3' in drawn
    assert 'n2 ==>|"HASH"| n5' in drawn
    assert 'n5 -->|"FORWARD"| n6' in drawn


def test_mermaid_takes_an_environment_its_json_and_a_plan() -> None:
    env = environment()
    text = env.get_execution_plan()
    assert to_mermaid(env) == to_mermaid(text) == to_mermaid(Plan.from_json(text))


def test_mermaid_labels_hold_nothing_that_mermaid_would_read() -> None:
    env = environment()
    env.from_collection([1]).map(lambda number: number).name(NASTY).uid(NASTY)
    (line,) = (line for line in to_mermaid(env).splitlines() if "quoted" in line)
    label = re.fullmatch(r'\s+n\d+\["(.*)"\]', line)
    assert label is not None
    assert not set(re.sub(r"#\d+;|<br/>", "", label[1])) & set('"#&<>;`|\\\n')


def test_dot_has_a_frame_for_each_stage_a_box_for_each_operator_and_an_arrow_for_each_edge() -> None:
    drawn = to_dot(environment())
    assert drawn.startswith("digraph plan {\n")
    assert drawn.endswith("}\n")
    assert re.findall(r'subgraph (\w+) {\n\s+label="(.*)"', drawn) == [
        ("cluster_0", "Stage 0"),
        ("cluster_1", "Stage 1"),
        ("cluster_2", "Stage 2"),
    ]
    assert r'n1 [label="Source: Orders\nuid orders\nparallelism 1, at most 128", fillcolor="#dff3e4"]' in drawn
    assert r'n2 [label="Parse\nuid parse\nparallelism 2, at most 128"]' in drawn
    assert r'n5 [label="Sum\nSum by customer\nuid ' in drawn
    assert 'n1 -> n2 [label="REBALANCE", style=bold]' in drawn
    assert 'n2 -> n3 [label="FORWARD, side output late"]' in drawn
    assert 'n2 -> n5 [label="HASH", style=bold]' in drawn
    assert 'n5 -> n6 [label="FORWARD"]' in drawn


def test_dot_takes_an_environment_its_json_and_a_plan() -> None:
    env = environment()
    text = env.get_execution_plan()
    assert to_dot(env) == to_dot(text) == to_dot(Plan.from_json(text))


def nasty() -> StreamExecutionEnvironment:
    env = environment()
    env.from_collection([1]).map(lambda number: number).name(NASTY + "\x00\\").uid("nasty")
    return env


def test_dot_labels_hold_nothing_that_graphviz_would_read() -> None:
    (line,) = (line for line in to_dot(nasty()).splitlines() if "quoted" in line)
    label = re.fullmatch(r'\s+n\d+ \[label="((?:\\[\\"n]|&amp;|[^\\"&])*)"\]', line)
    assert label is not None
    assert label[1].startswith(r"a \"quoted\" <b>&amp;amp;</b> #35; | ; `x` \\  ] end ]]> \\\nuid nasty")


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of what is run as ``dot``; there is nothing yet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "dot"


def put(dot: Path, script: str) -> None:
    dot.write_text(f"#!/bin/sh\n{script}\n")
    dot.chmod(0o755)


def test_svg_is_what_dot_makes_of_the_drawing(dot: Path) -> None:
    put(dot, 'echo "<svg>$1"; while read -r line; do echo "$line"; done; echo "größe</svg>"')
    drawn = to_svg(environment())
    assert drawn.startswith("<svg>-Tsvg\ndigraph plan {\n")
    assert drawn.endswith("größe</svg>\n")


def test_where_dot_is_not_installed_it_is_said_what_to_do(dot: Path) -> None:
    with pytest.raises(GraphvizError, match=r"no program 'dot' on the PATH\. Install Graphviz, or draw .* Mermaid"):
        to_svg(environment())


def test_what_dot_has_against_a_drawing_is_told(dot: Path) -> None:
    put(dot, "echo 'syntax error in line 1' >&2; exit 3")
    with pytest.raises(GraphvizError, match="exit code 3: syntax error in line 1"):
        to_svg(environment())


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_the_drawing() -> None:
    root = ET.fromstring(to_svg(nasty()))
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for expected in ("Stage 0", "Source: Orders", "uid orders", "Sum by customer", "HASH"):
        assert expected in texts
    assert any('a "quoted" <b>&amp;</b> #35; | ; `x` \\' in text for text in texts)
