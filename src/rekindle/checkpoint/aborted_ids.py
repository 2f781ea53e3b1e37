"""Which checkpoints are known to have been aborted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class AbortedCheckpointIds:
    """Remember the ids of the checkpoints aborted last.

    Only for one of them may the state of a late acknowledgement be deleted: for any other id that is not
    pending, it may be the state of a completed checkpoint. Ids beyond the limit are forgotten, oldest first;
    the worst that can come of it is a file left behind.

    Args:
        ids: Ids known already, oldest first.
        limit: How many to keep.
    """

    def __init__(self, ids: Iterable[int] = (), limit: int = 10_000) -> None:
        self._limit = limit
        self._ids: dict[int, None] = {}
        for checkpoint_id in ids:
            self.add(checkpoint_id)

    def add(self, checkpoint_id: int) -> None:
        """Remember one more id."""
        self._ids[checkpoint_id] = None
        if len(self._ids) > self._limit:
            del self._ids[next(iter(self._ids))]

    def __contains__(self, checkpoint_id: int) -> bool:
        return checkpoint_id in self._ids

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)
