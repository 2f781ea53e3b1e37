"""Where the boxes and arrows of a drawn plan go: stages from left to right, nothing on top of anything else. Pure.

Operators stand in columns: those of a stage in the columns of that stage, each to the right of all that feed it. An
arrow that passes a column on its way takes a place in it, as an operator does. Arrows that go back run below all.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field

from rekindle.graph.plan import Plan, PlanInput, PlanNode
from rekindle.graph.plan_labels import edge_label, lines_of, stage_title

FONT_SIZE = 12
LINE_HEIGHT = 17
PADDING = 10
LONGEST_LINE = 44

_CHAR_WIDTH = 0.61 * FONT_SIZE  # of a monospaced font, a little more than any of them has
_ROW_GAP = 22
_PORT_GAP = LINE_HEIGHT + 5
_BEND = 56
_STAGE_PADDING = 14
_STAGE_TITLE = 24
_MARGIN = 16
_PASSING_HEIGHT = 8


@dataclass(slots=True)
class Box:
    """Place an operator; ``lines`` is its text, shortened, ``node`` has all of it."""

    node: PlanNode
    lines: list[str]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0


@dataclass(slots=True)
class Arrow:
    """Place an arrow.

    ``points`` are the ends of horizontal stretches, in pairs; between them it bends. The label is above the last one.
    """

    given: PlanInput
    target: int
    label: str
    points: list[tuple[float, float]] = field(default_factory=list)


@dataclass(slots=True)
class Stage:
    """Place the frame around the operators of a level."""

    title: str
    x: float
    width: float


@dataclass(slots=True)
class Layout:
    """Place everything."""

    width: float
    height: float
    boxes: list[Box]
    arrows: list[Arrow]
    stages: list[Stage]


@dataclass(slots=True)
class _Place:
    """What takes room in a column: an operator, or an arrow on its way to one further right."""

    box: Box | None
    height: float
    y: float = 0.0
    before: list[_Place] = field(default_factory=list)

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def text_width(text: str) -> float:
    """Estimate the width of a line of text."""
    return _CHAR_WIDTH * sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def lay_out(plan: Plan) -> Layout:
    """Find a place for every operator, arrow and stage of a plan."""
    column_of, stage_columns = _columns(plan)
    boxes = {node.id: _box(node) for node in plan.nodes}
    places = {node_id: _Place(box, box.height) for node_id, box in boxes.items()}
    columns: list[list[_Place]] = [[] for _ in range(1 + max(column_of.values()))]
    for node in plan.nodes:
        columns[column_of[node.id]].append(places[node.id])
    arrows = [
        Arrow(given, node.id, _shortened(edge_label(given)))
        for node in plan.nodes
        for given in node.predecessors
        if given.id in boxes
    ]
    passing: dict[int, list[_Place]] = {}
    for index, arrow in enumerate(arrows):
        first, last = column_of[arrow.given.id], column_of[arrow.target]
        way = [places[arrow.given.id]]
        for column in range(first + 1, last):
            way.append(_Place(None, _PASSING_HEIGHT, before=[way[-1]]))
            columns[column].append(way[-1])
        if first < last:
            places[arrow.target].before.append(way[-1])
        passing[index] = way[1:]
    _stack(columns)

    widths = [max((place.box.width for place in column if place.box), default=0.0) for column in columns]
    leads = [0.0] * len(columns)  # the room for labels to the left of each column
    for arrow in arrows:
        column = column_of[arrow.target]
        leads[column] = max(leads[column], text_width(arrow.label) + 16)
    lefts, stages, right = _across(widths, leads, stage_columns)
    for node_id, box in boxes.items():
        box.x, box.y = lefts[column_of[node_id]], places[node_id].y
    bottom = max(place.y + place.height for column in columns for place in column) + _STAGE_PADDING
    bottom = _draw_arrows(arrows, boxes, passing, column_of, lefts, widths, leads, bottom)
    return Layout(right + _MARGIN, bottom + _MARGIN, list(boxes.values()), arrows, stages)


def _columns(plan: Plan) -> tuple[dict[int, int], list[tuple[int, range]]]:
    """Give each node a column, and each level a range of columns."""
    level_of = {node.id: node.level for node in plan.nodes}
    depths: dict[int, int] = {}
    for node in plan.nodes:  # in topological order, but for arrows that go back
        own = [g.id for g in node.predecessors if level_of.get(g.id) == node.level and g.id in depths]
        depths[node.id] = 1 + max((depths[source] for source in own), default=-1)
    start, stages, column_of = 0, [], {}
    for nodes in plan.levels:
        count = 1 + max(depths[node.id] for node in nodes)
        column_of.update({node.id: start + depths[node.id] for node in nodes})
        stages.append((nodes[0].level, range(start, start + count)))
        start += count
    return column_of, stages


def _box(node: PlanNode) -> Box:
    lines = [_shortened(line) for line in lines_of(node)]
    width = max(text_width(line) for line in lines) + 2 * PADDING
    height = max(len(lines) * LINE_HEIGHT + 2 * PADDING - 4, (1 + len(node.predecessors)) * _PORT_GAP)
    return Box(node, lines, width, height)


def _shortened(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"


def _stack(columns: list[list[_Place]]) -> None:
    """Set the heights at which things stand: beside what feeds them, as far as there is room."""
    for column in columns:
        wanted = {
            id(place): sum(before.middle for before in place.before) / len(place.before) if place.before else None
            for place in column
        }
        last = 0.0
        for place in column:  # what nothing feeds stays where it was written
            found = wanted[id(place)]
            last = wanted[id(place)] = last if found is None else found
        column.sort(key=lambda place: wanted[id(place)] or 0.0)
        free = 0.0
        for place in column:
            place.y = max(free, (wanted[id(place)] or 0.0) - place.height / 2)
            free = place.y + place.height + _ROW_GAP
    top = min(place.y for column in columns for place in column)
    for column in columns:
        for place in column:
            place.y += _MARGIN + _STAGE_TITLE + _STAGE_PADDING - top


def _across(
    widths: list[float], leads: list[float], stage_columns: list[tuple[int, range]]
) -> tuple[list[float], list[Stage], float]:
    """Set where columns begin; labels of arrows into a stage stand before it, others in it."""
    x, lefts, stages = float(_MARGIN), [], []
    for level, columns in stage_columns:
        if leads[columns.start]:
            x += _BEND + leads[columns.start]
        begin = x
        x += _STAGE_PADDING
        for column in columns:
            if column != columns.start:
                x += _BEND + leads[column]
            lefts.append(x)
            x += widths[column]
        x += _STAGE_PADDING
        width = max(x - begin, text_width(stage_title(level)) + 2 * _STAGE_PADDING)
        stages.append(Stage(stage_title(level), begin, width))
        x = begin + width
    return lefts, stages, x


def _draw_arrows(
    arrows: list[Arrow],
    boxes: dict[int, Box],
    passing: dict[int, list[_Place]],
    column_of: dict[int, int],
    lefts: list[float],
    widths: list[float],
    leads: list[float],
    bottom: float,
) -> float:
    """Give every arrow its points; return where the drawing ends."""
    lane = bottom
    into: defaultdict[int, list[int]] = defaultdict(list)
    for index, arrow in enumerate(arrows):
        into[arrow.target].append(index)
    for target, indices in into.items():
        box = boxes[target]
        indices.sort(key=lambda i: passing[i][-1].middle if passing[i] else boxes[arrows[i].given.id].y)
        for port, index in enumerate(indices):
            arrow, source = arrows[index], boxes[arrows[index].given.id]
            entry = box.y + box.height * (port + 1) / (len(indices) + 1)
            lead = (box.x - leads[column_of[target]], entry)
            out = (source.x + source.width, source.y + source.height / 2)
            edge = lefts[column_of[source.node.id]] + widths[column_of[source.node.id]]
            arrow.points = [out, (edge, out[1])]
            if column_of[source.node.id] < column_of[target]:
                first = column_of[source.node.id] + 1
                for column, place in enumerate(passing[index], first):
                    arrow.points += [(lefts[column], place.middle), (lefts[column] + widths[column], place.middle)]
            else:
                lane += LINE_HEIGHT
                arrow.points += [(edge, lane), (lead[0], lane)]
            arrow.points += [lead, (box.x, entry)]
    return bottom if lane == bottom else lane + _STAGE_PADDING
