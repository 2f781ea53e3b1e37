"""Drawn plans: everything is there, nothing covers anything else, and no text breaks the drawing."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

from rekindle.common import Types
from rekindle.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
from rekindle.graph import to_mermaid, to_svg
from rekindle.graph.plan import Plan, PlanInput, PlanNode
from rekindle.graph.svg_layout import LINE_HEIGHT, Layout, lay_out, text_width

NASTY = 'a "quoted" <b>&amp;</b> #35; | ; `x` \\ \n] end ]]>'
SVG = "{http://www.w3.org/2000/svg}"


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


def random_plan(seed: int) -> Plan:
    """Make a plan of any shape, with arrows that pass levels and arrows that go back."""
    choose = random.Random(seed)
    nodes: list[PlanNode] = []
    for number in range(1, choose.randint(2, 14)):
        sources = choose.sample(nodes, min(len(nodes), choose.choice([0, 1, 1, 2, 3])))
        given = []
        for source in sources:
            given.append(PlanInput(source.id, "REBALANCE", "first", choose.random() < 0.5))
        level = max((source.level + g.exchange for source, g in zip(sources, given, strict=True)), default=0)
        if choose.random() < 0.1 and nodes:
            given.append(PlanInput(number, "FORWARD", "second", side_output="back again"))
        name = choose.choice(["Map", "a much longer name of an operator", "x" * 90, "訂單訂單訂單"])
        nodes.append(PlanNode(number, name, "Operator", name, 2, tuple(given), "uid", True, 128, level))
    return Plan(tuple(nodes))


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


def test_svg_is_xml_with_all_names_and_labels() -> None:
    root = ET.fromstring(to_svg(environment()))
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    for expected in ("Stage 0", "Stage 2", "Source: Orders", "uid orders", "Sum by customer", "HASH"):
        assert expected in texts
    assert "FORWARD, side output late" in texts
    assert sum(path.get("class") == "exchange" for path in root.iter(f"{SVG}path")) == 2


def test_svg_shows_nasty_names_as_they_are() -> None:
    env = environment()
    env.from_collection([1]).map(lambda number: number).name(NASTY[:30] + "\x00").uid("nasty")
    texts = [element.text or "" for element in ET.fromstring(to_svg(env)).iter(f"{SVG}text")]
    assert 'a "quoted" <b>&amp;</b> #35; |' in [text.strip() for text in texts]


def test_svg_shortens_long_texts_and_keeps_them_whole_in_the_title() -> None:
    env = environment()
    env.from_collection([1]).map(lambda number: number).name("word " * 30)
    root = ET.fromstring(to_svg(env))
    assert any((element.text or "").endswith("…") for element in root.iter(f"{SVG}text"))
    assert any("word " * 29 in (element.text or "") for element in root.iter(f"{SVG}title"))


@pytest.mark.parametrize("seed", range(60))
def test_nothing_covers_anything_else(seed: int) -> None:
    layout = lay_out(random_plan(seed))
    for one, other in combinations(_rectangles(layout), 2):
        assert not _overlap(one, other), f"{one} and {other}"
    for box in layout.boxes:
        assert all(text_width(line) <= box.width for line in box.lines)
        assert len(box.lines) * LINE_HEIGHT <= box.height
        assert box.x >= 0
        assert box.x + box.width <= layout.width
        assert box.y + box.height <= layout.height


@pytest.mark.parametrize("seed", range(60))
def test_arrows_go_from_their_source_to_their_target_and_through_no_operator(seed: int) -> None:
    plan = random_plan(seed)
    layout = lay_out(plan)
    boxes = {box.node.id: box for box in layout.boxes}
    assert len(layout.arrows) == sum(len(node.predecessors) for node in plan.nodes)
    for arrow in layout.arrows:
        source, target = boxes[arrow.given.id], boxes[arrow.target]
        assert arrow.points[0][0] == source.x + source.width
        assert arrow.points[-1][0] == target.x
        assert target.y < arrow.points[-1][1] < target.y + target.height
        for begin, end in zip(arrow.points[::2], arrow.points[1::2], strict=True):
            assert begin[1] == end[1]
            left, right = sorted((begin[0], end[0]))
            for box in layout.boxes:
                inside = box.y < begin[1] < box.y + box.height and left < box.x + box.width and right > box.x
                assert not inside, f"an arrow to {arrow.target} runs through {box.node.id}"


def _rectangles(layout: Layout) -> list[tuple[float, float, float, float]]:
    found = [(box.x, box.y, box.x + box.width, box.y + box.height) for box in layout.boxes]
    for arrow in layout.arrows:
        x, y = arrow.points[-2]
        found.append((x + 2, y - LINE_HEIGHT + 1, x + 2 + text_width(arrow.label), y))
    return found


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("seed", range(60))
def test_bends_go_through_no_operator(seed: int) -> None:
    plan = random_plan(seed)
    boxes = lay_out(plan).boxes
    drawn = [path.get("d", "") for path in ET.fromstring(to_svg(plan)).iter(f"{SVG}path") if path.get("marker-end")]
    assert len(drawn) == sum(len(node.predecessors) for node in plan.nodes)
    for path in drawn:
        for x, y in _points_of_bends(path):
            inside = [b for b in boxes if b.x + 1 < x < b.x + b.width - 1 and b.y + 1 < y < b.y + b.height - 1]
            assert inside == [], path


def _points_of_bends(path: str) -> list[tuple[float, float]]:
    """Walk along the curves of a path."""
    x = y = 0.0
    points = []
    for command, numbers in re.findall(r"([MHC])([-\d., ]+)", path):
        values = [float(number) for number in re.split(r"[ ,]+", numbers.strip())]
        if command == "H":
            x = values[0]
        elif command == "M":
            x, y = values
        else:
            xs, ys = (x, *values[::2]), (y, *values[1::2])
            for step in range(21):
                t = step / 20
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
                points.append(
                    (
                        sum(weight * value for weight, value in zip(weights, xs, strict=True)),
                        sum(weight * value for weight, value in zip(weights, ys, strict=True)),
                    )
                )
            x, y = values[-2:]
    return points
