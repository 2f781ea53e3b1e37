"""A source that makes its records out of numbers, at a limited rate if wanted."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Generic

from rekindle.base.type_variables import OUT
from rekindle.connectors.datagen.rate_limiter import PerCheckpoint, RateLimiter, RateLimiterStrategy
from rekindle.connectors.number_sequence import NumberSequenceOperator
from rekindle.contracts.functions.basic_functions import Function
from rekindle.exceptions import InvalidProgramError
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.sizes import chunk_size, portion_limit
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.roles import CheckpointObserver
from rekindle.runtime.operators.runtime_context import SlotRuntimeContext


class GeneratorFunction(Function, Generic[OUT]):
    """Make a record out of its number."""

    @abstractmethod
    def map(self, value: int) -> OUT:
        """Return the record with this number, counted from 0; the same again after a failure."""


class GeneratorSourceOperator(NumberSequenceOperator, CheckpointObserver):
    """Call a function with each number of a sequence; the position is that in the sequence."""

    def __init__(self, function: GeneratorFunction, count: int, strategy: RateLimiterStrategy) -> None:
        super().__init__(0, count - 1)
        self.function = function
        self.strategy = strategy

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._slot = context.slot
        self._limiter: RateLimiter | None = self.strategy.create_rate_limiter(context.task.parallelism)
        self._at_once = portion_limit()
        self._exhausted = False  # the last poll emitted all that was allowed
        self._paused = False  # so does the rest of this epoch go without
        if isinstance(self._limiter, PerCheckpoint) and not context.job.checkpointing:
            raise InvalidProgramError(
                f"source {context.task.name!r} emits a fixed number of records per checkpoint, but the job takes no "
                "checkpoints: it would stop after the first of them. Call env.enable_checkpointing(…)"
            )
        self.function.open(SlotRuntimeContext(context, None))

    @at_record("value")
    def poll(self, max_records: int) -> Chunk | None:
        max_records = min(max_records, self._at_once.records)
        if self._limiter is not None:
            if self._paused:
                return None
            allowed = self._limiter.allowed(self._slot.clock.now())
            self._exhausted = self._paused = allowed <= max_records
            max_records = min(max_records, allowed)
            if max_records <= 0:
                return None
        numbers = super().poll(max_records)
        if numbers is None:
            return None
        if self._limiter is not None:
            self._limiter.emitted(len(numbers.values))
        generate = self.function.map
        values: list[Any] = []
        append = values.append
        for value in numbers.values:
            result = generate(value)
            append(result if type(result) in FIXED else unshared(result))
        chunk = Chunk(values)
        self._at_once.learn(len(values), chunk_size(chunk))
        return chunk

    def has_more(self) -> bool:
        return not self.finished() and not self._exhausted

    def advance_processing_time(self, now: int) -> Chunk | None:
        self._paused = False
        return super().advance_processing_time(now)

    def next_processing_timer(self) -> int | None:
        own = self._limiter.next_at() if self._limiter is not None and self._exhausted and not self.finished() else None
        due = (own, super().next_processing_timer())
        return min((time for time in due if time is not None), default=None)

    def notify_complete(self, checkpoint_id: int) -> None:
        if self._limiter is not None:
            self._limiter.checkpoint_completed()
            if isinstance(self._limiter, PerCheckpoint) and not self.finished():
                self._exhausted = False
                self._slot.request_epoch()

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Wait for one that completes."""

    def close(self) -> None:
        self.function.close()
