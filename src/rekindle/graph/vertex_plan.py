"""The plan of a job as Flink's REST interface shows it. Pure.

Flink's vertices are chains of operators; here each operator is one. Rekindle adds ``name``, ``uid`` and ``level`` to
the nodes.
"""

from __future__ import annotations

from typing import Any

from rekindle.graph.plan import Plan, PlanInput, PlanNode
from rekindle.graph.vertex_ids import vertex_id


def vertex_plan(plan: Plan, job_id: str, job_name: str, batch: bool) -> dict[str, Any]:
    """Describe the plan of a job."""
    vertices = {node.id: vertex_id(node.uid) for node in plan.nodes}
    return {
        "jid": job_id,
        "name": job_name,
        "type": "BATCH" if batch else "STREAMING",
        "nodes": [_node(node, vertices) for node in plan.nodes],
    }


def _node(node: PlanNode, vertices: dict[int, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": vertices[node.id],
        "name": node.type,
        "uid": node.uid,
        "level": node.level,
        "parallelism": node.parallelism,
        "operator": "",
        "operator_strategy": "",
        "description": node.contents,
        "optimizer_properties": {},
    }
    if node.predecessors:
        inputs = enumerate(node.predecessors)
        fields["inputs"] = [_input(number, given, vertices) for number, given in inputs]
    return fields


def _input(number: int, given: PlanInput, vertices: dict[int, str]) -> dict[str, Any]:
    return {
        "num": number,
        "id": vertices[given.id],
        "ship_strategy": given.ship_strategy,
        "exchange": "pipelined_bounded" if given.exchange else "pipelined",
    }
