"""Messages of CSV and Avro: what Flink writes is read, and what it would read is written."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from rekindle.common import Row, Types
from rekindle.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from rekindle.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from rekindle.exceptions import SerializationError

ROW = Types.ROW([Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN(), Types.STRING()])
WRITER, READER = CsvRowSerializationSchema.Builder, CsvRowDeserializationSchema.Builder


@pytest.mark.parametrize(
    ("row", "line"),
    [  # as Flink 2.3 writes them
        (Row("a", 1, 1.5, True, "x"), b"a,1,1.5,true,x\n"),
        (Row('q"u', None, None, False, "a,b"), b'"q""u",,,false,"a,b"\n'),
        (Row("", 0, 0.5, True, "l\nn"), b',0,0.5,true,"l\nn"\n'),
        (Row(" s ", 1, 0.1, True, "a;b"), b'" s ",1,0.1,true,a;b\n'),
        (Row("é", 1, 2.0, True, "#c"), b'\xc3\xa9,1,2.0,true,"#c"\n'),
    ],
)
def test_rows_are_lines_as_flink_writes_them(row: Row, line: bytes) -> None:
    assert WRITER(ROW).build().serialize(row) == line


def test_lines_have_the_delimiters_of_the_program() -> None:
    row = Row("it's", None, 2.0, True, "a;b")
    builder = WRITER(ROW).set_null_literal("null").set_field_delimiter(";").set_quote_character("'")
    line = b"'it''s';null;2.0;true;'a;b'\n"
    assert builder.build().serialize(row) == line
    reader = READER(ROW).set_null_literal("null").set_field_delimiter(";").set_quote_character("'").build()
    assert list(reader.deserialize(line)) == list(row)
    assert WRITER(ROW).set_line_delimiter("\r\n").build().serialize(Row("a", 1, 1.5, True, "x")).endswith(b"x\r\n")
    unquoted = WRITER(ROW).disable_quote_character().build()
    assert unquoted.serialize(Row("a,b", 1, 1.5, True, 'x"')) == b'a,b,1,1.5,true,x"\n'


@pytest.mark.parametrize(
    ("line", "strict", "lenient"),
    [  # as Flink 2.3 reads them; None: it raises, or gives no row
        (b"a,1,1.5,true,x", ["a", 1, 1.5, True, "x"], ["a", 1, 1.5, True, "x"]),
        (b'"q""u",,,false,"a,b"\n', None, ['q"u', None, None, False, "a,b"]),
        (b"", None, None),
        (b"a,1", None, ["a", 1, None, None, None]),
        (b"a,x,1.0,true,b", None, ["a", None, 1.0, True, "b"]),
        (b"a,1,1,true,b,extra", None, None),
        (b" s ,1 , 2,TRUE ,b", [" s ", 1, 2.0, True, "b"], [" s ", 1, 2.0, True, "b"]),
        (b"a,1,1,maybe,b", None, ["a", 1, 1.0, None, "b"]),
        (b"\xff,1,1,true,b", None, None),
    ],
)
def test_lines_are_rows_as_flink_reads_them(line: bytes, strict: Any, lenient: Any) -> None:
    if strict is None:
        with pytest.raises(SerializationError, match="failed to deserialize CSV row"):
            READER(ROW).build().deserialize(line)
    else:
        assert list(READER(ROW).build().deserialize(line)) == strict
    row = READER(ROW).set_ignore_parse_errors(True).build().deserialize(line)
    assert (None if row is None else list(row)) == lenient


def test_arrays_dates_and_decimals_are_in_lines_too() -> None:
    kind = Types.ROW_NAMED(
        ["tags", "day", "price"], [Types.BASIC_ARRAY(Types.LONG()), Types.SQL_DATE(), Types.BIG_DEC()]
    )
    row = Row(tags=[1, 2], day=datetime(2020, 2, 29).date(), price=Decimal("1.50"))
    line = WRITER(kind).build().serialize(row)
    assert line == b"1;2,2020-02-29,1.50\n"
    assert READER(kind).build().deserialize(line) == row
    with pytest.raises(TypeError, match=r"rows, of Types\.ROW"):
        WRITER(Types.STRING())
    with pytest.raises(TypeError, match="must not be None"):
        READER(None)  # type: ignore[arg-type]


SCHEMA = """{"type": "record", "name": "Order", "fields": [
    {"name": "user", "type": ["null", "string"], "default": null},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    {"name": "place", "type": {"type": "record", "name": "Place", "fields": [{"name": "city", "type": "string"}]}},
    {"name": "others", "type": {"type": "array", "items": "Place"}},
    {"name": "either", "type": ["null", "long", "Place"], "default": null}
]}"""


def test_avro_messages_are_rows_all_the_way_down() -> None:
    writer = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
    reader = AvroRowDeserializationSchema(avro_schema_string=SCHEMA)
    at = datetime(2020, 1, 1, tzinfo=UTC)
    for either in (None, 5, Row(city="Rome")):
        row = Row(user="ann", at=at, place=Row(city="Oslo"), others=[Row(city=""), Row(city="é")], either=either)
        assert reader.deserialize(writer.serialize(row)) == row
    plain = {"user": None, "at": at, "place": {"city": "x"}, "others": []}
    assert reader.deserialize(writer.serialize(plain)).place.city == "x"
    assert writer.serialize(plain) == writer.serialize({**plain, "either": None})


def test_avro_messages_that_do_not_fit_are_refused() -> None:
    writer = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
    with pytest.raises(SerializationError, match="does not fit the Avro schema 'Order'"):
        writer.serialize(Row(user=5))
    with pytest.raises(SerializationError, match="a message of 1 bytes cannot be read"):
        AvroRowDeserializationSchema(avro_schema_string=SCHEMA).deserialize(b"\x02")
    with pytest.raises(TypeError, match="record_class or avro_schema_string should be specified"):
        AvroRowSerializationSchema()
    with pytest.raises(NotImplementedError, match="names a Java class"):
        AvroRowDeserializationSchema("com.example.Order")
