"""What a backend is asked for at a barrier, and what it hands over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rekindle.state.blocks import KeyGroupBlock


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """Ask a backend for a snapshot.

    Attributes:
        checkpoint_id: The checkpoint.
        base_id: The completed checkpoint of this attempt that an incremental snapshot builds on; None: write all.
        canonical: Whether to hand over blocks, whatever the backend's own format is: for a savepoint.
    """

    checkpoint_id: int
    base_id: int | None = None
    canonical: bool = False


@dataclass(frozen=True, slots=True)
class NativeSnapshot:
    """Hand over a backend's own files: a directory on local disk that nothing changes any more.

    Attributes:
        directory: Where the files are.
        files: Their names.
        shareable: Those of ``files`` that are never written again under their name: a later checkpoint that has one
            of them, too, need not store it twice.
    """

    directory: str
    files: tuple[str, ...]
    shareable: frozenset[str]


@dataclass(frozen=True, slots=True)
class KeyedSnapshot:
    """Hold a backend's state as it is at a barrier, until it is written.

    Attributes:
        blocks: Encodes what is in memory. Runs while the backend stands still, or in a forked copy of the process.
        entries: About how many entries ``blocks`` encodes.
        delta: Whether ``blocks`` are changes since ``SnapshotRequest.base_id``. Always, if one was given and
            ``KeyedStateBackend.changes`` told of no more changes than entries.
        exported: Encodes what is on disk; runs in the background, whatever the backend does meanwhile.
        native: The backend's own files.
        check: Reads back one of the blocks that ``blocks`` gave, if it is of a state that the program asked for; raises
            if it cannot be read.
        prove: Reads back what is in ``exported`` and ``native`` and was not read back for a snapshot before; raises if
            it cannot be read. Runs in the background.
        release: Deletes what was kept for ``exported`` and ``native``; called once, when they are written or given up.
    """

    blocks: Callable[[], Iterator[KeyGroupBlock]] = lambda: iter(())
    entries: int = 0
    delta: bool = False
    exported: Callable[[], Iterator[KeyGroupBlock]] | None = None
    native: NativeSnapshot | None = None
    check: Callable[[KeyGroupBlock], None] = lambda block: None
    prove: Callable[[], None] = lambda: None
    release: Callable[[], None] = lambda: None
