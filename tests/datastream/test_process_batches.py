"""``process_batches`` in programs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rekindle.common import Types
from rekindle.datastream import KeyedBatchFunction
from rekindle.testing import local_environment


class Nothing(KeyedBatchFunction):
    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> None:
        return None


def test_a_program_with_a_callable() -> None:
    def totals(batch: pa.RecordBatch, state: Any) -> pa.RecordBatch:
        keys = batch.column("f0").unique()
        sums = [pc.sum(batch.column("f1").filter(pc.equal(batch.column("f0"), key))).as_py() for key in keys]
        after = pc.add(pc.fill_null(state.get_all(keys), 0), pa.array(sums))
        state.update_all(keys, after)
        return pa.record_batch([keys, after], names=["name", "total"])

    env = local_environment()
    env.set_parallelism(2)
    pairs = env.from_collection([(name, number) for number in range(100) for name in ("a", "b", "c")])
    results = pairs.key_by(lambda pair: pair[0]).process_batches(totals, Types.LONG())
    last = {row.name: row.total for row in results.execute_and_collect()}
    assert last == dict.fromkeys("abc", sum(range(100)))


def test_a_callable_needs_the_type_of_its_state() -> None:
    env = local_environment()
    keyed = env.from_collection([1]).key_by(lambda number: number)
    with pytest.raises(TypeError, match="state_type"):
        keyed.process_batches(lambda batch, state: None)
    with pytest.raises(TypeError, match="KeyedBatchFunction"):
        keyed.process_batches(Nothing)  # type: ignore[arg-type]
