"""Whether a program runs as a batch, and the job that it then is. Pure."""

from __future__ import annotations

from dataclasses import replace

from rekindle.contracts.runtime_execution_mode import RuntimeExecutionMode
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.stream_graph import StreamGraph
from rekindle.graph.transformations.loops import Loop, LoopTransformation


def runs_as_batch(graph: StreamGraph, mode: RuntimeExecutionMode) -> bool:
    """Return whether a program runs as a batch in a mode.

    Raises:
        InvalidProgramError: It is to run as a batch, and a source never ends.
    """
    unbounded = _unbounded(graph)
    if mode is RuntimeExecutionMode.BATCH and unbounded:
        raise InvalidProgramError(
            f"{', '.join(map(repr, unbounded))} may never end, and execution.runtime-mode is BATCH, which is for "
            "bounded sources only. Set it to STREAMING or AUTOMATIC"
        )
    return mode is not RuntimeExecutionMode.STREAMING and not unbounded


def require_bounded(graph: StreamGraph, method: str, instead: str) -> None:
    """Raise if a source of a program never ends.

    Args:
        graph: The program.
        method: What needs all sources to end.
        instead: What to call if they do not.
    """
    unbounded = _unbounded(graph)
    if unbounded:
        raise InvalidProgramError(
            f"{method} returns when the program has ended, and {', '.join(map(repr, unbounded))} may never end: use "
            f"{instead}, or bounded sources"
        )


def _unbounded(graph: StreamGraph) -> list[str]:
    return [node.name for node in graph.nodes if not node.inputs and not node.bounded]


def as_batch(graph: JobGraph, memory_records: int) -> JobGraph:
    """Return the job with the operators of a batch, and iterations in rounds.

    Operators in a loop have no end of their input to wait for in each round: they process records as they come.

    Args:
        graph: The job.
        memory_records: How many records an operator that gathers its input may hold in memory, in each slot.
    """
    rounds: dict[int, Loop] = {}
    nodes = []
    for node in graph.nodes:
        transformation = node.transformation
        if not graph.in_iteration(node.id):
            path = node.path if node.columns is None else "records: in a batch job it gathers its input"
            node = replace(node, batch_memory=memory_records, columns=None, path=path)
        elif isinstance(transformation, LoopTransformation):
            loop = rounds.setdefault(id(transformation.loop), replace(transformation.loop, supersteps=True))
            node = replace(node, transformation=replace(transformation, loop=loop))
        nodes.append(node)
    iterations = tuple(replace(iteration, supersteps=True) for iteration in graph.iterations)
    chains = tuple(replace(chain, combined=None) for chain in graph.chains)
    return replace(graph, nodes=tuple(nodes), iterations=iterations, batch=True, chains=chains)
