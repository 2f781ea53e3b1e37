"""What a backend is asked for at a barrier, and what it hands over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

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
    """Hand over a backend's own files, in a directory on local disk that the backend does not change any more.

    Attributes:
        directory: Where the files are.
        list_files: Names the files there that belong to the snapshot, once ``KeyedSnapshot.settle`` was called.
        is_shareable: Tells of a name whether its file is never written again under it: a later checkpoint that has
            the file, too, need not store it twice.
    """

    directory: str
    list_files: Callable[[], tuple[str, ...]]
    is_shareable: Callable[[str], bool]

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files."""
        return self.list_files()

    @property
    def shareable(self) -> frozenset[str]:
        """Name those of the files that are never written again under their name."""
        return frozenset(filter(self.is_shareable, self.files))


@dataclass(frozen=True, slots=True)
class KeyedSnapshot:
    """Hold a backend's state as it is at a barrier, until it is written.

    Attributes:
        blocks: Encodes what is in memory, also what the backend has yet to bring to disk. Runs while the backend stands
            still, or in a forked copy of the process.
        entries: About how many entries ``blocks`` encodes.
        delta: Whether ``blocks`` are changes since ``SnapshotRequest.base_id``. Always, if one was given and
            ``KeyedStateBackend.changes`` told of no more changes than entries.
        exported: Encodes what is on disk; runs in the background, whatever the backend does meanwhile.
        native: The backend's own files.
        check: Reads back one of the blocks that ``blocks`` gave, if it is of a state that the program asked for; raises
            if it cannot be read.
        write: Brings to disk what ``blocks`` encoded to that end, as soon as it is encoded. Runs in the background and
            should not wait there for anything else: the backend may have to wait for it. ``settle`` raises what went
            wrong, and does the same where it was not done. None: there is nothing to do.
        settle: Completes what is handed over as ``exported`` and ``native``, before either is used, and reads back
            what of it was not read back for a snapshot before; raises if it cannot be read. Runs in the background.
        release: Deletes what was kept for ``exported`` and ``native``; called once, when they are written or given up.
    """

    blocks: Callable[[], Iterator[KeyGroupBlock]] = lambda: iter(())
    entries: int = 0
    delta: bool = False
    exported: Callable[[], Iterator[KeyGroupBlock]] | None = None
    native: NativeSnapshot | None = None
    check: Callable[[KeyGroupBlock], None] = lambda block: None
    write: Callable[[], None] | None = None
    settle: Callable[[], None] = lambda: None
    release: Callable[[], None] = lambda: None

    def followed_by(
        self,
        kind: str,
        blocks: Callable[[], Iterator[KeyGroupBlock]],
        entries: int = 0,
        check: Callable[[KeyGroupBlock], None] = lambda block: None,
    ) -> KeyedSnapshot:
        """Return this snapshot with blocks behind its own that are no state of a backend.

        Args:
            kind: The kind of these blocks: TIMERS or RAW.
            blocks: Encodes them.
            entries: About how many entries that are.
            check: Reads back one of them; raises if it cannot be read.
        """
        return replace(
            self,
            blocks=lambda: chain(self.blocks(), blocks()),
            entries=self.entries + entries,
            check=lambda block: (check if block.kind == kind else self.check)(block),
        )
