"""Operators say which keys come next, so that RocksDB can read the state of all of them at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Types
from rekindle.datastream import KeyedBatchFunction, KeyedProcessFunction
from rekindle.datastream.functions import ReduceFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.operators.keyed import KeyedProcessOperator, ReduceOperator
from rekindle.runtime.operators.keyed_batches import KeyedBatchOperator
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.rocksdb.table import StateTable
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.harness import OperatorHarness

COUNT = ValueStateDescriptor("count", Types.LONG())
KEYS, CHUNK = 2_000, 500


class Count(KeyedProcessFunction):
    """Count the records of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class Add(ReduceFunction):
    """Count the records of each key, too."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class CountInBatches(KeyedBatchFunction):
    """Count the records of each key, of which a batch has one each."""

    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> pa.RecordBatch:
        state = ctx.get_state(COUNT)
        counts = [(count or 0) + 1 for count in state.get_all(ctx.keys).to_pylist()]
        state.update_all(ctx.keys, counts)
        return pa.record_batch([ctx.keys, pa.array(counts)], names=["k", "n"])


@pytest.mark.parametrize(
    "operator",
    [
        lambda: KeyedProcessOperator(Count()),
        lambda: ReduceOperator(Add(), Types.TUPLE([Types.LONG(), Types.LONG()])),
        lambda: KeyedBatchOperator(CountInBatches()),
    ],
    ids=["process", "reduce", "batches"],
)
def test_the_state_of_a_chunk_is_read_at_once(operator: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []
    read_one, read_many = StateTable.read, StateTable.read_many

    def one(table: StateTable, key: Any) -> Any:
        reads.append(1)
        return read_one(table, key)

    def many(table: StateTable, keys: list[Any], most_bytes: int) -> Any:
        reads.append(len(keys))
        return read_many(table, keys, most_bytes)

    monkeypatch.setattr(StateTable, "read", one)
    monkeypatch.setattr(StateTable, "read_many", many)
    backend = BackendUnderTest("rocksdb", BackendSettings(rocksdb=RocksDBSettings(cache_entries=2 * CHUNK)))
    harness = OperatorHarness(operator(), lambda pair: pair[0], state_backend=backend)
    rounds = 3
    for count in range(1, rounds + 1):
        for start in range(0, KEYS, CHUNK):
            emitted = harness.process(*((key, 1) for key in range(start, start + CHUNK)))
            assert [tuple(pair) for pair in emitted] == [(key, count) for key in range(start, start + CHUNK)]
    harness.close()
    backend.close()
    assert max(reads) == CHUNK
    assert reads.count(1) < 2 * CHUNK < sum(reads)  # by the first chunk it was learned that keys are missing
