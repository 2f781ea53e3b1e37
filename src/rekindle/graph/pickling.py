"""Checks that operators can travel to the slots, and says which one cannot, and why."""

from __future__ import annotations

import sys

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.struct_pickling import dumps
from rekindle.serialization.classes.class_fields import keep_annotations


def check_picklable(graph: JobGraph) -> None:
    """Raise, naming the operator, if something in the graph cannot be pickled."""
    for node in graph.nodes:
        _check(node.transformation, f"operator {node.name!r}")
    names = {node.id: node.name for node in graph.nodes}
    for edge in graph.edges:
        if edge.partitioner.key_selector is not None:
            _check(edge.partitioner.key_selector, f"the key selector before operator {names[edge.target]!r}")
        if edge.partitioner.choose is not None:
            _check(edge.partitioner.choose, f"the partitioner before operator {names[edge.target]!r}")


def main_classes() -> dict[str, type]:
    """Return the classes that the user's script defines, as far as they can travel."""
    found = {}
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(value, type) and value.__module__ == "__main__" and value.__qualname__ == name:
            try:
                keep_annotations(value)
                dumps(value)
            except Exception:
                continue  # if a record needs it, the slot will say so
            found[name] = value
    return found


def _check(what: object, name: str) -> None:
    try:
        dumps(what)
    except Exception as error:
        raise InvalidProgramError(
            f"{name} cannot be sent to the slots: {error}. Its function refers to something that lives only in this "
            "process (a lock, a connection, a SparkSession, an open file); create that in open() instead"
        ) from error
