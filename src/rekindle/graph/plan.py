"""The plan of a job, to be read by people and tools: Flink's JSON, with what only Rekindle has besides. Pure.

Flink's fields are ``id``, ``type``, ``pact``, ``contents``, ``parallelism`` and ``predecessors`` with ``id``,
``ship_strategy`` and ``side``. Rekindle adds ``uid``, ``uid_given``, ``max_parallelism`` and ``level`` to nodes,
``exchange`` and, where there is one, ``side_output`` to predecessors.

The text is both JSON and a Python literal, because programs for PyFlink read it with ``eval``: flags are 1 or 0, and
what there is none of is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from rekindle.graph.job_graph import JobEdge, JobGraph
from rekindle.graph.stream_graph import StreamGraph, with_parts_settled

DATA_SOURCE = "Data Source"
DATA_SINK = "Data Sink"
OPERATOR = "Operator"

_SIDES = ("first", "second")


class HasPlan(Protocol):
    """Anything that tells its plan, as a StreamExecutionEnvironment does."""

    def get_execution_plan(self) -> str:
        """Return the plan as JSON."""


@dataclass(frozen=True, slots=True)
class PlanInput:
    """Describe where records of an operator come from.

    Attributes:
        id: The operator before it.
        ship_strategy: How the records are dealt out, such as HASH or REBALANCE.
        side: Which input of an operator with two they go to, "first" or "second".
        exchange: Whether they leave their slot: a Spark stage ends there.
        side_output: The id of the side output they come from; None: the main output.
    """

    id: int
    ship_strategy: str
    side: str = "first"
    exchange: bool = False
    side_output: str | None = None


@dataclass(frozen=True, slots=True)
class PlanNode:
    """Describe an operator.

    Attributes:
        id: Its number, from 1, in the order in which the program wrote it.
        type: Its name, with "Source: " or "Sink: " before it.
        pact: What it is: "Data Source", "Operator" or "Data Sink".
        contents: Its description; its type, where the program gave none.
        parallelism: The number of its subtasks.
        predecessors: Where its records come from.
        uid: Its identity, by which its state is found again.
        uid_given: Whether the program gave the uid, rather than the shape of the graph.
        max_parallelism: The number of its key groups.
        level: The stage of an epoch in which it runs, from 0.
        path: How it processes records: by columns, or as records one by one, and why.
    """

    id: int
    type: str
    pact: str
    contents: str
    parallelism: int
    predecessors: tuple[PlanInput, ...] = ()
    uid: str = ""
    uid_given: bool = False
    max_parallelism: int = 0
    level: int = 0
    path: str = "records"


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold the operators of a job."""

    nodes: tuple[PlanNode, ...]

    @property
    def levels(self) -> list[list[PlanNode]]:
        """Return the operators by level; none of the lists is empty."""
        found = sorted({node.level for node in self.nodes})
        return [[node for node in self.nodes if node.level == level] for level in found]

    def to_json(self) -> str:
        """Write the plan as ``get_execution_plan`` does."""
        return json.dumps({"nodes": [_node_fields(node) for node in self.nodes]}, indent=2, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> Plan:
        """Read a plan.

        Raises:
            ValueError: It is not a plan.
        """
        try:
            return Plan(tuple(_node(fields) for fields in json.loads(text)["nodes"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"this is not an execution plan: {error!r}. Pass what env.get_execution_plan() returned"
            ) from error


def plan_of(program: StreamGraph, job: JobGraph) -> Plan:
    """Describe a job, compiled from the program."""
    written = {node.id: node for node in with_parts_settled(program.nodes)}
    nodes = []
    for node in job.nodes:
        source, inputs = written[node.id], job.inputs(node.id)
        fed_back = [end.id for end in program.nodes if end.loop_of == node.id]
        pact = DATA_SINK if source.sink else OPERATOR if inputs else DATA_SOURCE
        name = {DATA_SOURCE: "Source: ", DATA_SINK: "Sink: "}.get(pact, "") + node.name
        nodes.append(
            PlanNode(
                id=node.id + 1,
                type=name,
                pact=pact,
                contents=source.description or name,
                parallelism=node.parallelism,
                predecessors=(*map(_input, inputs), *(PlanInput(end + 1, "FEEDBACK") for end in fed_back)),
                uid=node.uid,
                uid_given=node.derived_from is None,
                max_parallelism=node.max_parallelism,
                level=node.level,
                path=node.path,
            )
        )
    return Plan(tuple(nodes))


def read_plan(plan: Plan | HasPlan | str) -> Plan:
    """Return the plan of an environment, or the one that JSON holds."""
    if isinstance(plan, Plan):
        return plan
    return Plan.from_json(plan if isinstance(plan, str) else plan.get_execution_plan())


def _input(edge: JobEdge) -> PlanInput:
    return PlanInput(edge.source + 1, edge.partitioner.kind.name, _SIDES[edge.side], edge.exchange, edge.tag)


def _node_fields(node: PlanNode) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": node.id,
        "type": node.type,
        "pact": node.pact,
        "contents": node.contents,
        "parallelism": node.parallelism,
        "max_parallelism": node.max_parallelism,
        "uid": node.uid,
        "uid_given": int(node.uid_given),
        "level": node.level,
        "path": node.path,
    }
    if node.predecessors:
        fields["predecessors"] = [_input_fields(given) for given in node.predecessors]
    return fields


def _input_fields(given: PlanInput) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "id": given.id,
        "ship_strategy": given.ship_strategy,
        "side": given.side,
        "exchange": int(given.exchange),
    }
    if given.side_output is not None:
        fields["side_output"] = given.side_output
    return fields


def _node(fields: dict[str, Any]) -> PlanNode:
    inputs = (
        PlanInput(**given | {"exchange": bool(given.get("exchange"))}) for given in fields.get("predecessors", ())
    )
    return PlanNode(**fields | {"uid_given": bool(fields.get("uid_given")), "predecessors": tuple(inputs)})
