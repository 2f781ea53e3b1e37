"""Adds up, by operator, what one snapshot of a slot costs: time in the stop, time beside the next epochs, bytes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from rekindle.checkpoint.slot_snapshot import OperatorSnapshot


class SnapshotCosts:
    """Measure one snapshot."""

    def __init__(self) -> None:
        self._sync: dict[str, float] = {}
        self._async: dict[str, float] = {}
        self._sizes: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    @contextmanager
    def stop(self, uid: str) -> Iterator[None]:
        """Count the time within as time in which the slot stands still for an operator."""
        with _timed(self._sync, (uid,)):
            yield

    @contextmanager
    def beside(self, uids: Iterable[str]) -> Iterator[None]:
        """Count the time within as time in which state of some operators is stored beside the next epochs."""
        with _timed(self._async, uids):
            yield

    def stored(self, sizes: Mapping[str, int]) -> None:
        """Count bytes that were stored for this snapshot, by operator."""
        self._sizes.update(sizes)
        self._written.update(sizes)

    def referred(self, sizes: Mapping[str, int]) -> None:
        """Count bytes that were stored for an earlier snapshot and belong to this one as well, by operator."""
        self._sizes.update(sizes)

    def added_to(self, operators: Iterable[OperatorSnapshot]) -> list[OperatorSnapshot]:
        """Add the costs to the descriptions of the operators."""
        return [
            msgspec.structs.replace(
                operator,
                sync_ms=round(self._sync.get(operator.uid, 0.0) * 1000),
                async_ms=round(self._async.get(operator.uid, 0.0) * 1000),
                size=self._sizes[operator.uid],
                written=self._written[operator.uid],
            )
            for operator in operators
        ]


@contextmanager
def _timed(seconds: dict[str, float], uids: Iterable[str]) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        elapsed = time.monotonic() - started
        for uid in uids:
            seconds[uid] = seconds.get(uid, 0.0) + elapsed
