"""Functions that see Arrow batches, and the state of many keys at once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from rekindle.columns.shapes import Shape
from rekindle.common import Row, Time, Types
from rekindle.contracts.functions.batch_functions import CallableBatchFunction
from rekindle.datastream import KeyedBatchFunction, KeyedProcessFunction
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, StateAccessError
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.operators.keyed import KeyedProcessOperator
from rekindle.runtime.operators.keyed_batches import KeyedBatchOperator
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.harness import OperatorHarness
from support.column_cases import exact
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


class Stored(KeyedBatchFunction):
    """Do what orders say to the state of their keys: read it, drop it or give it a value; return what was there."""

    orders: list[tuple[int, Any]]

    def __init__(self, descriptor: ValueStateDescriptor) -> None:
        self.descriptor = descriptor

    def process_batch(self, batch: pa.RecordBatch, ctx: KeyedBatchFunction.Context) -> pa.RecordBatch:
        state = ctx.get_state(self.descriptor)
        before = state.get_all(ctx.keys)
        changed = [(key, value) for key, value in self.orders if value != "read"]
        state.update_all([key for key, _ in changed], [value for _, value in changed])
        return pa.record_batch([before], names=["before"])


class StoredOneByOne(KeyedProcessFunction):
    """Do the same to the state of one key after the other."""

    orders: list[tuple[int, Any]]

    def __init__(self, descriptor: ValueStateDescriptor) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        before = self.state.value()
        if isinstance(before, tuple | Row):
            before = tuple(before)
        yield (before,)
        order = dict(self.orders)[value[0]]
        if order is None:
            self.state.clear()
        elif order != "read":
            self.state.update(order)


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


class TestTheStateOfManyKeys:
    """Many keys at once have the values, the expiry and the snapshots that they have one by one."""

    TYPES: ClassVar[dict[str, tuple[Any, Any]]] = {
        "string": (Types.STRING(), ["", "a", "日本"]),
        "boolean": (Types.BOOLEAN(), [True, False]),
        "byte": (Types.BYTE(), [-128, 127]),
        "short": (Types.SHORT(), [-(1 << 15), 5]),
        "int": (Types.INT(), [-(1 << 31), 7]),
        "long": (Types.LONG(), [-(1 << 63), (1 << 63) - 1, 0]),
        "float": (Types.FLOAT(), [0.5, -0.0, float("inf")]),
        "double": (Types.DOUBLE(), [0.1, -0.0, float("nan"), 1e300]),
        "tuple": (Types.TUPLE([Types.LONG(), Types.STRING()]), [(1, "a"), (2, "b")]),
        "row": (Types.ROW([Types.INT(), Types.DOUBLE()]), [Row(1, 2.0), Row(3, -0.0)]),
    }
    EXPIRY: ClassVar[dict[str, Any]] = {
        "for ever": None,
        "on writing": StateTtlConfig.new_builder(Time.seconds(10)).build(),
        "on reading": StateTtlConfig.new_builder(Time.seconds(10))
        .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
        .build(),
        "not cleaned up": StateTtlConfig.new_builder(Time.seconds(10))
        .set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)
        .build(),
    }

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize("expiry", EXPIRY)
    @pytest.mark.parametrize("kind", TYPES)
    def test_is_the_state_of_one_key_after_the_other(self, kind: str, expiry: str, backend: str) -> None:
        type_info, choices = self.TYPES[kind]
        descriptor = ValueStateDescriptor("state", type_info)
        if self.EXPIRY[expiry] is not None:
            descriptor.enable_time_to_live(self.EXPIRY[expiry])
        seen: dict[str, list[Any]] = {}
        for name, function in (("batches", Stored(descriptor)), ("records", StoredOneByOne(descriptor))):
            rng = random.Random(f"{SEED} {kind}")
            seen[name] = []
            restored = None
            for _ in range(2):
                under_test = BackendUnderTest(backend)
                operator = KeyedBatchOperator(function) if name == "batches" else KeyedProcessOperator(function)
                harness = OperatorHarness(
                    operator,
                    lambda order: order[0],
                    state_backend=under_test,
                    restored=restored,  # type: ignore[arg-type]
                )
                for step in range(6):
                    orders = [(key, rng.choice([None, *choices, "read"])) for key in rng.sample(range(5), 3)]
                    function.orders = orders
                    keys = [key for key, _ in orders]
                    result = operator.process(Chunk([(key, 0) for key in keys], None, keys))
                    assert result is not None
                    befores = [value[0] for value in result.values]
                    seen[name].append(exact([tuple(b) if isinstance(b, tuple) else b for b in befores]))
                    harness.advance_processing_time(4_000 * (step + 1))
                taken = harness.snapshot()
                seen[name].append([(block.state, block.key_group, block.entries, block.data) for block in taken.blocks])
                restored = [taken]
                harness.close()
                under_test.close()
        assert seen["batches"] == seen["records"]
