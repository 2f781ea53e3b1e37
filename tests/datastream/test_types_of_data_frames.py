"""Types out of a DataFrame's schema, where the program gives none: of the keys that state is kept by, and of rows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812 - the customary name

from rekindle.common import Time, Types
from rekindle.datastream import (
    CoMapFunction,
    DataStream,
    KeySelector,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.graph.stream_graph import StreamNode
from rekindle.runtime.spark.schema_types import row_type
from rekindle.serialization.serializer_of import serializer_of

SCHEMA = T.StructType(
    [
        T.StructField("user", T.StringType()),
        T.StructField("visits", T.LongType()),
        T.StructField("small", T.ByteType()),
        T.StructField("on", T.BooleanType()),
        T.StructField("share", T.FloatType()),
        T.StructField("raw", T.BinaryType()),
        T.StructField("price", T.DecimalType(10, 2)),
        T.StructField("day", T.DateType()),
        T.StructField("local", T.TimestampNTZType()),
        T.StructField("moment", T.TimestampType()),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("place", T.StructType([T.StructField("city", T.StringType())])),
    ]
)


class Either(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


def frame(env: StreamExecutionEnvironment, uid: str = "rows", schema: T.StructType = SCHEMA) -> DataStream:
    """Return the stream of a DataFrame with nothing but a schema."""
    made: Any = SimpleNamespace(columns=schema.names, schema=schema, isStreaming=True, sparkSession=None)
    return env.from_data_frame(made, uid)


def last(env: StreamExecutionEnvironment) -> StreamNode:
    return env._graph.nodes[-1]


def kept(type_info: Any) -> str | None:
    """Name the type by which something is kept in state; None: it is pickled."""
    return None if type_info is None else serializer_of(type_info).snapshot_configuration().describe()


@pytest.mark.parametrize(
    ("selector", "key_type"),
    [
        (lambda row: row.user, "STRING"),
        (lambda row: row["visits"], "LONG"),
        (lambda row: row[2], "LONG"),
        (lambda row: row.on, "BOOLEAN"),
        (lambda row: row.share, "DOUBLE"),
        (lambda row: row.raw, "PRIMITIVE_ARRAY(BYTE)"),
        (lambda row: row.price, "BIG_DEC"),
        (lambda row: row.day, "SQL_DATE"),
        (lambda row: row.local, "datetime"),
        (lambda row: row.place, "ROW(city STRING)"),
        (lambda row: (row.user, row.visits), "TUPLE(STRING, LONG or None)"),
        (lambda row: row.moment, None),
        (lambda row: row.user.lower(), None),
        (lambda row: "all", None),
    ],
)
def test_keys_that_are_columns_are_kept_by_the_types_of_the_columns(
    selector: Callable[[Any], Any], key_type: str | None
) -> None:
    env = StreamExecutionEnvironment()
    keyed = frame(env).filter(lambda row: True).rebalance().key_by(selector)
    keyed.map(lambda row: row)
    assert kept(last(env).transformation.key_type) == key_type
    (edge,) = last(env).inputs
    assert edge.partitioner.key_type is None, "keys are not converted by it"


def test_a_type_that_the_program_gives_wins() -> None:
    env = StreamExecutionEnvironment()
    frame(env).key_by(lambda row: row.small, Types.INT()).map(lambda row: row)
    assert last(env).transformation.key_type == Types.INT()


def test_records_that_are_no_rows_any_more_say_nothing_of_keys() -> None:
    env = StreamExecutionEnvironment()
    frame(env).map(lambda row: row).key_by(lambda row: row.user).map(lambda row: row)
    assert last(env).transformation.key_type is None


def test_what_a_key_selector_does_once_it_is_open_is_not_known() -> None:
    class Column(KeySelector):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.name = "visits"

        def get_key(self, value: Any) -> Any:
            return getattr(value, getattr(self, "name", "user"))

    env = StreamExecutionEnvironment()
    frame(env).key_by(Column()).map(lambda row: row)
    assert last(env).transformation.key_type is None


@pytest.mark.parametrize(("other", "key_type"), [("user", "STRING"), ("visits", None)])
def test_streams_that_share_state_must_agree(other: str, key_type: str | None) -> None:
    env = StreamExecutionEnvironment()
    first, second = frame(env, "first"), frame(env, "second")
    window = TumblingEventTimeWindows.of(Time.seconds(1))
    connected = first.connect(second).key_by(lambda row: row.user, lambda row: row[other])
    connected.map(Either())
    assert kept(last(env).transformation.key_type) == key_type
    joined = first.join(second).where(lambda row: row.user).equal_to(lambda row: row[other]).window(window)
    joined.apply(lambda one, two: one)
    assert kept(last(env).transformation.key_type) == key_type


def test_united_streams_of_one_schema_keep_it_and_others_do_not() -> None:
    env = StreamExecutionEnvironment()
    other = T.StructType([T.StructField("user", T.StringType())])
    frame(env, "1").union(frame(env, "2")).key_by(lambda row: row.user).map(lambda row: row)
    assert kept(last(env).transformation.key_type) == "STRING"
    frame(env, "3").union(frame(env, "4", other)).key_by(lambda row: row.user).map(lambda row: row)
    assert last(env).transformation.key_type is None


def test_rows_that_are_kept_have_the_types_of_the_columns() -> None:
    env = StreamExecutionEnvironment()
    frame(env).key_by(lambda row: row.user).reduce(lambda one, two: one)
    assert kept(last(env).transformation.type_info) == f"{kept(row_type(SCHEMA))}, by a hint"
    assert kept(row_type(SCHEMA)) == (
        "ROW(user STRING, visits LONG, small LONG, on BOOLEAN, share DOUBLE, raw PRIMITIVE_ARRAY(BYTE), price BIG_DEC, "
        "day SQL_DATE, local datetime, moment pickled Python objects, tags LIST(STRING), place ROW(city STRING))"
    )


def test_the_type_of_the_stream_stays_what_it_is_in_pyflink() -> None:
    assert frame(StreamExecutionEnvironment()).get_type() == Types.PICKLED_BYTE_ARRAY()
