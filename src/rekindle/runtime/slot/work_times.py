"""How a slot spends its time: how long each operator works, and how long what follows keeps it waiting.

Measured per chunk: two looks at the clock for each chunk and operator, and two for each payload. What an operator is
*busy* with is its own functions, and encoding and decoding what it exchanges. It is *back-pressured* while it has to
wait for what comes after it:

- for the operators behind it in the same level, to which it hands chunks by a call,
- for Spark, until that has taken what its level sends over exchanges,
- for the later levels of an epoch: its next records come when these are through.

All other time it is *idle*: it waits for records.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable

from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange.writers import Envelope


class Traffic:
    """Count what leaves a slot over one edge.

    Attributes:
        size: How many bytes.
        seconds: How long it took to deal out and encode them.
    """

    __slots__ = ("seconds", "size")

    def __init__(self) -> None:
        self.size = 0
        self.seconds = 0.0

    def add(self, started: float, envelopes: Iterable[Envelope]) -> None:
        """Count envelopes whose making began at a time of the monotonic clock."""
        for _, _, payload in envelopes:
            self.size += len(payload)
        self.seconds += time.monotonic() - started


class LevelWaits:
    """Add up how long the levels of a slot were kept waiting by what follows them."""

    def __init__(self) -> None:
        self._ends: dict[int, float] = {}
        self._waited: defaultdict[int, float] = defaultdict(float)

    def begin_epoch(self) -> None:
        """Begin an epoch, in which no level has run."""
        self._ends.clear()

    def sent(self, level: int, seconds: float) -> None:
        """Note how long Spark needed to take what a level sends."""
        self._waited[level] += seconds

    def task_over(self, level: int, now: float) -> None:
        """Note that a task of a level has ended; the last one counts."""
        self._ends[level] = now

    def end_epoch(self) -> None:
        """Add how long each level has waited for the last one."""
        last = max(self._ends.values(), default=0.0)
        for level, end in self._ends.items():
            self._waited[level] += last - end

    def of(self, level: int) -> float:
        """Return how many seconds a level has waited, over all epochs that have ended."""
        return self._waited[level]


def called_by(graph: JobGraph) -> dict[int, frozenset[int]]:
    """Return for each operator those behind it in its level, which it waits for when it hands on a chunk."""
    levels = {node.id: node.level for node in graph.nodes}
    behind: dict[int, frozenset[int]] = {}
    for node in sorted(graph.nodes, key=lambda node: node.id, reverse=True):
        direct = {
            edge.target for edge in graph.outputs(node.id) if not edge.exchange and levels[edge.target] == node.level
        }
        behind[node.id] = frozenset(direct.union(*(behind.get(target, frozenset()) for target in direct)))
    return behind
