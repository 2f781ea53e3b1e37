"""What of a checkpoint one slot needs when it restores: its own share, not all that all slots wrote.

State that is small enough is kept inside the metadata. Sent whole to every slot, it would cost the driver the square of
the number of slots.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from rekindle.checkpoint.metadata import CheckpointMetadata, StateHandle, StoredFile
from rekindle.checkpoint.redistribution import deal_out
from rekindle.checkpoint.snapshot_file import SnapshotReader, SnapshotWriter, open_inline
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.exceptions import CheckpointCorruptError


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Say what is wanted of what one old slot wrote.

    Attributes:
        key_groups: Of keyed state, by operator.
        lists: Of operator state: operators and names.
    """

    key_groups: dict[str, KeyGroupRange]
    lists: set[tuple[str, str]]


class SlotShares:
    """Cut a checkpoint up for the slots that restore it.

    Args:
        metadata: The checkpoint.
        parallelism: That of each operator of the program, by uid.
    """

    def __init__(self, metadata: CheckpointMetadata, parallelism: Mapping[str, int]) -> None:
        operators = [msgspec.structs.replace(operator, staged=[]) for operator in metadata.operators]
        self._metadata = msgspec.structs.replace(metadata, operators=operators, positions=[])
        self._parallelism = parallelism
        self._readers: dict[tuple[int, int], SnapshotReader] = {}  # of inline files, by old slot and place

    def of(self, slot: int) -> CheckpointMetadata:
        """Return what a slot restores from: whole files that it reads some of, and of inline state its own part."""
        wanted = self._wanted(slot)
        handles = [self._cut(handle, wanted[handle.slot]) for handle in self._metadata.handles if handle.slot in wanted]
        return msgspec.structs.replace(self._metadata, handles=handles)

    def _wanted(self, slot: int) -> dict[int, _Wanted]:
        """Return what a slot wants, by old slots."""
        wanted: dict[int, _Wanted] = {}
        for operator in self._metadata.operators:
            parallelism = self._parallelism.get(operator.uid, 0)
            if slot >= parallelism:
                continue
            if operator.keyed_states:
                own = key_group_range(slot, parallelism, operator.max_parallelism)
                for old in range(operator.parallelism):
                    if key_group_range(old, operator.parallelism, operator.max_parallelism).intersects(own):
                        wanted.setdefault(old, _Wanted({}, set())).key_groups[operator.uid] = own
            for name, ranges in deal_out(operator.list_states, parallelism, slot).items():
                for each in ranges:
                    wanted.setdefault(each.old_subtask, _Wanted({}, set())).lists.add((operator.uid, name))
        return wanted

    def _cut(self, handle: StateHandle, wanted: _Wanted) -> StateHandle:
        before = [self._cut_file(handle.slot, place, file, wanted) for place, file in enumerate(handle.before, 1)]
        native = [native for native in handle.native if native.uid in wanted.key_groups]
        file = self._cut_file(handle.slot, 0, handle.file, wanted)
        return msgspec.structs.replace(handle, file=file, before=before if wanted.key_groups else [], native=native)

    def _cut_file(self, slot: int, place: int, file: StoredFile, wanted: _Wanted) -> StoredFile:
        if file.inline is None:
            return file
        try:
            reader = self._readers.get((slot, place))
            if reader is None:
                reader = self._readers[slot, place] = open_inline(file.inline, f"of slot {slot}, inside the metadata")
            data = _cut_snapshot(reader, wanted)
        except CheckpointCorruptError:
            return file  # for the slot to find out, which reads no more of it than it needs
        return StoredFile(len(data), zlib.crc32(data), inline=data)


def _cut_snapshot(reader: SnapshotReader, wanted: _Wanted) -> bytes:
    """Write a snapshot file that holds only what is wanted of another."""
    target = io.BytesIO()
    writer = SnapshotWriter(target)
    for operator in reader.index.operators:
        own = wanted.key_groups.get(operator.uid)
        if own is not None:
            for block in reader.keyed(operator.uid, own):
                writer.keyed(operator.uid, block)
        for state in operator.lists:
            stored = (
                reader.operator_list(operator.uid, state.name) if (operator.uid, state.name) in wanted.lists else None
            )
            if stored is not None:
                writer.operator_list(operator.uid, state.name, stored)
    writer.finish()
    return target.getvalue()
