"""Source functions that tests run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rekindle.common import Types
from rekindle.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    RichParallelSourceFunction,
    SourceFunction,
)
from rekindle.datastream.state import ListStateDescriptor


class Numbers(RichParallelSourceFunction, CheckpointedFunction):
    """Emit the numbers of several ranges, each of which is one item of state.

    After the first start each subtask has the ranges of its own number; after a restore those that fall to it.
    """

    def __init__(self, ranges: int, size: int, pause: Callable[[int], None] | None = None) -> None:
        self._all = [(part * size, (part + 1) * size) for part in range(ranges)]
        self._pause = pause
        self._running = True

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        pair = Types.TUPLE([Types.LONG(), Types.LONG()])
        self._state = context.get_operator_state_store().get_list_state(ListStateDescriptor("ranges", pair))
        own, of = (
            self.get_runtime_context().get_index_of_this_subtask(),
            self.get_runtime_context().get_number_of_parallel_subtasks(),
        )
        self._ranges = list(self._state.get()) if context.is_restored() else self._all[own::of]

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self._running:
            with ctx.get_checkpoint_lock():
                left = [(start, stop) for start, stop in self._ranges if start < stop]
                if not left:
                    return
                # The state first, then the element: whatever comes between them must not matter.
                (start, stop), *others = left
                self._ranges = [*others, (start + 1, stop)]
                if self._pause is not None:
                    self._pause(start)
                ctx.collect(start)

    def cancel(self) -> None:
        self._running = False

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self._state.update(self._ranges)


class Steered(SourceFunction):
    """Do what the test says, step by step, in the source's own thread."""

    def __init__(self) -> None:
        self._go = threading.Semaphore(0)
        self._done = threading.Semaphore(0)
        self._step: Callable[[Any], None] | None = None
        self.cancelled = False

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while True:
            self._go.acquire()
            if self._step is None:
                return
            try:
                self._step(ctx)
            finally:
                self._done.release()

    def cancel(self) -> None:
        self.cancelled = True
        self.end()

    def begin(self, step: Callable[[Any], None]) -> None:
        """Let the source do something."""
        self._step = step
        self._go.release()

    def do(self, step: Callable[[Any], None]) -> None:
        """Let the source do something, and wait until it is done."""
        self.begin(step)
        assert self._done.acquire(timeout=60), "the step hangs"

    def end(self) -> None:
        """Let ``run`` return."""
        self._step = None
        self._go.release()
