"""The reduction of each key over input that has ended: one result per key."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.batch.gathered import GatheredRecords
from rekindle.runtime.operators.batch.key_order import order_of_key
from rekindle.runtime.operators.batch.sorted_batch import BATCH_RECORDS
from rekindle.runtime.operators.keyed import REDUCED, ReduceOperator, check_samples
from rekindle.runtime.operators.operator import MAX_WATERMARK
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.result_copies import unshared
from rekindle.runtime.operators.roles import InputGatherer


class FinalReduceOperator(ReduceOperator, InputGatherer):
    """Keep the reduction of each key, and emit it when the input has ended.

    Records without timestamps are reduced as they come. Those with timestamps are reduced in their order, after the
    others, and so must be gathered.
    """

    def __init__(self, operator: ReduceOperator, memory_records: int) -> None:
        """Take the place of an operator.

        Args:
            operator: The operator, not open yet.
            memory_records: How many records are gathered in memory at most.
        """
        super().__init__(operator.function, operator.type_info)
        self._memory_records = memory_records

    def open(self, context: OperatorContext) -> None:
        self._gathered = GatheredRecords(self._memory_records, lambda: context.slot.fresh_directory("gathered"))
        super().open(context)

    def process(self, chunk: Chunk) -> None:  # type: ignore[override]
        check_samples(self.function, chunk)
        if chunk.timestamps is None:
            assert chunk.keys is not None
            self._announce(chunk)
            self._reduce(chunk.keys, chunk.values)
            self.backend.after_chunk(len(chunk.values))
        else:
            self._gathered.add(chunk)

    def held_back(self) -> Iterator[Chunk]:
        for batch in self._gathered.by_key():
            self._reduce(batch.keys, batch.values)
        self._gathered.close()
        keys = iter(sorted(self.backend.keys(REDUCED), key=order_of_key))
        while some := list(islice(keys, BATCH_RECORDS)):
            values = []
            self.backend.before_chunk(some)
            for self.backend.key in some:
                value = self._state.value()
                values.append(unshared(value))
            yield Chunk(values, [MAX_WATERMARK] * len(values))

    @at_record("value", key="backend.key")
    def _reduce(self, keys: list[Any], values: list[Any]) -> None:
        reduce, backend, state = self.function.reduce, self.backend, self._state
        for backend.key, value in zip(keys, values, strict=True):
            current = state.value()
            state.update(value if current is None else reduce(current, value))

    def close(self) -> None:
        self._gathered.close()
        super().close()
