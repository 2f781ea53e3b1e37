"""Ordinary programs with odd values: by columns they give what they give record by record, to the type and the bit."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from rekindle.columns.arrow_records import found_array
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import AggregateFunction, OutputTag
from rekindle.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from rekindle.testing import local_environment
from support.column_cases import exact

FOLDED = "columns, folded before the exchange"
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("f", pa.float64()), ("t", pa.int64())])
NAN = float("nan")


class RowTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t  # type: ignore[no-any-return]


def rows(v: list[Any] | None = None, f: list[Any] | None = None, t: list[int] | None = None) -> pa.Table:
    """Return a table of one key, large enough to be folded before it is sent."""
    count = len(v or f or t or ())
    return pa.table([[1] * count, v or [0] * count, f or [0.0] * count, t or list(range(count))], schema=SCHEMA)


def outcome(build: Callable[[Any], Any], tables: list[pa.Table], columns: bool, **more: str) -> tuple[Any, list[str]]:
    settings = {
        "rekindle.columns.enabled": str(columns).lower(),
        "restart-strategy.type": "none",
        "pipeline.auto-watermark-interval": "1 h",  # at the end of an epoch
    }
    env = local_environment(1, settings | more)
    result = build(env.from_data_frame(tables, "rows"))
    paths = [node.path for node in env._compile().nodes]
    try:
        return [exact(value) for value in result.execute_and_collect()], paths
    except Exception as error:
        return str(error.__cause__).split("; the traceback", 1)[0], paths


def same(build: Callable[[Any], Any], tables: list[pa.Table], path: str = FOLDED, **more: str) -> Any:
    """Run a program on both paths; return what comes out of either."""
    expected, _ = outcome(build, tables, False, **more)
    found, paths = outcome(build, tables, True, **more)
    assert path in paths, paths
    assert found == expected
    return found


def timed(stream: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(RowTime())
    return stream.assign_timestamps_and_watermarks(strategy)


def windows(stream: Any) -> Any:
    return timed(stream).key_by(lambda r: r.k).window(TumblingEventTimeWindows.of(Time.seconds(1)))


class Aggregate(AggregateFunction):
    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise AssertionError("nothing merges")


class LeastFirst(Aggregate):
    def create_accumulator(self) -> Any:
        return 1e9

    def add(self, value: Any, accumulator: Any) -> Any:
        return min(value.f, accumulator)


class LeastLast(LeastFirst):
    def add(self, value: Any, accumulator: Any) -> Any:
        return min(accumulator, value.f)


class LeastOrEqual(LeastFirst):
    def add(self, value: Any, accumulator: Any) -> Any:
        return value.f if value.f <= accumulator else accumulator


class KeepUnlessLess(LeastFirst):
    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator if accumulator <= value.f else value.f


class Greatest(LeastFirst):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return max(value.f, accumulator)


class GreatestOfIntegers(Greatest):
    def create_accumulator(self) -> Any:
        return 0.0

    def add(self, value: Any, accumulator: Any) -> Any:
        return max(value.v, accumulator)


class TestExtremes:
    @pytest.mark.parametrize("function", [LeastFirst, LeastLast, LeastOrEqual, KeepUnlessLess, Greatest])
    @pytest.mark.parametrize("odd", [[NAN], [-0.0], [0.0, -0.0], [1.0, NAN], [NAN, 1.0], [-0.0, 0.0], [float("-inf")]])
    def test_an_odd_value_in_one_batch_is_remembered_as_the_function_does(self, function: Any, odd: list[Any]) -> None:
        plain = [2.0, 5.0, 3.0, 4.0]
        for tables in (
            [rows(f=odd * 4), rows(f=plain)],
            [rows(f=plain), rows(f=odd * 4), rows(f=plain)],
            [rows(f=odd * 4), rows(f=[0.0] * 4)],
            [rows(f=[0.0] * 4), rows(f=odd * 4), rows(f=[0.0] * 4)],
        ):
            same(lambda s: windows(s).aggregate(function()), tables)

    @pytest.mark.parametrize("value", [0.0, -0.0, 1.0, NAN, -1.0])
    def test_what_is_kept_of_an_integer_and_an_equal_float_is_the_object_that_python_keeps(self, value: float) -> None:
        same(lambda s: windows(s).aggregate(Greatest()), [rows(f=[value] * 4)])

    def test_so_it_is_of_a_float_and_an_equal_integer(self) -> None:
        found = same(lambda s: windows(s).aggregate(GreatestOfIntegers()), [rows(v=[0] * 4)])
        assert found == [("int", 0)]

    def test_integers_and_floats_that_differ_by_less_than_a_float_can_tell_are_compared_exactly(self) -> None:
        class Beyond(Greatest):
            def create_accumulator(self) -> Any:
                return 9007199254740993  # the float below it is 9007199254740992.0

        same(
            lambda s: windows(s).aggregate(Beyond()),
            [rows(f=[9007199254740992.0] * 4), rows(f=[9007199254740994.0] * 4)],
        )

    @pytest.mark.parametrize(
        "reduce",
        [
            lambda a, b: (a[0], min(a[1], b[1])),
            lambda a, b: (a[0], min(b[1], a[1])),
            lambda a, b: (a[0], max(b[1], a[1])),
            lambda a, b: (a[0], a[1] if a[1] >= b[1] else b[1]),
        ],
    )
    @pytest.mark.parametrize("odd", [NAN, -0.0])
    def test_reductions_are_spelled_in_many_ways_as_well(self, reduce: Any, odd: float) -> None:
        def build(stream: Any) -> Any:
            pairs = timed(stream).map(lambda r: (r.k, r.f)).key_by(lambda p: p[0])
            return pairs.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(reduce)

        for tables in (
            [rows(f=[odd, 0.0]), rows(f=[2.0] * 4)],
            [rows(f=[odd] * 4), rows(f=[0.0] * 4), rows(f=[odd, 0.0])],
        ):
            same(build, tables)


class Less(Aggregate):
    def create_accumulator(self) -> Any:
        return -0.0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator - value.v


class LessFromZero(Less):
    def create_accumulator(self) -> Any:
        return 0


class LessFloats(Less):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator - value.f


class MoreFloats(LessFloats):
    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.f


class FromTrue(Less):
    def create_accumulator(self) -> Any:
        return True

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value.v


class TestSums:
    def test_what_is_taken_away_is_not_added_negated(self) -> None:
        found = same(lambda s: windows(s).aggregate(Less()), [rows(v=[0] * 4)], "columns")
        assert found == [exact(-0.0)]
        same(lambda s: windows(s).aggregate(LessFloats()), [rows(f=[0.0, -0.0, NAN, 1e308])], "columns")

    def test_integers_are_taken_away_before_the_exchange_and_behind_it(self) -> None:
        big = (1 << 62) - 1
        for values in ([3, -4, 5, 6], [big] * 4, [-big] * 4, [-(1 << 63)] * 4):
            same(lambda s: windows(s).aggregate(LessFromZero()), [rows(v=values), rows(v=values)])

            def running(stream: Any) -> Any:
                return stream.map(lambda r: (r.k, r.v)).key_by(lambda p: p[0]).reduce(lambda a, b: (a[0], a[1] - b[1]))

            same(running, [rows(v=values), rows(v=values[::-1])], "columns")

    @pytest.mark.parametrize("function", [MoreFloats, LessFloats])
    def test_sums_of_floats_that_begin_with_an_integer_become_floats(self, function: Any) -> None:
        for values in ([-0.0] * 4, [0.1, 0.2, 0.3, 1e16]):
            same(lambda s: windows(s).aggregate(function()), [rows(f=values), rows(f=values)], "columns")

    def test_sums_that_begin_with_true_become_integers(self) -> None:
        assert same(lambda s: windows(s).aggregate(FromTrue()), [rows(v=[0] * 4)]) == [("int", 1)]

    def test_negative_zeros_stay_so_where_floats_are_folded_before_they_are_sent(self) -> None:
        class FromNegativeZero(MoreFloats):
            def create_accumulator(self) -> Any:
                return -0.0

        more = {"rekindle.columns.combine-floats": "true"}
        found = same(lambda s: windows(s).aggregate(FromNegativeZero()), [rows(f=[-0.0] * 4)], **more)
        assert found == [exact(-0.0)]


class TestTypedRecords:
    @staticmethod
    def typed(kind: Any, then: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def build(stream: Any) -> Any:
            pairs = timed(stream).map(lambda r: (r.k, r.v), output_type=Types.TUPLE([Types.LONG(), kind]))
            return then(pairs.key_by(lambda p: p[0]).window(TumblingEventTimeWindows.of(Time.seconds(1))))

        return build

    @pytest.mark.parametrize("kind", [Types.INT(), Types.SHORT(), Types.BYTE()])
    def test_integers_wrap_before_they_are_folded(self, kind: Any) -> None:
        class Total(Aggregate):
            def create_accumulator(self) -> Any:
                return 0

            def add(self, value: Any, accumulator: Any) -> Any:
                return accumulator + value[1]

        for wide in (1 << 31, (1 << 32) + 1, -(1 << 40) + 5):
            tables = [rows(v=[wide, 1, 2, 3]), rows(v=[4, 5, 6, 7])]
            found = same(self.typed(kind, lambda w: w.aggregate(Total())), tables)
            assert found != [("int", wide + 28)]
            same(self.typed(kind, lambda w: w.reduce(lambda a, b: (a[0], min(a[1], b[1])))), tables)

    def test_a_null_that_the_type_refuses_is_refused(self) -> None:
        found = same(
            self.typed(Types.LONG(), lambda w: w.reduce(lambda a, b: (a[0], b[1]))), [rows(v=[1, None, None, 4])]
        )
        assert "None (NoneType) is not of type LONG" in found
        assert "in operator 'Map'" in found

    def test_a_record_goes_where_its_converted_key_belongs(self) -> None:
        def build(stream: Any) -> Any:
            pairs = stream.map(lambda r: (r.v, r.k), output_type=Types.TUPLE([Types.INT(), Types.LONG()]))
            return pairs.key_by(lambda p: p[0]).sum(1)

        same(build, [rows(v=[1 << 32, 0, 5, (1 << 32) + 5])], "columns")


class TupleTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]  # type: ignore[no-any-return]


def test_timestamps_come_from_records_that_are_not_converted_yet() -> None:
    """As in PyFlink, which chains the two functions; without columns there is an exchange in between."""

    def build(stream: Any) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TupleTime())
        typed = stream.map(lambda r: (r.k, r.t), Types.TUPLE([Types.LONG(), Types.BYTE()]))
        keyed = typed.assign_timestamps_and_watermarks(strategy).key_by(lambda r: r[0])
        windowed = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        return windowed.reduce(lambda a, b: (a[0], a[1] + b[1]))

    found = same(build, [rows(t=[10, 120, 128, 300])])
    assert found == [exact(record) for record in [(1, 10), (1, 120 - 128), (1, 300 - 256)]]


class FarTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.t + (1 << 63)  # type: ignore[no-any-return]


def test_a_timestamp_of_more_than_64_bits_is_named_where_it_was_given() -> None:
    def build(stream: Any) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FarTime())
        keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda r: r.k)
        return keyed.window(TumblingEventTimeWindows.of(Time.seconds(1))).reduce(max)

    found = same(build, [rows(t=[421])], "columns")
    assert "the timestamp of a record was given as 9223372036854776229" in found


class TestGaps:
    LATE = OutputTag("late")

    def late(self, stream: Any) -> Any:
        assigner = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(100))
        keyed = timed(stream).key_by(lambda r: r.k)
        return keyed.window(assigner).side_output_late_data(self.LATE).sum("v").get_side_output(self.LATE)

    def test_late_records_between_windows_go_to_the_side_output(self) -> None:
        found = same(self.late, [rows(t=[500]), rows(t=[50, 550, 450, 499, 501])], "columns")
        assert len(found) == 3

    def test_with_allowed_lateness_only_those_beyond_it(self) -> None:
        def build(stream: Any) -> Any:
            assigner = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(100))
            windowed = timed(stream).key_by(lambda r: r.k).window(assigner).allowed_lateness(100)
            return windowed.side_output_late_data(self.LATE).sum("v").get_side_output(self.LATE)

        assert len(same(build, [rows(t=[500]), rows(t=[50, 380, 399, 400, 450])], "columns")) == 3

    @pytest.mark.parametrize("far", [1 << 40, 1 << 61, (1 << 63) - 1, -(1 << 62)])
    def test_windows_may_lie_far_apart(self, far: int) -> None:
        def build(stream: Any) -> Any:
            keyed = timed(stream).key_by(lambda r: r.k)
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(1))).sum("v")

        times = [0, far, 0, far, far, 0]
        same(build, [rows(t=times if far > 0 else times[::-1], v=[1, 2, 3, 4, 5, 6])])

    def test_records_in_no_window_are_not_folded_away(self) -> None:
        def build(stream: Any) -> Any:
            assigner = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(100))
            return timed(stream).key_by(lambda r: r.k).window(assigner).sum("v")

        _, paths = outcome(build, [rows(t=[50, 1])], True)
        assert paths[-1] == "columns", "all are counted as read"


class TestNames:
    SCHEMA = pa.schema([(name, pa.int64()) for name in ("k", "", "a.b", "count", "index", "naïve 列", "\0001", "0")])
    TABLE = pa.table([[1, 1, 2], *([[3, 4, 5]] * 7)], schema=SCHEMA)

    @pytest.mark.parametrize("name", SCHEMA.names[1:])
    def test_of_all_kinds_stay(self, name: str) -> None:
        same(lambda s: s.filter(lambda r: r.k > 0).key_by(lambda r: r.k).sum(name), [self.TABLE], "columns")
        same(lambda s: s.key_by(lambda r: r[name]).max_by(name), [self.TABLE], "columns")


class TestErrors:
    def test_that_come_up_while_folding_what_was_folded_name_operator_record_and_key(self) -> None:
        tables = [rows(v=[None]), rows(v=[7, 8, 9, 10], t=[5, 6, 7, 8])]
        for reduced in (
            lambda w: w.sum("v"),
            lambda w: w.min("v"),
            lambda w: w.max("v"),
            lambda w: w.min_by("v"),
            lambda w: w.max_by("v"),
        ):
            found = same(lambda s, reduced=reduced: reduced(windows(s)).name("Folded"), tables)
            assert found.startswith("TypeError: ")
            assert "in operator 'Folded', subtask 0, at record Row(k=1, v=7, f=0.0, t=5) of key 1" in found

    def test_so_they_do_where_a_function_begins_with_what_it_cannot_add_to(self) -> None:
        class FromNone(LeastFirst):
            def create_accumulator(self) -> Any:
                return None

        found = same(lambda s: windows(s).aggregate(FromNone()), [rows(f=[1.0] * 4)], "columns")
        assert "at record Row(k=1, v=0, f=1.0, t=0) of key 1" in found


class TestBatches:
    SCHEMA = pa.schema(
        [
            ("k", pa.int32()),
            ("i", pa.int32()),
            ("f", pa.float32()),
            ("s", pa.string()),
            ("d", pa.decimal128(20, 2)),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("local", pa.timestamp("us")),
            ("list", pa.list_(pa.int32())),
            ("struct", pa.struct([("x", pa.int32())])),
            ("bytes", pa.binary()),
            ("flag", pa.bool_()),
        ]
    )

    def table(self, numbers: list[int | None]) -> pa.Table:
        row = {
            "k": 1,
            "f": 0.5,
            "s": "a",
            "d": decimal.Decimal("1.5"),
            "day": datetime.date(2024, 1, 1),
            "at": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
            "local": datetime.datetime(2024, 1, 1),
            "list": [1],
            "struct": {"x": 1},
            "bytes": b"a",
            "flag": True,
        }
        nothing = dict.fromkeys(row) | {"k": 1}
        return pa.Table.from_pylist(
            [(nothing if number is None else row) | {"i": number} for number in numbers], self.SCHEMA
        )

    @staticmethod
    def seen(batch: Any, state: Any) -> pa.RecordBatch:
        """Return the types that a function sees, and the squares of a column, which wrap if it is narrow."""
        types = "; ".join(f"{field.name} {field.type}" for field in batch.schema)
        return pa.record_batch(
            [[types], [str(pa.compute.multiply(batch.column(1), batch.column(1)))]], names=["t", "s"]
        )

    TABLES = ([3, 70_000], [None, None], [None, 5, 70_000], [1])

    def types(self, build: Callable[[Any], Any]) -> set[str]:
        def program(stream: Any) -> Any:
            return build(stream).process_batches(self.seen, Types.LONG())

        found = same(program, [self.table(list(each)) for each in self.TABLES], "columns")
        return {row[2][0][1] for row in found}

    def described(self) -> str:
        return "; ".join(f"{field.name} {field.type}" for field in self.SCHEMA)

    @pytest.mark.parametrize(
        "build",
        [
            lambda s: s.key_by(lambda r: r.k),
            lambda s: s.filter(lambda r: r.k > 0).key_by(lambda r: r.k),
            lambda s: s.filter(lambda r: r.i != 4).key_by(lambda r: r.k),
            lambda s: timed_by_key(s).filter(lambda r: r.k > 0).key_by(lambda r: r.k),
        ],
    )
    def test_rows_of_a_data_frame_have_the_types_of_its_schema(self, build: Any) -> None:
        assert self.types(build) == {self.described()}

    def test_records_with_a_type_have_the_types_that_it_says(self) -> None:
        kind = Types.TUPLE([Types.LONG(), Types.INT(), Types.DOUBLE()])
        declared = lambda s: s.filter(lambda r: r.k > 0).map(lambda r: (r.k, r.k * 2, r.k * 0.5), kind)  # noqa: E731
        assert self.types(lambda s: declared(s).key_by(lambda p: p[0])) == {"f0 int64; f1 int32; f2 double"}

    @pytest.mark.parametrize("field", SCHEMA.names)
    def test_others_have_the_types_of_their_values(self, field: str) -> None:
        found = self.types(lambda s: s.map(lambda r: (r.k, r.i, r[field])).key_by(lambda p: p[0]))
        assert {types.split("; ")[1] for types in found} == {"f1 int64", "f1 null"}, "null where there are no others"

    def test_decimals_have_one_type_whatever_digits_a_batch_has(self) -> None:
        from rekindle.datastream import KeyedBatchFunction

        class Kinds(KeyedBatchFunction):
            def process_batch(self, batch: Any, ctx: Any) -> Any:
                return pa.record_batch([[f"{batch.schema.field(1).type} of {ctx.keys.type}"]], names=["t"])

        def build(stream: Any) -> Any:
            half = decimal.Decimal("0.5")
            given = stream.map(lambda r: (r.k, decimal.Decimal(r.v) if r.v > 9 else half, decimal.Decimal(r.v) / 8))
            return given.key_by(lambda p: p[2]).process_batches(Kinds())

        found = [
            outcome(build, [rows(v=[1]), rows(v=[12_345]), rows(v=[3, 77])], columns)[0] for columns in (True, False)
        ]
        assert found[0] == found[1]
        assert {row[2][0][1] for row in found[0]} == {"decimal128(38, 18) of decimal128(38, 18)"}

    def test_decimals_that_are_longer_have_the_type_that_they_need(self) -> None:
        long = decimal.Decimal("0.1234567890123456789")
        assert found_array([long, None]).to_pylist() == [long, None]

    def test_keys_have_the_types_of_their_values(self) -> None:
        from rekindle.datastream import KeyedBatchFunction

        class Keys(KeyedBatchFunction):
            def process_batch(self, batch: Any, ctx: Any) -> Any:
                return pa.record_batch([[str(ctx.keys.type)]], names=["t"])

        for selector, expected in (
            (lambda r: r.k, "int64"),
            (lambda r: r.s, "string"),
            (lambda r: (r.k, r.flag), "struct<f0: int64, f1: bool>"),
        ):
            for build in (lambda s: s, lambda s: s.filter(lambda r: r.i > 0)):
                found = same(
                    lambda s, build=build, selector=selector: build(s).key_by(selector).process_batches(Keys()),
                    [self.table([3]), self.table([5, 4])],
                    "columns",
                )
                assert {row[2][0][1] for row in found} == {expected}


class KeyTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value.k  # type: ignore[no-any-return]


def timed_by_key(stream: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(KeyTime())
    return stream.assign_timestamps_and_watermarks(strategy)
