"""Records that a format writes come back as they were: Parquet, ORC, Avro, CSV."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import fastavro
import msgspec
import numpy
import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from rekindle.common import Row, Types
from rekindle.datastream.formats.avro import AvroBulkWriters, AvroSchema, avro_writer
from rekindle.datastream.formats.csv import CsvBulkWriters, CsvSchema, csv_writer
from rekindle.datastream.formats.orc import OrcBulkWriters, orc_writer
from rekindle.datastream.formats.parquet import AvroParquetWriters, ParquetBulkWriters, parquet_writer
from rekindle.exceptions import SerializationError
from rekindle.formats.bulk_writer import BulkWriterFactory
from rekindle.types.spark_rows import row_maker


def written(factory: BulkWriterFactory, *chunks: list[Any]) -> bytes:
    """Write one file, with a factory that has travelled."""
    writer = cloudpickle.loads(cloudpickle.dumps(factory)).create()
    return b"".join([*map(writer.add, chunks), writer.finish()])


def read(data: bytes) -> list[dict[str, Any]]:
    """Read a file back, by what it begins with."""
    if data.startswith(b"PAR1"):
        return parquet.read_table(io.BytesIO(data)).to_pylist()
    if data.startswith(b"ORC"):
        return orc.read_table(io.BytesIO(data)).to_pylist()
    assert data.startswith(b"Obj")
    return list(fastavro.reader(io.BytesIO(data)))


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Place:
    city: str
    zip: int | None = None


@dataclass
class Order:
    number: int
    user: str | None
    amount: Decimal
    day: date
    at: datetime
    paid: bool
    weight: float
    photo: bytes
    color: Color
    key: uuid.UUID
    tags: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    place: Place | None = None
    places: list[Place] = field(default_factory=list)


ORDER = Order(
    2**62,
    'é "漢" 🔥\n',
    Decimal("-12345678901234567890.123456789012345678"),
    date(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    True,
    -0.0,
    b"\x00\xff\n",
    Color.BLUE,
    uuid.UUID(int=5),
    ["a", "", "b"],
    {"x": 1, "": -1},
    Place("Oslo", 150),
    [Place("Rome"), Place("", 0)],
)
BARE = Order(
    0,
    None,
    Decimal(0),
    date(1970, 1, 1),
    datetime(1970, 1, 1, tzinfo=UTC),
    False,
    1e300,
    b"",
    Color.RED,
    uuid.UUID(int=0),
)
EXPECTED = {
    "number": 2**62,
    "user": ORDER.user,
    "amount": ORDER.amount,
    "day": ORDER.day,
    "at": ORDER.at,
    "paid": True,
    "weight": -0.0,
    "photo": ORDER.photo,
    "color": "blue",
    "key": str(ORDER.key),
    "tags": ["a", "", "b"],
    "counts": [("x", 1), ("", -1)],
    "place": {"city": "Oslo", "zip": 150},
    "places": [{"city": "Rome", "zip": None}, {"city": "", "zip": 0}],
}


def test_a_dataclass_is_its_own_schema_in_parquet() -> None:
    first, second = read(written(parquet_writer(Order), [ORDER], [BARE]))
    assert first == EXPECTED
    assert second["user"] is None
    assert second["place"] is None
    assert second["places"] == []
    assert second["amount"] == 0


@pytest.mark.parametrize(
    "factory", [parquet_writer, orc_writer, ParquetBulkWriters.for_row_type, OrcBulkWriters.for_row_type]
)
def test_parquet_and_orc_keep_values_and_nulls(factory: Callable[[Any], BulkWriterFactory]) -> None:
    schema = "name string, n int, x double, ok boolean, raw binary, day date, d decimal(20, 3), l array<int>"
    rows = [
        ("a", 2**31 - 1, float("inf"), True, b"\0", date(2020, 2, 29), Decimal("1.5"), [1, None]),
        (None, None, None, None, None, None, None, None),
        ("", -(2**31), 1e-300, False, b"", date(1582, 10, 15), Decimal("-99999999999999999.999"), []),
    ]
    back = read(written(factory(schema), rows[:1], rows[1:]))
    assert [tuple(row.values()) for row in back] == [
        (*rows[0][:6], Decimal("1.500"), [1, None]),
        *rows[1:],
    ]


class Pair(NamedTuple):
    user: str
    amount: int


class Frozen(msgspec.Struct, frozen=True):
    amount: int
    user: str


@dataclass
class Wide:
    amount: int
    user: str
    more: str = "not in the schema"


FORMS: list[Any] = [
    {"amount": 1, "user": "ann"},
    Row(amount=1, user="ann"),
    Row("ann", 1),
    ("ann", 1),
    Pair("ann", 1),
    Frozen(1, "ann"),
    Wide(1, "ann"),
    row_maker(("amount", "user"))((1, "ann")),
]


@pytest.mark.parametrize("record", FORMS, ids=lambda record: type(record).__name__)
@pytest.mark.parametrize(
    "schema",
    ["user string, amount long", Pair, Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.LONG()])],
    ids=["Spark", "class", "Types"],
)
def test_records_of_all_kinds_go_by_the_names_of_their_fields(record: Any, schema: Any) -> None:
    assert read(written(parquet_writer(schema), [record, record])) == [{"user": "ann", "amount": 1}] * 2


def test_records_of_several_kinds_may_be_in_one_chunk() -> None:
    assert read(written(parquet_writer(Pair), FORMS)) == [{"user": "ann", "amount": 1}] * len(FORMS)


@pytest.mark.parametrize(
    ("schema", "record", "part"),
    [
        ("n int", (2**31,), "column 'n' of type int32"),
        ("n int", (1.5,), "It was given 1.5"),
        ("n int, s string", (1, 2), "column 's'"),
        ("n int, s string", {"n": 1, "s": "", "t": 2}, "'t'"),
        ("n int, s string", (1,), "1 fields"),
        ("n int, s string", Row(n=1, t=2), "no field 's'"),
        ("n int, s string", Place("Oslo"), "Place has no field 'n'"),
        ("n int, s string", 7, "a record is a int"),
        ("l array<int>", (["x"],), "column 'l'"),
        ("l array<string>", ("xy",), "It was given 'xy'"),
        ("n int not null", (None,), "column 'n' of type int32 is not to be null"),
        ("n long", (Decimal("1.5"),), "It was given Decimal('1.5')"),
        ("n long", (numpy.float64(1.5),), "It was given np.float64(1.5)"),
        ("l array<long>", ([Decimal("1.5")],), "column 'l'"),
        ("d date", (datetime(2020, 1, 1, 12),), "It was given datetime.datetime(2020, 1, 1, 12, 0)"),
        ("t timestamp", (1.5,), "It was given 1.5"),
    ],
)
def test_a_record_that_does_not_fit_is_named(schema: str, record: Any, part: str) -> None:
    with pytest.raises(SerializationError) as raised:
        written(parquet_writer(schema), [record])
    assert part in str(raised.value)
    assert "Change the schema, or the records" in str(raised.value)


def test_naive_datetimes_count_as_utc_where_the_schema_has_a_zone() -> None:
    east = timezone(timedelta(hours=2))
    data = written(
        parquet_writer("t timestamp"), [(datetime(2020, 1, 1, 12),), (datetime(2020, 1, 1, 12, tzinfo=east),)]
    )
    assert [row["t"].astimezone(UTC).hour for row in read(data)] == [12, 10]
    assert read(written(parquet_writer("t timestamp_ntz"), [(datetime(2020, 1, 1),)])) == [{"t": datetime(2020, 1, 1)}]


def test_a_parquet_file_with_many_records_has_row_groups_of_limited_size() -> None:
    rows = [(bytes(1 << 20),)] * 5
    writer = parquet_writer("b binary", compression="none").create()
    ready = [writer.add(rows) for _ in range(10)]
    held = writer.held_bytes
    data = writer.finish()
    assert [len(part) > 4 for part in ready].count(True) == 1  # one group comes with the seventh
    assert held < 32 << 20
    assert parquet.ParquetFile(io.BytesIO(b"".join([*ready, data]))).metadata.num_row_groups == 2


AVRO = AvroSchema.parse_string(
    """{"type": "record", "name": "Order", "namespace": "shop", "fields": [
        {"name": "user", "type": ["null", "string"], "default": null},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["red", "blue"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "place", "type": ["null", {"type": "record", "name": "Place", "fields": [
            {"name": "city", "type": "string"}]}]},
        {"name": "other", "type": ["null", "Place"], "default": null}
    ]}"""
)
GENERIC = {
    "user": "ann",
    "amount": Decimal("12.30"),
    "color": "blue",
    "at": datetime(2020, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "tags": ["x", ""],
    "counts": {"a": 1},
    "place": {"city": "Oslo"},
    "other": None,
}


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_avro_files_have_the_records(codec: str) -> None:
    other = {**GENERIC, "user": None, "place": None, "other": {"city": ""}}
    assert read(written(avro_writer(AVRO, codec), [GENERIC] * 3, [other])) == [GENERIC] * 3 + [other]
    assert read(written(AvroBulkWriters.for_generic_record(AVRO), [GENERIC])) == [GENERIC]
    assert read(written(AvroBulkWriters.for_generic_record(AVRO))) == []


@pytest.mark.parametrize(
    "record",
    [
        Row(**GENERIC),
        tuple(GENERIC.values()),
        row_maker(tuple(GENERIC))(tuple(GENERIC.values())),
        {**GENERIC, "color": Color.BLUE, "place": Place("Oslo")},
    ],
    ids=["Row", "tuple", "Spark", "nested"],
)
def test_avro_takes_records_of_all_kinds(record: Any) -> None:
    if isinstance(record, dict):
        record["place"] = {"city": record["place"].city}
    assert read(written(avro_writer(AVRO), [record])) == [GENERIC]


def test_avro_refuses_what_does_not_fit() -> None:
    for record in ({**GENERIC, "counts": 5}, {"user": "ann"}, {**GENERIC, "more": 1}):
        with pytest.raises(SerializationError, match="does not fit the Avro schema 'Order'"):
            written(avro_writer(AVRO), [record])
    with pytest.raises(SerializationError, match="not a schema of Avro"):
        AvroSchema.parse_string('{"type": "nonsense"}')
    with pytest.raises(SerializationError, match="not a schema of records"):
        avro_writer('"string"')


def test_parquet_may_have_a_schema_of_avro() -> None:
    (back,) = read(written(AvroParquetWriters.for_generic_record(AVRO), [GENERIC]))
    assert back == {**GENERIC, "counts": [("a", 1)]}
    with pytest.raises(TypeError, match=r"r\.u is a union of 2 types"):
        parquet_writer(
            AvroSchema({"type": "record", "name": "r", "fields": [{"name": "u", "type": ["int", "string"]}]})
        )


CSV = (
    CsvSchema.builder()
    .add_string_column("name")
    .add_number_column("n", Types.INT())
    .add_number_column("x", Types.DOUBLE())
    .add_boolean_column("ok")
    .add_array_column("tags", "#", Types.STRING())
    .build()
)


def test_csv_quotes_what_would_be_taken_for_something_else() -> None:
    rows = [
        ("plain", 1, 0.5, True, ["a", "b"]),
        ('quo"te', -1, float("nan"), False, []),
        ("a,b", None, None, None, None),
        ("line\nend", 0, 1e10, True, ["a,b"]),
        ("", 0, 0.0, True, [""]),
        (None, 0, 0.0, True, [""]),
        (" spaces ", 0, 0.0, True, None),
    ]
    assert written(CsvBulkWriters.for_schema(CSV), rows).decode().split("\n") == [
        "plain,1,0.5,true,a#b",
        '"quo""te",-1,NaN,false,""',
        '"a,b",,,,',
        '"line',
        'end",0,10000000000.0,true,"a,b"',
        '"",0,0.0,true,""',
        ',0,0.0,true,""',
        '" spaces ",0,0.0,true,',
        "",
    ]


def test_csv_quotes_numbers_and_times_that_have_the_separator_in_them() -> None:
    schema = CsvSchema.builder().add_number_column("x", Types.DOUBLE()).add_string_column("s")
    assert written(csv_writer(schema.set_column_separator(".").build()), [(1.5, "a")]) == b'"1.5".a\n'
    assert written(csv_writer(schema.set_column_separator("-").build()), [(-1.5, "a")]) == b'"-1.5"-a\n'


def test_csv_writes_numbers_that_are_none_as_java_reads_them() -> None:
    values = [(float("nan"),), (float("inf"),), (float("-inf"),)]
    assert written(csv_writer("x double"), values).split() == [b"x", b"NaN", b"Infinity", b"-Infinity"]


def test_csv_writes_nothing_for_what_is_missing_in_an_array() -> None:
    assert written(csv_writer("l array<string>"), [(["a", None, "b"],)]) == b"l\na;;b\n"


def test_a_point_in_time_in_csv_has_its_zone() -> None:
    moments = [(datetime(2020, 1, 1, 12),), (datetime(2020, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))),)]
    lines = written(csv_writer("t timestamp"), moments).decode().splitlines()
    assert lines == ["t", "2020-01-01 12:00:00+00:00", "2020-01-01 10:00:00+00:00"]
    assert written(csv_writer("t timestamp_ntz"), moments[:1]) == b"t\n2020-01-01 12:00:00\n"


def test_csv_has_a_header_if_the_schema_is_not_one_of_csv() -> None:
    factory = csv_writer("user string, `at, then` date, amount decimal(5, 2)")
    data = written(factory, [("ann", date(2020, 1, 2), Decimal("1.50"))], [(None, None, None)])
    assert data == b'user,"at, then",amount\nann,2020-01-02,1.500000000000000000\n,,\n'
    with pytest.raises(TypeError, match=r"column 'm' .* CSV files do not have"):
        csv_writer("m map<string, int>")


@pytest.mark.parametrize(
    ("factory", "records"),
    [
        (parquet_writer(Order), [ORDER, BARE]),
        (orc_writer("n int, s string"), [(1, "a"), (None, None), (2, "")]),
        (avro_writer(AVRO), [GENERIC, {**GENERIC, "place": None}]),
    ],
    ids=["parquet", "orc", "avro"],
)
def test_merged_files_have_the_records_of_all_in_order(factory: BulkWriterFactory, records: list[Any]) -> None:
    files = [written(factory, records), written(factory, records[1:]), written(factory, records[:1], records)]
    merged = b"".join(factory.merged([partial(io.BytesIO, file) for file in files]))
    assert read(merged) == [record for file in files for record in read(file)]


def test_merged_csv_files_have_one_header() -> None:
    factory = csv_writer("a string, b int")
    files = [written(factory, [("x", 1)]), written(factory, [("y", 2)], [("a", 3)])]
    assert b"".join(factory.merged([partial(io.BytesIO, file) for file in files])) == b"a,b\nx,1\ny,2\na,3\n"


@pytest.mark.parametrize(
    "schema", [5, int, "no type", "a int b string", "a decimal(x)", "a nonsense", Types.STRING(), object()]
)
def test_what_is_not_a_schema_is_refused_at_once(schema: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"schema"):
        parquet_writer(schema)


def test_a_field_without_a_type_in_files_is_named() -> None:
    @dataclass
    class Odd:
        value: complex

    with pytest.raises(TypeError, match=r"field 'value' of .*Odd is annotated as"):
        parquet_writer(Odd)


def test_schemas_of_spark_are_read_without_spark() -> None:
    text = "`a b` int NOT NULL, s struct<x: array<map<string, decimal(5, 2)>>, y:timestamp>, v varchar(10), big BIGINT"
    schema = parquet_writer(text).schema
    assert schema.names == ["a b", "s", "v", "big"]
    assert not schema.field("a b").nullable
    assert schema.field("s").type.field("x").type.value_type.item_type == pa.decimal128(5, 2)
    assert schema.field("big").type == pa.int64()


FLAT = AvroSchema(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "user", "type": "string"}, {"name": "amount", "type": ["null", "long"], "default": None}],
    }
)


@pytest.mark.parametrize("record", FORMS, ids=lambda record: type(record).__name__)
def test_flat_avro_takes_records_of_all_kinds(record: Any) -> None:
    back = read(written(avro_writer(FLAT), [record, record]))
    assert back == [{"user": "ann", "amount": 1}] * 2


def test_nested_avro_takes_what_it_needs_of_a_class() -> None:
    inner = {"type": "record", "name": "in", "fields": [{"name": "city", "type": "string"}]}
    fields = [{"name": "user", "type": "string"}, {"name": "place", "type": ["null", inner], "default": None}]
    schema = AvroSchema({"type": "record", "name": "r", "fields": fields})
    assert read(written(avro_writer(schema), [Wide(1, "ann")])) == [{"user": "ann", "place": None}]


def test_fields_of_avro_with_defaults_may_be_missing() -> None:
    for record in ({"user": "ann"}, Row(user="ann")):
        assert read(written(avro_writer(FLAT), [record])) == [{"user": "ann", "amount": None}]
