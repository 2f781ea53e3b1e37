"""What a program does not take over from the checkpoint that it starts from: by uid, state and size."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, StoredFile
from rekindle.checkpoint.snapshot_file import SnapshotIndex, SnapshotReader
from rekindle.checkpoint.source_positions import owners_of_positions
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import CheckpointError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.transformations.sinks import (
    CommittingFunctionTransformation,
    DataFrameSinkTransformation,
    TwoPhaseSinkTransformation,
)
from rekindle.state.operator_state.backend import PENDING_COMMITS

_ROWS = "rows to be committed"
_NATIVE = "files of the state backend"  # in which it keeps all states of an operator together
_COMMITTING = (TwoPhaseSinkTransformation, CommittingFunctionTransformation)


@dataclass(frozen=True, slots=True)
class LeftState:
    """Describe one state that no operator of a program takes over.

    Attributes:
        uid: The operator that wrote it.
        operator: The name of that operator.
        name: The state.
        items: How many items it has; None: that is not counted.
        position: Whether it is what Spark has read of a source.
        output: Whether it is output that was written, and not committed when the checkpoint was taken.
        obstacle: What in the program has the uid, and why it cannot take over the state; empty: nothing has it.
    """

    uid: str
    operator: str
    name: str
    items: int | None = None
    output: bool = False
    position: bool = False
    obstacle: str = ""


def left_behind(graph: JobGraph, metadata: CheckpointMetadata) -> list[LeftState]:
    """List the states of a checkpoint for which a program has no place, operator by operator."""
    places = _Places(graph, metadata)
    read = {position.uid for position in metadata.positions if position.offsets or position.consumed}
    return [
        replace(state, obstacle=obstacle)
        for operator in metadata.operators
        for state in _states(operator, operator.uid in read)
        if (obstacle := places.obstacle(state, operator)) is not None
    ]


def listed(left: list[LeftState]) -> str:
    """Name states by the operators that wrote them."""
    return "; ".join(
        f"{name!r} (uid {uid}: {', '.join(state.name for state in states)})" + (obstacle and f", {obstacle}")
        for (uid, name, obstacle), states in groupby(left, lambda state: (state.uid, state.operator, state.obstacle))
    )


def described(left: list[LeftState], stored: StoredCheckpoint) -> str:
    """Name states by the operators that wrote them, with the sizes that they have in a checkpoint."""
    sizes = _sizes(stored)
    return "; ".join(
        f"{name!r} (uid {uid}): {', '.join(_described(list(states), sizes))}"
        for (uid, name), states in groupby(left, lambda state: (state.uid, state.operator))
    )


def _states(operator: OperatorMetadata, has_position: bool) -> Iterator[LeftState]:
    uid, name = operator.uid, operator.name
    for state in operator.keyed_states:
        yield LeftState(uid, name, state)
    for state, items in operator.list_states.items():
        if count := sum(items.counts):
            yield LeftState(uid, name, state, count, output=state == PENDING_COMMITS)
    if operator.staged:
        yield LeftState(uid, name, _ROWS, sum(staged.rows for staged in operator.staged), output=True)
    if has_position:
        yield LeftState(uid, name, "position", position=True)


class _Places:
    """Find the operators of a program that take over states of a checkpoint."""

    def __init__(self, graph: JobGraph, metadata: CheckpointMetadata) -> None:
        self._nodes = {node.uid: node for node in graph.nodes}
        self._fed = {edge.target for edge in graph.edges}
        self._read = {source.uid for source in graph.cluster_sources}
        self._owners = owners_of_positions(graph, metadata)

    def obstacle(self, state: LeftState, operator: OperatorMetadata) -> str | None:
        """Return why no operator takes over a state of another, see :class:`LeftState`; None: one does."""
        if state.position and state.uid in self._owners:
            return None
        node = self._nodes.get(state.uid)
        if node is None:
            return ""
        why = self._unsuited(state, operator, node)
        return why and f"a uid that {node.name!r} has now, which {why}"

    def _unsuited(self, state: LeftState, operator: OperatorMetadata, node: JobNode) -> str | None:
        """Return why an operator has no place for a state."""
        if state.output:
            kind = DataFrameSinkTransformation if state.name == _ROWS else _COMMITTING
            return None if isinstance(node.transformation, kind) else "commits no such output"
        if state.position:
            return None if state.uid in self._read else "is no source that Spark reads"
        if operator.source_kind:
            kept = node.transformation.hosted and node.transformation.uid_kind == operator.source_kind
            return None if kept else f"is no source of the same kind ({operator.source_kind})"
        if node.id in self._fed:
            return None
        unknown = operator.source_kind is None and node.transformation.hosted and state.items is not None
        return None if unknown else "is a source"


def _described(states: list[LeftState], sizes: Counter[tuple[str, str]]) -> Iterator[str]:
    for state in states:
        told = [] if state.items is None else [f"{state.items:,} {'item' if state.items == 1 else 'items'}"]
        told += [f"{sizes[state.uid, state.name]:,} bytes"] if (state.uid, state.name) in sizes else []
        told += ["output to be committed"] if state.output else []
        yield state.name + (f" ({', '.join(told)})" if told else "")
    native = states[0].uid, _NATIVE
    if native in sizes:
        yield f"{_NATIVE} ({sizes[native]:,} bytes)"


def _sizes(stored: StoredCheckpoint) -> Counter[tuple[str, str]]:
    """Count the bytes of all states by uid and name; what cannot be read is not in it, for restoring it says so."""
    sizes: Counter[tuple[str, str]] = Counter()
    for operator in stored.metadata.operators:
        if operator.staged:
            sizes[operator.uid, _ROWS] = sum(staged.file.size for staged in operator.staged)
    for handle in stored.metadata.handles:
        for native in handle.native:
            sizes[native.uid, _NATIVE] += sum(file.size for file in native.files.values())
        for file in (handle.file, *handle.before):
            with suppress(CheckpointError, OSError):
                for written in _index(stored, file).operators:
                    for keyed in written.keyed:
                        sizes[written.uid, keyed.name] += sum(block.length for block in keyed.blocks)
                    for items in written.lists:
                        sizes[written.uid, items.name] += sum(part.block.length for part in items.parts)
    return sizes


def _index(stored: StoredCheckpoint, file: StoredFile) -> SnapshotIndex:
    if stored.files is None or file.path is None:
        return SnapshotReader(io.BytesIO(file.inline or b""), "inside the metadata").index
    with stored.files.open(paths.resolve(stored.directory, file.path)) as source:
        return SnapshotReader(source, file.path).index
