"""Runs a keyed operator over input that has ended: one key after the other, each with all its records and timers.

While a key's records are processed the watermark is the lowest. When there are no more, it is the highest: all
event-time timers of the key fire, then its processing-time timers. Then its state is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import groupby

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.gathered import GatheredRecords
from rekindle.runtime.operators.batch.results import Results
from rekindle.runtime.operators.batch.sorted_batch import SortedBatch
from rekindle.runtime.operators.keyed import KeyedOperator
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import InputGatherer, ProcessingTimeOperator, TwoInputOperator
from rekindle.state.heap.backend import HeapKeyedStateBackend


class KeyByKeyOperator(TwoInputOperator, InputGatherer):
    """Gather the input of a keyed operator, and let that have it when it has ended.

    There is state of one key only at any time, for which the heap will do.
    """

    def __init__(self, operator: KeyedOperator, memory_records: int) -> None:
        """Wrap an operator.

        Args:
            operator: The operator, not open yet.
            memory_records: How many records are gathered in memory at most.
        """
        self.operator = operator
        self._two_input = operator if isinstance(operator, TwoInputOperator) else None
        self._timed = operator if isinstance(operator, ProcessingTimeOperator) else None
        self._memory_records = memory_records

    def open(self, context: OperatorContext) -> None:
        self._gathered = GatheredRecords(self._memory_records, lambda: context.slot.fresh_directory("gathered"))
        self.operator.open(replace(context, keyed_backend=partial(context.keyed_backend, on_heap=True)))
        assert isinstance(self.operator.backend, HeapKeyedStateBackend)
        self._drop_state = self.operator.backend.clear
        self._timers = self.operator.timer_queues()

    def process(self, chunk: Chunk) -> None:
        self._gathered.add(chunk)

    def process_second(self, chunk: Chunk) -> Chunk | None:
        if self.operator.second_input_is_broadcast:
            assert self._two_input is not None
            return self._two_input.process_second(chunk)
        self._gathered.add(chunk, side=1)
        return None

    def held_back(self) -> Iterator[Chunk]:
        if self.operator.minds_other_keys():
            yield from self._one_by_one()
        else:
            yield from self._several_at_once()
        self._gathered.close()

    def _one_by_one(self) -> Iterator[Chunk]:
        results = Results()
        timers, drop_state = self._timers, self._drop_state
        for batch in self._gathered.by_key():
            start = 0
            for end in batch.ends:
                self._process(batch, start, end, results)
                if any(timers):
                    self._fire_timers(results)
                drop_state()
                start = end
                if results.enough():
                    yield results.take()
            self._process(batch, start, len(batch.values), results)  # of a key that goes on
            if results.enough():
                yield results.take()
        yield results.take()

    def _process(self, batch: SortedBatch, start: int, end: int, results: Results) -> None:
        if batch.sides is None:
            self._process_side(0, batch, start, end, results)
            return
        for side, members in groupby(batch.sides[start:end]):
            stop = start + sum(1 for _ in members)
            self._process_side(side, batch, start, stop, results)
            start = stop

    def _process_side(self, side: int, batch: SortedBatch, start: int, end: int, results: Results) -> None:
        if start < end:
            stamps = None if batch.timestamps is None else batch.timestamps[start:end]
            chunk = Chunk(batch.values[start:end], stamps, batch.keys[start:end])
            if side:
                assert self._two_input is not None
                results.add(self._two_input.process_second(chunk))
            else:
                results.add(self.operator.process(chunk))

    def _fire_timers(self, results: Results) -> None:
        """Let the time of a key go on: event time to its end, processing time to the last timer of the key.

        So a timer in processing time that sets itself again, later each time, does not fire forever.
        """
        operator, timed = self.operator, self._timed
        results.add(operator.advance_watermark(MAX_WATERMARK))
        if timed is not None:
            processing_timers = self._timers[-1]
            last = processing_timers.latest_timestamp()
            while last is not None and (due := processing_timers.next_timestamp()) is not None and due <= last:
                results.add(timed.advance_processing_time(last))
                results.add(operator.advance_watermark(MAX_WATERMARK))
            processing_timers.clear()
        operator.advance_watermark(MIN_WATERMARK)

    def _several_at_once(self) -> Iterator[Chunk]:
        """Return an operator several keys in one chunk, where that makes no difference."""
        for batch in self._gathered.by_key():
            yield self.operator.process(Chunk(batch.values, batch.timestamps, batch.keys))
            if batch.complete:
                self._drop_state()
                self._drop_timers()

    def _drop_timers(self) -> None:
        """Drop the timers of a function that would do nothing when they fire."""
        for queue in self._timers:
            queue.clear()

    def finish(self) -> Chunk | None:
        return self.operator.finish()

    def close(self) -> None:
        self._gathered.close()
        self.operator.close()
