"""Runs an operator with a broadcast input over input that has ended: all broadcast records come before all others."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import Any

from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import InputGatherer, TwoInputOperator


class BroadcastFirstOperator(TwoInputOperator, InputGatherer):
    """Hold the records of the first input back until the second one has ended, too."""

    def __init__(self, operator: TwoInputOperator, memory_records: int) -> None:
        """Wrap an operator.

        Args:
            operator: The operator, not open yet; its second input is the broadcast one.
            memory_records: How many records are held in memory at most.
        """
        self.operator = operator
        self._memory_records = memory_records
        self._chunks: list[Chunk] = []
        self._count = 0
        self._file: Any = None

    def open(self, context: OperatorContext) -> None:
        self._fresh_directory = context.slot.fresh_directory
        self.operator.open(context)

    def process(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self._count += len(chunk.values)
        if self._count >= self._memory_records:
            self._spill()

    def process_second(self, chunk: Chunk) -> Chunk | None:
        return self.operator.process_second(chunk)

    def held_back(self) -> Iterator[Chunk]:
        for chunk in self._held():
            result = self.operator.process(chunk)
            if result is not None:
                yield result

    def finish(self) -> Chunk | None:
        return self.operator.finish()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self.operator.close()

    def _spill(self) -> None:
        if self._file is None:
            path = os.path.join(self._fresh_directory("held-back"), "records")
            self._file = open(path, "w+b")  # noqa: SIM115 - closed with the operator
        for chunk in self._chunks:
            pickle.dump((chunk.values, chunk.timestamps), self._file, 5)
        self._chunks, self._count = [], 0

    def _held(self) -> Iterator[Chunk]:
        if self._file is not None:
            self._file.seek(0)
            while True:
                try:
                    values, timestamps = pickle.load(self._file)
                except EOFError:
                    break
                yield Chunk(values, timestamps)
        chunks, self._chunks = self._chunks, []
        yield from chunks
