"""What a client of queryable state counts."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

_REMEMBERED = 1_000


@dataclass(frozen=True, slots=True)
class ClientMetrics:
    """Tell what a client has counted so far.

    Attributes:
        queries: Queries that are over.
        failures: Those among them that raised, other than because the state held nothing for the key.
        retries: How often a query was sent again.
        median_ms: The median of how long the last queries took, in milliseconds; None before the first.
        p99_ms: The 99th percentile of them.
    """

    queries: int
    failures: int
    retries: int
    median_ms: float | None
    p99_ms: float | None


class ClientCounts:
    """Count; from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queries = self._failures = self._retries = 0
        self._latencies: deque[float] = deque(maxlen=_REMEMBERED)

    def over(self, seconds: float, failed: bool) -> None:
        """Count a query that is over."""
        with self._lock:
            self._queries += 1
            self._failures += failed
            self._latencies.append(seconds * 1000)

    def retried(self) -> None:
        """Count a query that is sent again."""
        with self._lock:
            self._retries += 1

    def read(self) -> ClientMetrics:
        """Return what was counted."""
        with self._lock:
            latencies = sorted(self._latencies)
            counts = (self._queries, self._failures, self._retries)
        if not latencies:
            return ClientMetrics(*counts, None, None)
        return ClientMetrics(*counts, latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100])
