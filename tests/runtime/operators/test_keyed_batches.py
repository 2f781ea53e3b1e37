"""Functions that see Arrow batches, and the state of many keys at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rekindle.columns.shapes import Shape
from rekindle.common import Time, Types
from rekindle.contracts.functions.batch_functions import CallableBatchFunction
from rekindle.datastream import KeyedBatchFunction
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.operators.keyed_batches import KeyedBatchOperator
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.harness import OperatorHarness
from support.seeds import SEED

BACKENDS = ("heap", "rocksdb")
TOTAL = ValueStateDescriptor("total", Types.LONG())


class Totals(KeyedBatchFunction):
    """Add up the values of each key, and give the total of each key in the batch."""

    descriptor = TOTAL

    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> Iterator[pa.RecordBatch]:
        state = ctx.get_state(self.descriptor)
        sums = (
            pa.table({"k": ctx.keys, "v": batch.column(1)}).group_by("k", use_threads=False).aggregate([("v", "sum")])
        )
        keys = sums["k"].combine_chunks()
        before = pc.fill_null(state.get_all(keys), 0)
        after = pc.add(before, sums["v_sum"].combine_chunks())
        state.update_all(keys, after)
        yield pa.record_batch([keys, after], names=["k", "total"])


def as_chunk(rows: list[tuple[Any, int]], columns: bool) -> Chunk:
    if not columns:
        return Chunk(rows, None, [key for key, _ in rows])
    keys = pa.array([key for key, _ in rows])
    return ColumnChunk([keys, pa.array([value for _, value in rows])], Shape.tuple(2), [keys])


@pytest.mark.parametrize("columns", [True, False], ids=["columns", "rows"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_totals_are_those_of_a_loop_and_survive_a_restore(backend: str, columns: bool) -> None:
    rng = random.Random(SEED)
    expected: dict[int, int] = {}
    snapshots = None
    for _ in range(3):
        under_test = BackendUnderTest(backend)
        harness = OperatorHarness(
            KeyedBatchOperator(Totals()), lambda pair: pair[0], state_backend=under_test, restored=snapshots
        )
        for count in (1, 50, 7):
            rows = [(rng.randint(0, 9), rng.randint(-5, 5)) for _ in range(count)]
            for key, value in rows:
                expected[key] = expected.get(key, 0) + value
            result = harness.operator.process(as_chunk(rows, columns))
            assert result is not None
            assert {row.k: row.total for row in result.values} == {key: expected[key] for key, _ in rows}
        snapshots = [harness.snapshot()]
        harness.close()
        under_test.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_state_is_that_of_a_function_that_sees_records(backend: str) -> None:
    from rekindle.datastream import KeyedProcessFunction

    class Reader(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.total = runtime_context.get_state(TOTAL)

        def process_element(self, value: Any, ctx: Any) -> Any:
            yield self.total.value()

    written = BackendUnderTest(backend)
    harness = OperatorHarness(KeyedBatchOperator(Totals()), lambda pair: pair[0], state_backend=written)
    harness.process((1, 5), (2, 7), (1, 1))
    taken = harness.snapshot()
    harness.close()
    written.close()
    reader = OperatorHarness.keyed(Reader(), lambda key: key, restored=[taken])
    assert reader.process(1, 2, 3) == [6, 7, None]
    reader.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_values_expire(backend: str) -> None:
    descriptor = ValueStateDescriptor("total", Types.LONG())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(10)).build())

    class Expiring(Totals):
        pass

    Expiring.descriptor = descriptor
    under_test = BackendUnderTest(backend)
    harness = OperatorHarness(KeyedBatchOperator(Expiring()), lambda pair: pair[0], state_backend=under_test)
    assert [tuple(row) for row in harness.process((1, 5), (2, 7))] == [(1, 5), (2, 7)]
    harness.advance_processing_time(6_000)
    assert [tuple(row) for row in harness.process((1, 1))] == [(1, 6)]
    harness.advance_processing_time(11_000)
    assert [tuple(row) for row in harness.process((1, 1), (2, 1))] == [(1, 7), (2, 1)]
    harness.close()
    under_test.close()


@pytest.mark.parametrize("backend", BACKENDS)
def test_null_drops_a_value_and_the_last_of_several_counts(backend: str) -> None:
    seen: list[Any] = []

    def change(batch: pa.RecordBatch, state: Any) -> None:
        seen.append(state.get_all(["a", "b", "a"]).to_pylist())
        state.update_all(["a", "b", "a"], [(1, "x"), None, (2, "y")])

    descriptor = ValueStateDescriptor("state", Types.TUPLE([Types.INT(), Types.STRING()]))
    under_test = BackendUnderTest(backend)
    operator = KeyedBatchOperator(CallableBatchFunction(change, descriptor))
    harness = OperatorHarness(operator, lambda value: value, state_backend=under_test)
    harness.process("a", "b")
    harness.process("a", "b")
    assert seen == [[None, None, None], [{"f0": 2, "f1": "y"}, None, {"f0": 2, "f1": "y"}]]
    harness.close()
    under_test.close()


def test_keys_of_other_batches_are_refused() -> None:
    def stray(batch: pa.RecordBatch, state: Any) -> None:
        state.get_all(["c"])

    operator = KeyedBatchOperator(CallableBatchFunction(stray, ValueStateDescriptor("state", Types.LONG())))
    harness = OperatorHarness(operator, lambda value: value)
    with pytest.raises(StateAccessError, match="asked for the key 'c', of which the batch has no record"):
        harness.process("a", "b")
    harness.close()


def test_state_without_a_form_in_arrow_is_refused() -> None:
    operator = KeyedBatchOperator(
        CallableBatchFunction(lambda batch, state: None, ValueStateDescriptor("state", Types.PICKLED_BYTE_ARRAY()))
    )
    harness = OperatorHarness(operator, lambda value: value)
    with pytest.raises(InvalidProgramError, match="has no form in Arrow"):
        harness.process("a")
    harness.close()


def test_what_is_no_batch_is_refused() -> None:
    operator = KeyedBatchOperator(
        CallableBatchFunction(lambda batch, state: [1, 2], ValueStateDescriptor("state", Types.LONG()))
    )
    harness = OperatorHarness(operator, lambda value: value)
    with pytest.raises(InvalidProgramError, match="returns Arrow batches, an iterable of them or None, and gave a int"):
        harness.process("a")
    harness.close()


def test_records_that_have_no_common_type_are_refused() -> None:
    operator = KeyedBatchOperator(Totals())
    harness = OperatorHarness(operator, lambda pair: pair[0])
    with pytest.raises(InvalidProgramError, match="no common form in Arrow"):
        harness.process((1, 2), (2, "x"))
    harness.close()
