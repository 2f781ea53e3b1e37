"""Draws the plan of a job as an SVG image. Pure, and without any library."""

from __future__ import annotations

from html import escape

from rekindle.graph.plan import DATA_SINK, DATA_SOURCE, HasPlan, Plan, read_plan
from rekindle.graph.plan_labels import edge_label, lines_of
from rekindle.graph.svg_layout import FONT_SIZE, LINE_HEIGHT, PADDING, Arrow, Box, Layout, Stage, lay_out

_FILLS = {DATA_SOURCE: "#dff3e4", DATA_SINK: "#fdecd2"}
_FILL = "#ffffff"
_STYLE = (
    f"text{{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:{FONT_SIZE}px;fill:#1f2933}}"
    ".title{font-weight:bold}"
    ".stage{fill:#eef2f7;stroke:#b8c4d3}"
    ".operator{stroke:#52606d}"
    ".arrow{fill:none;stroke:#52606d;stroke-width:1.2}"
    ".exchange{fill:none;stroke:#1f4e99;stroke-width:2.4}"
)


def to_svg(plan: Plan | HasPlan | str) -> str:
    """Draw a plan: a frame for each stage, the operators in it, an arrow for each way that records go.

    Thick arrows are exchanges, where records leave their slot. Long texts are shortened; a viewer shows the whole text
    when the mouse is on them.

    Args:
        plan: An environment, or what its ``get_execution_plan()`` returned.
    """
    layout = lay_out(read_plan(plan))
    width, height = round(layout.width), round(layout.height)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
        f"<style>{_STYLE}</style>",
        _head("head", "#52606d") + _head("thick-head", "#1f4e99"),
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *(_stage(stage, layout) for stage in layout.stages),
        *(_arrow(arrow) for arrow in layout.arrows),
        *(_box(box) for box in layout.boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="10" markerHeight="10" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0 L10,5 L0,10 z" fill="{colour}"/></marker>'
    )


def _stage(stage: Stage, layout: Layout) -> str:
    size = f'width="{stage.width:.1f}" height="{layout.height - 32:.1f}"'
    frame = f'<rect class="stage" x="{stage.x:.1f}" y="16" {size} rx="8"/>'
    return frame + _text(stage.x + 14, 16 + 18, stage.title, "title")


def _box(box: Box) -> str:
    fill = _FILLS.get(box.node.pact, _FILL)
    top = box.y + (box.height - len(box.lines) * LINE_HEIGHT) / 2 + FONT_SIZE
    texts = (
        _text(box.x + PADDING, top + LINE_HEIGHT * index, line, "title" if index == 0 else "")
        for index, line in enumerate(box.lines)
    )
    return (
        f"<g><title>{_escaped(' | '.join(lines_of(box.node)))}</title>"
        f'<rect class="operator" x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="5" fill="{fill}"/>{"".join(texts)}</g>'
    )


def _arrow(arrow: Arrow) -> str:
    points = arrow.points
    path = [f"M{points[0][0]:.1f},{points[0][1]:.1f}"]
    for index, (x, y) in enumerate(points[1:], 1):
        before_x, before_y = points[index - 1]
        if index % 2:
            path.append(f"H{x:.1f}")
        else:
            reach = max(abs(x - before_x) / 2, 24)
            out = before_x + reach * _direction(points[index - 2], points[index - 1])
            back = x - reach * _direction(points[index], points[index + 1])
            path.append(f"C{out:.1f},{before_y:.1f} {back:.1f},{y:.1f} {x:.1f},{y:.1f}")
    kind, head = ("exchange", "thick-head") if arrow.given.exchange else ("arrow", "head")
    x, y = points[-2]
    return (
        f"<g><title>{_escaped(edge_label(arrow.given))}</title>"
        f'<path class="{kind}" d="{" ".join(path)}" marker-end="url(#{head})"/>'
        f"{_text(x + 2, y - 5, arrow.label)}</g>"
    )


def _direction(begin: tuple[float, float], end: tuple[float, float]) -> int:
    return -1 if end[0] < begin[0] else 1


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{marked} xml:space="preserve">{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    """Escape what has a meaning in XML, and leave out what must not be in it."""
    return escape("".join(char if char.isprintable() else " " for char in text))
