"""Reads, out of a checkpoint, what belongs to one slot."""

from __future__ import annotations

from contextlib import ExitStack

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import OperatorMetadata, StateHandle
from rekindle.checkpoint.redistribution import ItemRange, even_split, union
from rekindle.checkpoint.snapshot_file import SnapshotReader, open_inline
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.slot.deployment import RestoredCheckpoint
from rekindle.state.key_groups import key_group_range
from rekindle.state.keyed_backend import KeyGroupBlock


class StateReader:
    """Open the snapshot files of a checkpoint as they are needed, each once."""

    def __init__(self, restored: RestoredCheckpoint, slot: int) -> None:
        self._restored = restored
        self._slot = slot
        self._operators = {operator.uid: operator for operator in restored.metadata.operators}
        self._handles = {handle.slot: handle for handle in restored.metadata.handles}
        self._readers: dict[int, SnapshotReader] = {}
        self._open = ExitStack()

    def __enter__(self) -> StateReader:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def knows(self, node: JobNode) -> bool:
        """Tell whether the checkpoint holds anything of an operator."""
        return node.uid in self._operators

    def keyed(self, node: JobNode) -> list[KeyGroupBlock]:
        """Give the blocks of an operator's key groups in this slot."""
        operator = self._operators[node.uid]
        if not operator.keyed_states:
            return []
        own = key_group_range(self._slot, node.parallelism, operator.max_parallelism)
        blocks: list[KeyGroupBlock] = []
        for old in range(operator.parallelism):
            if key_group_range(old, operator.parallelism, operator.max_parallelism).intersects(own):
                blocks += self._reader(old).keyed(node.uid, own)
        return blocks

    def lists(self, node: JobNode) -> dict[str, list[bytes]]:
        """Give the operator's list states, dealt out to this slot, or whole where the operator asks for it."""
        operator = self._operators[node.uid]
        return {
            name: [item for part in parts for item in self._items(operator, name, part)]
            for name, parts in self._dealt(operator, node).items()
        }

    def _dealt(self, operator: OperatorMetadata, node: JobNode) -> dict[str, list[ItemRange]]:
        if node.operator.union_state:
            return {name: union(counts) for name, counts in operator.list_states.items()}
        dealt: dict[str, list[ItemRange]] = {}
        first_extra = 0
        for name, counts in operator.list_states.items():
            parts, first_extra = even_split(counts, node.parallelism, first_extra)
            dealt[name] = parts[self._slot]
        return dealt

    def _items(self, operator: OperatorMetadata, name: str, part: ItemRange) -> list[bytes]:
        return self._reader(part.old_subtask).operator_list(operator.uid, name)[part.start : part.stop]

    def _reader(self, slot: int) -> SnapshotReader:
        reader = self._readers.get(slot)
        if reader is None:
            reader = self._readers[slot] = self._open_handle(self._handles[slot])
        return reader

    def _open_handle(self, handle: StateHandle) -> SnapshotReader:
        if handle.inline is not None:
            return open_inline(handle.inline, f"of slot {handle.slot}, inside the metadata")
        assert handle.path is not None
        assert self._restored.files is not None
        path = paths.join(self._restored.directory, handle.path)
        stream = self._open.enter_context(self._restored.files.open(path))
        return SnapshotReader(stream, self._restored.files.describe(path))
