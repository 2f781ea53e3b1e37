"""Draws the plan of a job in DOT, the language of Graphviz, and as an image, which Graphviz's program ``dot`` makes."""

from __future__ import annotations

import subprocess

from rekindle.exceptions import GraphvizError
from rekindle.graph.plan import DATA_SINK, DATA_SOURCE, HasPlan, Plan, PlanInput, PlanNode, read_plan
from rekindle.graph.plan_labels import edge_label, lines_of, stage_title

_FILLS = {DATA_SOURCE: "#dff3e4", DATA_SINK: "#fdecd2"}
_HEAD = """\
digraph plan {
    rankdir=LR
    node [shape=box, style="filled,rounded", fillcolor="#ffffff", fontname="monospace"]
    edge [fontname="monospace"]
"""


def to_dot(plan: Plan | HasPlan | str) -> str:
    """Draw a plan in Graphviz's language: a frame for each stage, the operators in it, an arrow for each input.

    Bold arrows are exchanges, where records leave their slot.

    Args:
        plan: An environment, or what its ``get_execution_plan()`` returned.
    """
    read = read_plan(plan)
    lines = []
    for nodes in read.levels:
        level = nodes[0].level
        lines += [f"    subgraph cluster_{level} {{", f"        label={_quoted(stage_title(level))}"]
        lines += [f"        {_box(node)}" for node in nodes]
        lines.append("    }")
    for node in read.nodes:
        lines += [f"    n{given.id} -> n{node.id} {_arrow(given)}" for given in node.predecessors]
    return _HEAD + "\n".join([*lines, "}"]) + "\n"


def to_svg(plan: Plan | HasPlan | str) -> str:
    """Draw a plan as an SVG image, as ``to_dot`` describes it.

    Args:
        plan: An environment, or what its ``get_execution_plan()`` returned.

    Raises:
        GraphvizError: The program ``dot`` is not installed, or failed.
    """
    text = to_dot(plan)
    try:
        drawn = subprocess.run(["dot", "-Tsvg"], input=text.encode(), capture_output=True, check=False)
    except FileNotFoundError:
        raise GraphvizError(
            "the plan cannot be drawn as SVG: there is no program 'dot' on the PATH. Install Graphviz, or draw the "
            "plan as a Mermaid flowchart, which needs nothing else"
        ) from None
    if drawn.returncode != 0:
        said = drawn.stderr.decode(errors="replace").strip()
        raise GraphvizError(f"the plan cannot be drawn as SVG: dot ended with exit code {drawn.returncode}: {said}")
    return drawn.stdout.decode()


def _box(node: PlanNode) -> str:
    fill = f', fillcolor="{_FILLS[node.pact]}"' if node.pact in _FILLS else ""
    return f"n{node.id} [label={_quoted(*lines_of(node))}{fill}]"


def _arrow(given: PlanInput) -> str:
    style = ", style=bold" if given.exchange else ""
    return f"[label={_quoted(edge_label(given))}{style}]"


def _quoted(*lines: str) -> str:
    """Write lines of text as a string of DOT, without anything that has a meaning in it or in a label."""
    printable = ("".join(char if char.isprintable() else " " for char in line) for line in lines)
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;") for line in printable)
    return '"' + "\\n".join(escaped) + '"'
