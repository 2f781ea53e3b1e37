"""How many subtasks each operator has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rekindle.contracts.key_groups import check_parallelism, default_max_parallelism
from rekindle.graph.stream_graph import StreamNode


class Parallelism(NamedTuple):
    """Hold the parallelism of an operator.

    Attributes:
        parallelism: The number of its subtasks.
        max_parallelism: The number of its key groups.
        explicit: Whether the program says how many key groups there are.
    """

    parallelism: int
    max_parallelism: int
    explicit: bool


def settle_parallelism(nodes: Sequence[StreamNode], default: int, default_max: int | None) -> dict[int, Parallelism]:
    """Return the parallelism of each node: its own, or the environment's.

    Args:
        nodes: The program.
        default: The parallelism of the environment.
        default_max: Its maximum, if it has one.
    """
    return {node.id: _own(node, default, default_max) for node in nodes}


def _own(node: StreamNode, default: int, default_max: int | None) -> Parallelism:
    parallelism = default if node.parallelism is None else node.parallelism
    explicit = node.max_parallelism if node.max_parallelism is not None else default_max
    max_parallelism = explicit if explicit is not None else default_max_parallelism(parallelism)
    check_parallelism(parallelism, max_parallelism)
    return Parallelism(parallelism, max_parallelism, explicit is not None)
