"""Draws the plan of a job as a Mermaid flowchart: text that many viewers of Markdown turn into a picture. Pure."""

from __future__ import annotations

from rekindle.graph.plan import DATA_SINK, DATA_SOURCE, HasPlan, Plan, PlanInput, PlanNode, read_plan
from rekindle.graph.plan_labels import edge_label, lines_of, stage_title

_SHAPES = {DATA_SOURCE: ("([", "])"), DATA_SINK: ("[[", "]]")}


def to_mermaid(plan: Plan | HasPlan | str) -> str:
    """Draw a plan: a box for each stage, the operators in it, an arrow for each way that records go.

    Thick arrows are exchanges, where records leave their slot.

    Args:
        plan: An environment, or what its ``get_execution_plan()`` returned.
    """
    read = read_plan(plan)
    lines = ["flowchart LR"]
    for nodes in read.levels:
        level = nodes[0].level
        lines.append(f'    subgraph stage{level}["{_escaped(stage_title(level))}"]')
        lines += [f"        {_box(node)}" for node in nodes]
        lines.append("    end")
    for node in read.nodes:
        lines += [f"    n{given.id} {_arrow(given)} n{node.id}" for given in node.predecessors]
    return "\n".join(lines) + "\n"


def _box(node: PlanNode) -> str:
    opening, closing = _SHAPES.get(node.pact, ("[", "]"))
    text = "<br/>".join(_escaped(line) for line in lines_of(node))
    return f'n{node.id}{opening}"{text}"{closing}'


def _arrow(given: PlanInput) -> str:
    arrow = "==>" if given.exchange else "-->"
    return f'{arrow}|"{_escaped(edge_label(given))}"|'


def _escaped(text: str) -> str:
    """Write what has a meaning in Mermaid, or in the HTML of its labels, by number."""
    return "".join(f"#{ord(char)};" if char in '"#&<>;`|\\\n\r' else char for char in text)
