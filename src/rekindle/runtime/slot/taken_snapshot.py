"""A snapshot of a slot between the stop, in which it was frozen, and its being stored."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from rekindle.checkpoint.metadata import StagedRows
from rekindle.checkpoint.slot_snapshot import ListStateSize, OperatorSnapshot
from rekindle.checkpoint.snapshot_file import SnapshotReader, SnapshotWriter
from rekindle.contracts.key_groups import MAX_PARALLELISM_LIMIT, KeyGroupRange
from rekindle.exceptions import CheckpointError
from rekindle.graph.job_graph import JobNode
from rekindle.runtime.operators.roles import OperatorStateOwner
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.slot.forked_encoder import ForkedEncoder
from rekindle.state.operator_state.stored import StoredList
from rekindle.state.snapshots import KeyedSnapshot

_ALL_KEY_GROUPS = KeyGroupRange(0, MAX_PARALLELISM_LIMIT - 1)


@dataclass(slots=True)
class SnapshotPart:
    """Hold what one operator contributes to a snapshot.

    Attributes:
        node: The operator.
        lists: Its list states.
        lists_owner: What reads them back; None: it has none.
        keyed: Its keyed state.
        keyed_names: The names of what is in ``keyed``.
        staged: Its rows for the driver to commit.
    """

    node: JobNode
    lists: dict[str, StoredList]
    lists_owner: OperatorStateOwner | None
    keyed: KeyedSnapshot
    keyed_names: list[str]
    staged: list[StagedRows] = field(default_factory=list)

    def describe(self) -> OperatorSnapshot:
        """Return what there is of the operator."""
        lists = {name: ListStateSize(stored.mode, len(stored)) for name, stored in self.lists.items()}
        return OperatorSnapshot(self.node.uid, self.keyed_names, lists, staged=self.staged)

    def write(self, writer: SnapshotWriter) -> None:
        """Encode what is in memory."""
        uid = self.node.uid
        try:
            for block in self.keyed.blocks():
                writer.keyed(uid, block)
        except BaseException as error:
            raise OperatorError(self.node) from error
        for name, stored in self.lists.items():
            writer.operator_list(uid, name, stored)

    def read_back(self, reader: SnapshotReader) -> None:
        """Read what :meth:`write` has written, as a restore would, and raise if that is not possible."""
        uid = self.node.uid
        try:
            for block in reader.keyed(uid, _ALL_KEY_GROUPS):
                self.keyed.check(block)
            if self.lists_owner is not None:
                lists = ((name, reader.operator_list(uid, name)) for name in self.lists)
                self.lists_owner.read_lists_back({name: stored for name, stored in lists if stored is not None})
        except BaseException as error:
            raise OperatorError(self.node) from error


class TakenSnapshot:
    """Hold a snapshot between the stop and its being stored; gives back what it holds at the end of a ``with``."""

    def __init__(self, buffer: BinaryIO, parts: list[SnapshotPart], encoder: ForkedEncoder | None) -> None:
        self.buffer = buffer
        self.parts = parts
        self.upload: Future[None] | None = None
        self._encoder = encoder
        self._given_up = False

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        release(self.parts)
        with suppress(OSError):
            self.buffer.close()

    def wait(self) -> SnapshotReader:
        """Wait until everything in memory is encoded and was read back; raise if nobody wants it any more.

        Returns:
            What was written.
        """
        if self._encoder is not None:
            self._encoder.wait()
        self.check()
        reader = SnapshotReader(self.buffer, "that is being written")
        if self._encoder is None:  # else the child has done it
            read_back(reader, self.parts)
        return reader

    def check(self) -> None:
        """Raise if nobody wants the snapshot any more."""
        if self._given_up:
            raise CheckpointError("the checkpoint was abandoned while its snapshot was being written")

    def give_up(self) -> None:
        """Stop; if the upload has not begun, it never will."""
        self._given_up = True
        if self._encoder is not None:
            self._encoder.kill()
        if self.upload is not None and self.upload.cancel():
            with self, suppress(CheckpointError):
                self.wait()


def read_back(reader: SnapshotReader, parts: Iterable[SnapshotPart]) -> None:
    """Read back what the parts of a snapshot have written: what cannot be restored must not be acknowledged."""
    for part in parts:
        part.read_back(reader)


def release(parts: Iterable[SnapshotPart]) -> None:
    """Give back what backends kept for a snapshot."""
    for part in parts:
        part.keyed.release()
