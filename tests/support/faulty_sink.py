"""A sink around another one, with faults between the steps of its commits."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext


class InjectedFault(RuntimeError):  # noqa: N818
    """The attempt ends here."""


class FaultPlan:
    """Faults at steps of a run, counted over all writers and attempts.

    Attributes:
        happened: What happened so far, and where.
    """

    def __init__(self, source: random.Random, faults: int, kinds: Sequence[Callable[[], None]], gap: int = 12) -> None:
        """Draw faults.

        Args:
            source: Random numbers.
            faults: How many.
            kinds: What a fault may do; one that is to be drawn more often is there more than once.
            gap: The most steps between two faults.
        """
        self._left = [(source.randint(2, gap), source.choice(kinds)) for _ in range(faults)]
        self._lock = threading.Lock()
        self.happened: list[str] = []

    @property
    def done(self) -> bool:
        """Return whether all faults have happened."""
        return not self._left

    def step(self, where: str) -> None:
        """Come to a step, where a fault may happen."""
        with self._lock:
            if not self._left:
                return
            steps, kind = self._left[0]
            self._left[0] = (steps - 1, kind)
            if steps > 1:
                return
            del self._left[0]
            self.happened.append(f"{kind.__name__} {where}")
        kind()


PLANS: dict[str, FaultPlan] = {}
"""Plans by name: a sink is pickled, and finds its plan here."""


class FaultySink(Sink):
    """Let the faults of a plan happen at the steps of a sink's writers."""

    def __init__(self, sink: Sink, plan: str) -> None:
        self._sink = sink
        self._plan = plan

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """Create a writer of the sink."""
        plan = PLANS[self._plan]
        plan.step("before a writer is made")
        return FaultyWriter(self._sink.create_writer(context), plan)


class FaultyWriter(SinkWriter):
    """A writer whose steps are counted."""

    def __init__(self, writer: SinkWriter, plan: FaultPlan) -> None:
        self._writer = writer
        self._plan = plan

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Write."""
        self._writer.write(values, timestamps)
        self._plan.step("after a write")

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Prepare."""
        self._plan.step("before prepare_commit")
        committables = self._writer.prepare_commit(checkpoint_id)
        self._plan.step("after prepare_commit")
        return committables

    def commit(self, committables: list[bytes]) -> None:
        """Commit."""
        self._plan.step("before commit")
        self._writer.commit(committables)
        self._plan.step("after commit")

    def keep(self, committables: list[bytes]) -> None:
        """Keep."""
        self._writer.keep(committables)

    def abort_leftovers(self) -> None:
        """Remove leftovers."""
        self._plan.step("before abort_leftovers")
        self._writer.abort_leftovers()
        self._plan.step("after abort_leftovers")

    def close(self) -> None:
        """Close."""
        self._writer.close()
