"""Counts queries, those that failed, and how long they took."""

from __future__ import annotations

import threading

from rekindle.metrics import MetricGroup
from rekindle.runtime.queries import protocol as p


class QueryMetrics:
    """Count the queries of a state server or a proxy.

    ``numQueries`` counts queries, ``numKeys`` the keys in them, ``numFailures`` the keys that have no value for another
    reason than that the state holds none, ``queryLatency`` milliseconds.

    Args:
        group: Where the metrics are listed.
    """

    def __init__(self, group: MetricGroup) -> None:
        self._queries = group.counter("numQueries")
        self._keys = group.counter("numKeys")
        self._failures = group.counter("numFailures")
        self._latency = group.distribution("queryLatency")
        self._lock = threading.Lock()

    def answered(self, answer: p.Answer, seconds: float) -> None:
        """Count a query that was answered, for some of its keys at least."""
        failures = sum(result.code not in (None, p.Code.UNKNOWN_KEY) for result in answer.results)
        self._count(len(answer.results), failures, seconds)

    def failed(self, keys: int, seconds: float) -> None:
        """Count a query that failed as a whole."""
        self._count(keys, keys, seconds)

    def _count(self, keys: int, failures: int, seconds: float) -> None:
        with self._lock:
            self._queries.inc()
            self._keys.inc(keys)
            self._failures.inc(failures)
            self._latency.update(round(seconds * 1000, 3))
