"""What the drawings of a plan say about an operator, an edge and a stage."""

from __future__ import annotations

from rekindle.graph.plan import PlanInput, PlanNode

_SHOWN_OF_DERIVED_UID = 8


def stage_title(level: int) -> str:
    """Name a stage."""
    return f"Stage {level}"


def lines_of(node: PlanNode) -> list[str]:
    """Return what there is to say about an operator, line by line: the first is its name."""
    lines = [node.type]
    if node.contents != node.type:
        lines.append(node.contents)
    if node.uid:
        lines.append(f"uid {node.uid}" if node.uid_given else f"uid {node.uid[:_SHOWN_OF_DERIVED_UID]}… (derived)")
    lines.append(f"parallelism {node.parallelism}, at most {node.max_parallelism}")
    if node.path.startswith("columns"):
        lines.append(path_line(node))  # why others take records is too long for a drawing
    return lines


def path_line(node: PlanNode) -> str:
    """Return how an operator processes records, and why."""
    return f"by {node.path}"


def edge_label(given: PlanInput) -> str:
    """Return how records travel."""
    label = given.ship_strategy
    if given.side == "second":
        label += ", second input"
    if given.side_output is not None:
        label += f", side output {given.side_output}"
    return label
