"""Records of a stream with a type: where they are converted, where not, and what happens to those that do not fit.

What is expected here was seen on PyFlink 2.3. Each rule holds with an exchange and without one, at parallelism 1.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import types as spark_types

from rekindle.common import Encoder, Row, TypeInformation, Types, WatermarkStrategy
from rekindle.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    RuntimeContext,
    SinkFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import InvalidProgramError, SerializationError
from rekindle.graph.compilation.compiler import compile_job
from rekindle.graph.transformations.sinks import CollectTransformation
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.column_routes import column_routes
from rekindle.runtime.exchange.payload import decode, encode_chunk
from rekindle.runtime.operators.sinks import PRINTED
from rekindle.runtime.slot.failure import OperatorError
from rekindle.runtime.wire import messages as m
from rekindle.serialization.serializer_of import serializer_of
from support.in_process_job import InProcessJob

ROUNDED = 0.10000000149011612  # what a FLOAT makes of 0.1

parallelisms = pytest.mark.parametrize("parallelism", [1, 2])


def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment()


def same(value: Any) -> Any:
    return value


def collected(stream: DataStream, parallelism: int) -> list[Any]:
    """Run a job, and give the records of a stream as the operator before the collecting one sent them."""
    stream.map(same)._sink("Collect", CollectTransformation(), typed_input=False)
    with InProcessJob(stream.get_execution_environment(), parallelism) as job:
        return job.run_to_end()


def floats(environment: StreamExecutionEnvironment, *values: Any) -> DataStream:
    return environment.from_collection(values or (0.1,)).map(same, output_type=Types.FLOAT())


class TestWhereRecordsAreConverted:
    @parallelisms
    def test_not_between_operators_of_one_chain(self, parallelism: int) -> None:
        stream = floats(env()).set_parallelism(1).filter(lambda value: True).set_parallelism(1)
        chained = stream.map(repr).set_parallelism(1)
        assert collected(chained, parallelism) == ["0.1"]

    @parallelisms
    @pytest.mark.parametrize(
        "crossing",
        [
            lambda stream: stream.rebalance(),
            lambda stream: stream.key_by(lambda value: 1),
            lambda stream: stream.filter(lambda value: True).rebalance(),
            lambda stream: stream.union(floats(stream.get_execution_environment(), 0.1)),
        ],
        ids=["rebalance", "key_by", "filter and rebalance", "union"],
    )
    def test_between_chains(self, crossing: Callable[[DataStream], DataStream], parallelism: int) -> None:
        assert set(collected(crossing(floats(env())).map(repr), parallelism)) == {str(ROUNDED)}

    @parallelisms
    def test_where_a_stream_is_read_twice(self, parallelism: int) -> None:
        stream = floats(env())
        stream.filter(lambda value: False)
        assert collected(stream.map(repr), parallelism) == [str(ROUNDED)]

    @parallelisms
    def test_where_they_come_from_a_source(self, parallelism: int) -> None:
        source = NumberSequenceSource(1, 2)
        stream = env().from_source(source, WatermarkStrategy.no_watermarks(), "numbers", type_info=Types.DOUBLE())
        assert sorted(collected(stream.map(repr), parallelism)) == ["1.0", "2.0"]

    def test_where_the_parallelism_changes(self) -> None:
        stream = floats(env()).set_parallelism(2).map(repr).set_parallelism(1)
        assert collected(stream, 1) == [str(ROUNDED)]

    @parallelisms
    def test_the_key_selector_sees_the_record_before_and_the_function_after_it(self, parallelism: int) -> None:
        class KeyAndValue(KeyedProcessFunction):
            def process_element(self, value: float, ctx: Any) -> Iterable[Any]:
                yield ctx.get_current_key(), value

        stream = floats(env()).key_by(lambda value: value).process(KeyAndValue())
        assert collected(stream, parallelism) == [(0.1, ROUNDED)]

    @parallelisms
    @pytest.mark.parametrize(
        ("keyed", "keys"),
        [
            (lambda one, other: [one.key_by(same)], [0.1]),
            (lambda one, other: [one.key_by(same)] * 2, [0.1, 0.1]),
            (lambda one, other: [one.key_by(same), one.key_by(same)], [ROUNDED, ROUNDED]),
            (lambda one, other: [one.union(other).key_by(same)], [ROUNDED, ROUNDED]),
        ],
        ids=["one reader", "one key_by", "two key_by", "union"],
    )
    def test_the_key_selector_sees_the_record_after_it_where_it_is_not_chained(
        self, keyed: Callable[[DataStream, DataStream], list[DataStream]], keys: list[float], parallelism: int
    ) -> None:
        class Key(KeyedProcessFunction):
            def process_element(self, value: float, ctx: Any) -> Iterable[Any]:
                yield ctx.get_current_key()

        environment = env()
        one, *others = (
            stream.process(Key())
            for stream in keyed(floats(environment), floats(environment))  # type: ignore[arg-type]
        )
        assert collected(one.union(*others), parallelism) == keys

    @parallelisms
    def test_the_result_of_a_reduction_is_not_rounded_before_it_leaves_its_chain(self, parallelism: int) -> None:
        stream = floats(env(), 0.1, 0.2).key_by(lambda value: 1).reduce(lambda one, other: one + other)
        assert sorted(collected(stream.map(repr), parallelism)) == [str(ROUNDED), "0.30000000447034836"]

    @parallelisms
    def test_without_a_type_nowhere(self, parallelism: int) -> None:
        values = [(1, [2.0]), {"a": {1}}, None, Row(a=1), [(1,)]]
        stream = env().from_collection(values).map(same).rebalance().map(same)
        assert sorted(collected(stream, parallelism), key=str) == sorted(values, key=str)

    @parallelisms
    def test_pickled_bytes_are_no_type(self, parallelism: int) -> None:
        stream = env().from_collection([0.1]).map(same, output_type=Types.PICKLED_BYTE_ARRAY()).rebalance()
        assert collected(stream.map(same), parallelism) == [0.1]


@dataclass
class Visit:
    city: str
    length: float


CONVERSIONS: dict[str, tuple[TypeInformation, Any, Any]] = {
    "BYTE": (Types.BYTE(), True, 1),
    "INT": (Types.INT(), 1.5, 1),
    "LONG": (Types.LONG(), True, 1),
    "FLOAT": (Types.FLOAT(), 1, 1.0),
    "DOUBLE": (Types.DOUBLE(), 1, 1.0),
    "BOOLEAN": (Types.BOOLEAN(), 1, True),
    "STRING": (Types.STRING(), None, None),
    "TUPLE": (Types.TUPLE([Types.INT(), Types.FLOAT()]), (True, 0.1), (1, ROUNDED)),
    "ROW": (Types.ROW([Types.INT(), Types.STRING()]), Row(1, None), Row(f0=1, f1=None)),
    "ROW_NAMED": (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), Row(b="z", a=2), Row(a=2, b="z")),
    "LIST": (Types.LIST(Types.FLOAT()), [0.1, 1], [ROUNDED, 1.0]),
    "MAP": (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": 0.1}, {"a": ROUNDED}),
    "BASIC_ARRAY": (Types.BASIC_ARRAY(Types.STRING()), ["a", None], ["a", None]),
    "OBJECT_ARRAY": (Types.OBJECT_ARRAY(Types.TUPLE([Types.INT()])), [(True,)], [(1,)]),
    "SQL_DATE": (Types.SQL_DATE(), datetime.date(2024, 1, 2), datetime.date(2024, 1, 2)),
}


class TestWhatTheyBecome:
    @parallelisms
    def test_what_pyflink_makes_of_them(self, parallelism: int) -> None:
        environment = env()
        streams = [
            environment.from_collection([value]).map(same, output_type=type_info).rebalance().map(labelled(name))
            for name, (type_info, value, _) in CONVERSIONS.items()
        ]
        results = dict(collected(streams[0].union(*streams[1:]), parallelism))
        for name, (_, _, expected) in CONVERSIONS.items():
            assert (results[name], type(results[name])) == (expected, type(expected)), name
            if isinstance(expected, tuple | list):
                assert list(map(type, results[name])) == list(map(type, expected)), name

    @parallelisms
    @pytest.mark.parametrize("given_type", [Visit, tuple[str, float], list[float], float | None], ids=str)
    def test_classes_and_annotations_are_types_too(self, given_type: Any, parallelism: int) -> None:
        value: Any = {Visit: Visit("Oslo", 1), tuple[str, float]: ("Oslo", 1), list[float]: [1]}.get(given_type, 1)
        stream = env().from_collection([value]).map(same, output_type=given_type).rebalance().map(repr)
        (shown,) = collected(stream, parallelism)
        assert shown == repr(value).replace("1", "1.0")

    @settings(max_examples=30)
    @given(st.lists(st.tuples(st.text(max_size=3), st.integers(-5, 5), st.floats(allow_nan=False)), min_size=1))
    def test_a_way_over_an_exchange_does_what_conversion_does(self, values: list[Any]) -> None:
        serializer = serializer_of(Types.TUPLE([Types.STRING(), Types.BYTE(), Types.FLOAT()]))
        keys, timestamps = [value[0] for value in values], list(range(len(values)))
        received = decode(bytearray(encode_chunk(Chunk(values, timestamps, keys), serializer)), serializer)  # type: ignore[arg-type]
        assert isinstance(received, Chunk)
        assert (received.keys, received.timestamps) == (keys, timestamps)
        assert received.values == serializer.converted(values)


def labelled(name: str) -> Callable[[Any], Any]:
    return lambda value: (name, value)


class TestWhatDoesNotFit:
    @parallelisms
    @pytest.mark.parametrize(
        ("type_info", "value", "named"),
        [
            (Types.INT(), "x", "'x'"),
            (Types.INT(), None, "None"),
            (Types.STRING(), 5, "5"),
            (Types.DOUBLE(), "1.5", "'1.5'"),
            (Types.TUPLE([Types.INT(), Types.INT()]), (1,), r"\(1,\)"),
            (Types.TUPLE([Types.INT(), Types.STRING()]), (1, 2), "2"),
            (Types.LIST(Types.INT()), (1,), r"\(1,\)"),
        ],
        ids=str,
    )
    def test_raises_naming_the_operator_and_the_value(
        self, type_info: TypeInformation, value: Any, named: str, parallelism: int
    ) -> None:
        stream = env().from_collection([0]).map(lambda _: value, output_type=type_info).name("the culprit")
        with pytest.raises(OperatorError) as raised:
            collected(stream.rebalance(), parallelism)
        assert raised.value.node.name == "the culprit"
        with pytest.raises(SerializationError, match=named):
            raise raised.value.__cause__ or raised.value

    def test_an_element_of_a_collection_raises_at_once(self) -> None:
        with pytest.raises(SerializationError, match=r"from_collection: .*'x'.*INT"):
            env().from_collection([1, "x"], type_info=Types.INT())

    def test_what_is_no_type_is_refused_where_it_is_given(self) -> None:
        stream = env().from_collection([1])
        for give in (
            lambda: stream.map(same, output_type="INT"),
            lambda: stream.key_by(same, key_type=Types.INT),
            lambda: env().from_collection([1], type_info=5),
            lambda: stream.key_by(same).map_with_state(lambda value, state: (value, state), state_type=object()),
        ):
            with pytest.raises(TypeError, match="must be"):
                give()

    def test_streams_of_different_types_cannot_be_united(self) -> None:
        environment = env()
        with pytest.raises(InvalidProgramError, match="of one type"):
            floats(environment).union(environment.from_collection([1]))


class CountPerKey(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._count.update((self._count.value() or 0) + 1)
        key = ctx.get_current_key()
        yield type(key).__name__, key, self._count.value(), value


class TestKeys:
    @parallelisms
    @pytest.mark.parametrize(
        ("key_type", "keys", "expected"),
        [
            (Types.LONG(), [1, True, 1.0], [("int", 1, 1), ("int", 1, 2), ("int", 1, 3)]),
            (Types.DOUBLE(), [1, 1.0, True], [("float", 1.0, 1), ("float", 1.0, 2), ("float", 1.0, 3)]),
            (Types.FLOAT(), [0.1, ROUNDED], [("float", ROUNDED, 1), ("float", ROUNDED, 2)]),
            (Types.STRING(), ["a", None, "a"], [("NoneType", None, 1), ("str", "a", 1), ("str", "a", 2)]),
            (Types.TUPLE([Types.DOUBLE()]), [(1,), (1.0,)], [("tuple", (1.0,), 1), ("tuple", (1.0,), 2)]),
            (Types.ROW([Types.INT()]), [Row(1), Row(1)], [("Row", Row(f0=1), 1), ("Row", Row(f0=1), 2)]),
        ],
        ids=["LONG", "DOUBLE", "FLOAT", "STRING", "TUPLE", "ROW"],
    )
    def test_are_what_their_type_makes_of_them(
        self, key_type: TypeInformation, keys: list[Any], expected: list[Any], parallelism: int
    ) -> None:
        stream = env().from_collection(list(range(len(keys)))).key_by(keys.__getitem__, key_type=key_type)
        result = collected(stream.process(CountPerKey()), parallelism)
        assert sorted([row[:3] for row in result], key=str) == sorted(expected, key=str)
        assert sorted(row[3] for row in result) == list(range(len(keys)))

    @parallelisms
    def test_that_do_not_fit_raise_naming_operator_and_key(self, parallelism: int) -> None:
        stream = env().from_collection(["x"]).map(same).key_by(same, key_type=Types.LONG()).map(same).name("counting")
        with pytest.raises(OperatorError) as raised:
            collected(stream, parallelism)
        with pytest.raises(SerializationError, match=r"'counting' returned a key that does not fit .*Long.*'x'"):
            raise raised.value.__cause__ or raised.value

    def test_their_type_is_known_to_the_operators_behind_them(self) -> None:
        environment = env()
        environment.from_collection([1]).key_by(same, key_type=int).map(same)
        environment.from_collection([1]).key_by(same).map(same)
        typed, untyped = (node.transformation.key_type for node in environment._graph.nodes if node.inputs)
        assert typed == Types.BIG_INT()
        assert untyped is None

    @pytest.mark.parametrize(
        ("key_type", "nullable", "routed"),
        [
            (None, True, True),
            (Types.LONG(), False, True),
            (Types.LONG(), True, False),
            (Types.INT(), False, False),
            (Types.DOUBLE(), False, False),
            (Types.TUPLE([Types.LONG()]), False, False),
        ],
        ids=str,
    )
    def test_spark_routes_by_columns_only_what_the_type_leaves_as_it_is(
        self, key_type: TypeInformation | None, nullable: bool, routed: bool
    ) -> None:
        schema = spark_types.StructType([spark_types.StructField("user", spark_types.LongType(), nullable)])
        frame: Any = SimpleNamespace(columns=["user"], schema=schema, isStreaming=False, sparkSession=None)
        environment = env()
        environment.from_data_frame(frame, "events").key_by(lambda row: row.user, key_type=key_type).map(same)
        assert bool(column_routes(compile_job(environment._graph, 2, None))) is routed

    def test_spark_does_not_route_by_what_a_key_selector_says_before_it_is_opened(self) -> None:
        class Column(KeySelector):
            name = "user"

            def open(self, runtime_context: RuntimeContext) -> None:
                self.name = "other"

            def get_key(self, value: Any) -> Any:
                return getattr(value, self.name)

        fields = [spark_types.StructField(name, spark_types.LongType()) for name in ("user", "other")]
        schema = spark_types.StructType(fields)
        frame: Any = SimpleNamespace(columns=["user", "other"], schema=schema, isStreaming=False, sparkSession=None)
        environment = env()
        environment.from_data_frame(frame, "events").key_by(Column()).map(same)
        assert not column_routes(compile_job(environment._graph, 2, None))


class Kept(SinkFunction):
    values: list[Any] = []  # noqa: RUF012 - where a sink in this process leaves what it got

    def invoke(self, value: Any, context: Any) -> None:
        self.values.append(value)


class TestSinks:
    def printed(self, stream: DataStream) -> str:
        stream.print()
        with InProcessJob(stream.get_execution_environment(), 1) as job:
            lines: list[bytes] = []
            for running in job.slots[0]._graph:
                if running.node.name.startswith("Print"):
                    running.operator._to_driver = lambda channel, data: lines.append(data) if channel == PRINTED else 0
            job.run_to_end()
        return b"".join(lines).decode()

    @pytest.mark.parametrize(
        ("type_info", "value", "line"),
        [
            (None, 0.1, "0.1"),
            (None, (1, "a"), "(1, 'a')"),
            (Types.FLOAT(), 0.1, "0.1"),
            (Types.DOUBLE(), 1, "1.0"),
            (bool | None, True, "true"),
            (Types.INT(), True, "1"),
            (Types.TUPLE([Types.INT(), Types.DOUBLE()]), (True, 1), "(1,1.0)"),
            (Types.LIST(Types.FLOAT()), [0.1], "[0.1]"),
            (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": 0.1}, "{a=0.1}"),
            (Types.ROW([Types.INT(), Types.FLOAT()]), Row(1, 0.1), "+I[1,0.1]"),
            (Types.ROW([Types.TUPLE([Types.FLOAT()])]), Row((0.1,)), "+I[(0.1,)]"),
        ],
        ids=str,
    )
    def test_print_shows_what_pyflink_shows(self, type_info: Any, value: Any, line: str) -> None:
        stream = env().from_collection([value]).map(same, output_type=type_info)
        assert self.printed(stream) == f"{line}\n"

    def test_print_shows_rows_as_they_came_over_an_exchange(self) -> None:
        named = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.FLOAT()])
        stream = env().from_collection([0]).map(lambda _: Row(b=0.1, a=1), output_type=named).rebalance()
        assert self.printed(stream) == f"+I[1,{ROUNDED}]\n"

    def test_functions_get_what_the_type_makes_of_records(self) -> None:
        Kept.values.clear()
        environment = env()
        floats(environment).add_sink(Kept())
        with InProcessJob(environment, 1) as job:
            job.slots[0]  # its copy of the sink shares the class, and so the list
            job.run_to_end()
        assert Kept.values == [ROUNDED]

    def test_the_driver_gets_the_shortest_number_that_is_the_same_float(self) -> None:
        type_info = Types.TUPLE(
            [
                Types.FLOAT(),
                Types.LIST(Types.FLOAT()),
                Types.MAP(Types.STRING(), Types.FLOAT()),
                Types.ROW([Types.FLOAT(), Types.INT()]),
            ]
        )
        value = (0.1, [0.1, None], {"a": 0.1}, Row(0.1, 1))
        stream = env().from_collection([value]).map(same, output_type=type_info)
        stream._sink("Collect", CollectTransformation(type_info))
        with InProcessJob(stream.get_execution_environment(), 1) as job:
            assert job.run_to_end() == [(0.1, [0.1, None], {"a": 0.1}, Row(f0=0.1, f1=1))]

    def test_text_files_hold_what_java_would_write(self, tmp_path: Any) -> None:
        environment = env()
        type_info = Types.TUPLE([Types.INT(), Types.FLOAT(), Types.BOOLEAN()])
        sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()
        environment.from_collection([(1, 0.1, 1)]).map(same, output_type=type_info).sink_to(sink)
        with InProcessJob(environment, 1) as job:
            job.run_to_end()
            job.slots[0].commit_final(m.CommitFinal())
        (file,) = (path for path in tmp_path.rglob("part-*") if path.is_file())
        assert file.read_text() == "(1,0.1,true)\n"


class TestGetType:
    def test_is_the_type_that_was_given_and_pickled_bytes_without(self) -> None:
        untyped = env().from_collection([1])
        typed = untyped.map(same, output_type=Types.INT())
        assert untyped.get_type() == Types.PICKLED_BYTE_ARRAY()
        assert untyped.map(repr).get_type() == Types.PICKLED_BYTE_ARRAY()
        for stream in (typed, typed.rebalance(), typed.filter(bool), typed.key_by(same).reduce(max)):
            assert stream.get_type() == Types.INT()
        assert typed.key_by(same).map(same).get_type() == Types.PICKLED_BYTE_ARRAY()
