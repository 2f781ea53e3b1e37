"""``process_batches`` in programs."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedBatchFunction, rows_of
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


def test_a_function_that_sees_records_gives_the_rows_of_an_arrow_batch() -> None:
    def doubled(number: int) -> Any:
        return rows_of(pa.record_batch([[number, number * 2]], names=["n"]))

    env = local_environment()
    stream = env.from_collection([1, 5]).flat_map(doubled)
    assert [row.n for row in stream.execute_and_collect()] == [1, 2, 5, 10]
    with pytest.raises(TypeError, match="takes an Arrow record batch or table, and was given a list"):
        rows_of([1])  # type: ignore[arg-type]


def test_an_arrow_batch_is_a_record_like_any_other() -> None:
    env = local_environment(2)
    batches = env.from_collection([1, 2]).flat_map(lambda n: [pa.record_batch([[n]], names=["n"])])
    found = list(batches.key_by(lambda batch: batch["n"][0].as_py()).map(lambda batch: batch).execute_and_collect())
    assert sorted(batch["n"].to_pylist() for batch in found) == [[1], [2]]


def test_batches_know_event_time() -> None:
    class Times(KeyedBatchFunction):
        def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> pa.RecordBatch:
            assert ctx.timestamps is not None
            late = pc.less_equal(ctx.timestamps, pa.scalar(ctx.current_watermark()))
            return pa.record_batch([ctx.keys, ctx.timestamps, late], names=["k", "t", "late"])

    class RowTime(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return value.t  # type: ignore[no-any-return]

    env = local_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
    tables = [pa.table({"k": [1, 2], "t": [10, 20]}), pa.table({"k": [1, 2], "t": [15, 30]})]
    rows = env.from_data_frame(tables, "rows").assign_timestamps_and_watermarks(strategy)
    results = rows.key_by(lambda row: row.k).process_batches(Times())
    assert [node.path for node in env._compile().nodes] == ["columns"] * 3
    found = [tuple(row) for row in results.execute_and_collect()]
    assert found == [(1, 10, False), (2, 20, False), (1, 15, True), (2, 30, False)]
