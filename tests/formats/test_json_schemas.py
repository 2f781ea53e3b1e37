"""JSON as rows and back. What values become was recorded from PyFlink 2.3's own schemas."""

from __future__ import annotations

import json
import pickle
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from rekindle.common import Instant, Row, Types
from rekindle.common import JsonRowDeserializationSchema as FromCommon
from rekindle.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from rekindle.exceptions import ConfigurationError, NotSupportedError, SerializationError
from rekindle.types.type_information import TypeInformation

ERROR = object()
INFINITY, NAN = float("inf"), float("nan")
XY = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])


def reader(type_info: TypeInformation, fail: bool = False, ignore: bool = False) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [type_info]))
    if fail:
        builder.fail_on_missing_field()
    if ignore:
        builder.ignore_parse_errors()
    return builder.build()


def check(schema: JsonRowDeserializationSchema, text: str, expected: Any) -> None:
    """Require a field's value, of a message alone and in a chunk, also after a journey to a slot."""
    for each in (schema, pickle.loads(pickle.dumps(schema))):
        message = f'{{"a":{text}}}'.encode()
        if expected is ERROR:
            with pytest.raises(SerializationError, match="Failed to deserialize JSON '"):
                each.deserialize(message)
            with pytest.raises(SerializationError, match="Failed to deserialize JSON '"):
                each.deserialize_all([message, b"{}"])
            continue
        row = each.deserialize(message)
        assert row is not None
        assert repr(row[0]) == repr(expected)
        rows, origins = each.deserialize_all([message, b"{}", message])
        assert repr(rows) == repr([row, Row(a=None), row])
        assert origins is None


@pytest.mark.parametrize(
    ("type_info", "values"),
    [
        (
            Types.STRING(),
            {
                '"x"': "x",
                "1": "1",
                "1.50": "1.5",
                "1e3": "1000.0",
                "true": "true",
                "null": None,
                '{"k": 1}': '{"k":1}',
                '[1, 2.50, "x", null]': '[1,2.5,"x",null]',
                "12345678901234567890": "12345678901234567890",
            },
        ),
        (Types.BOOLEAN(), {"true": True, '"TRUE "': True, '"no"': False, "1": False, "1.5": False}),
        *(
            (
                type_info,
                {"1": 1, '"2"': 2, '" 3 "': 3, "1.0": ERROR, "70000": ERROR, '"x"': ERROR, "true": ERROR, "[1]": ERROR},
            )
            for type_info in (Types.BYTE(), Types.SHORT())
        ),
        (Types.BYTE(), {"127": 127, "-128": -128, "300": ERROR}),
        (
            Types.INT(),
            {"1": 1, '"2"': 2, "1.9": 1, "-1.9": -1, "1e2": 100, "3000000000": ERROR, '"1.5"': ERROR, "true": ERROR},
        ),
        (Types.LONG(), {"3000000000": 3_000_000_000, "9223372036854775808": ERROR, '" 7"': 7, "[1]": ERROR}),
        (
            Types.DOUBLE(),
            {
                "1": 1.0,
                '" 3 "': 3.0,
                '"NaN"': NAN,
                '"Infinity"': INFINITY,
                '"x"': ERROR,
                "1e400": INFINITY,
                '"0x1p3"': 8.0,
                '"1d"': 1.0,
                "true": ERROR,
                "NaN": ERROR,
            },
        ),
        (Types.FLOAT(), {"0.1": 0.10000000149011612, "1e39": INFINITY, '"1e2"': 100.0, "null": None}),
        (
            Types.BIG_DEC(),
            {
                "1": Decimal("1"),
                "1.50": Decimal("1.5"),
                '"2.50"': Decimal("2.50"),
                "12345678901234567890.123456789012345678": Decimal("12345678901234567890.123456789012345678"),
                "1e3": Decimal("1E+3"),
                "2.0": Decimal("2"),
                '" 3"': Decimal("3"),
                '"x"': ERROR,
                '"NaN"': ERROR,
                "true": ERROR,
            },
        ),
        (Types.BIG_INT(), {str(2**70): 2**70, "1.5": ERROR, '" 3"': 3, "2.0": ERROR}),
        (Types.CHAR(), {'"x"': "x", '"xy"': ERROR, "1": "\x01"}),
        (
            Types.SQL_DATE(),
            {'"2020-01-02"': date(2020, 1, 2), '"2020-1-2"': ERROR, '"2020-01-02Z"': ERROR, "18000": ERROR},
        ),
        (
            Types.SQL_TIME(),
            {'"03:04:05Z"': time(3, 4, 5), '"03:04:05"': ERROR, '"03:04:05.123Z"': ERROR, '"03:04Z"': ERROR},
        ),
        (
            Types.SQL_TIMESTAMP(),
            {
                '"2020-01-02T03:04:05Z"': datetime(2020, 1, 2, 3, 4, 5),
                '"2020-01-02T03:04:05.123Z"': datetime(2020, 1, 2, 3, 4, 5, 123_000),
                '"2020-01-02T03:04:05.123456789Z"': datetime(2020, 1, 2, 3, 4, 5, 123_456),
                '"2020-01-02T03:04:05"': ERROR,
                '"2020-01-02 03:04:05"': ERROR,
                '"2020-01-02T03:04:05+01:00"': ERROR,
                "1577934245000": ERROR,
            },
        ),
        (Types.INSTANT(), {'"1970-01-01T00:00:05.000000007Z"': Instant(5, 7), "5": Instant(5, 0)}),
        (
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            {'"AQI="': b"\x01\x02", '"AQI"': ERROR, '"!!"': ERROR, "[1, 2]": None},
        ),
        (Types.PRIMITIVE_ARRAY(Types.INT()), {'[1, "2"]': [1, 2], "[1, null]": [1, 0], '"x"': ERROR}),
        (Types.BASIC_ARRAY(Types.STRING()), {'[1, "2", null]': ["1", "2", None], '"x"': ERROR, "{}": ERROR}),
        (Types.OBJECT_ARRAY(XY), {'[{"x": 1}, null]': [Row(x=1, y=None), None]}),
        (Types.LIST(Types.INT()), {"[1, 2]": [1, 2]}),
        (Types.MAP(Types.STRING(), Types.INT()), {'{"x":1,"y":null}': {"x": 1, "y": None}, '{"x":"z"}': ERROR}),
        (Types.MAP(Types.INT(), Types.INT()), {'{"1": 1}': {1: 1}, "[1]": {}}),
        (XY, {'{"y": 2, "z": 3}': Row(x=None, y="2"), "null": None, "[1]": ERROR, '"s"': ERROR, "5": ERROR}),
        (Types.TUPLE([Types.INT(), Types.STRING()]), {'{"f0": 1, "f1": "x"}': (1, "x")}),
    ],
    ids=str,
)
def test_values_become_what_they_become_in_pyflink(type_info: TypeInformation, values: dict[str, Any]) -> None:
    schema = reader(type_info)
    for text, expected in values.items():
        check(schema, text, expected)


@pytest.mark.parametrize("message", [b"", b"nope", b"[1]", b"5", b"{'a':1}", b"{a:1}", b'// c\n{"a":1}', b"\xff{}"])
def test_what_is_not_an_object_is_refused(message: bytes) -> None:
    with pytest.raises(SerializationError, match="Failed to deserialize JSON '"):
        reader(Types.STRING()).deserialize(message)
    assert reader(Types.STRING(), ignore=True).deserialize(message) is None


@pytest.mark.parametrize(
    ("message", "value"), [(b'{"a":1,"a":2}', "2"), (b'{"a":1} x', "1"), (b'{"a":1}\x00', "1"), (b' {"a":1} ', "1")]
)
def test_odd_messages_are_read_as_in_pyflink(message: bytes, value: str) -> None:
    assert reader(Types.STRING()).deserialize(message) == Row(a=value)


def test_null_is_no_record() -> None:
    schema = reader(Types.INT())
    assert schema.deserialize(b"null") is None
    assert schema.deserialize_all([b'{"a":1}', b"null", b'{"a":2}']) == ([Row(a=1), Row(a=2)], [0, 2])


def test_missing_fields_are_none_unless_they_must_be_there() -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.INT(), XY])
    lenient = JsonRowDeserializationSchema.builder().type_info(type_info).build()
    strict = JsonRowDeserializationSchema.builder().type_info(type_info).fail_on_missing_field().build()
    assert lenient.deserialize(b'{"b":{}}') == Row(a=None, b=Row(x=None, y=None))
    assert strict.deserialize(b'{"a":null,"b":null}') == Row(a=None, b=None)
    for message, name in ((b'{"a":1}', "b"), (b'{"a":1,"b":{"x":1}}', "y")):
        with pytest.raises(SerializationError, match=f"Could not find field with name '{name}'"):
            strict.deserialize(message)
        with pytest.raises(SerializationError, match=f"Could not find field with name '{name}'"):
            strict.deserialize_all([message])


def test_ignored_errors_cost_the_message_or_the_field() -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.INT(), XY])
    schema = JsonRowDeserializationSchema.builder().type_info(type_info).ignore_parse_errors().build()
    messages = [b'{"a":"q","b":{"x":"q"}}', b"nope", b"[1]", b'{"a":1,"b":5}', b"null"]
    assert schema.deserialize_all(messages) == ([Row(a=None, b=Row(x=None, y=None)), Row(a=1, b=None)], [0, 3])
    elements = reader(Types.OBJECT_ARRAY(Types.INT()), ignore=True)
    assert elements.deserialize(b'{"a":[1,"q"]}') == Row(a=[1, None])


def test_a_bad_message_in_a_chunk_is_named() -> None:
    with pytest.raises(SerializationError, match=r"JSON '\{\"a\":\"q\"\}'. 'q' is not a whole number"):
        reader(Types.INT()).deserialize_all([b'{"a":1}', b'{"a":"q"}'])


def test_settings_that_contradict_each_other_and_wrong_types_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="both true"):
        reader(Types.INT(), fail=True, ignore=True)
    with pytest.raises(ConfigurationError, match="Only RowTypeInfo"):
        JsonRowDeserializationSchema.builder().type_info(Types.STRING()).build()
    with pytest.raises(ConfigurationError, match="Only RowTypeInfo"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ConfigurationError, match="JSON has no form for Pickled"):
        reader(Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(ConfigurationError, match="JSON has no form for Pickled"):
        writer(Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(TypeError, match="Typeinfo should be set"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(NotSupportedError, match="type_info"):
        JsonRowDeserializationSchema.builder().json_schema("{}")
    assert FromCommon is JsonRowDeserializationSchema
    assert reader(Types.INT()).get_produced_type() == Types.ROW([Types.INT()])


# ---- Writing ----


def writer(type_info: TypeInformation) -> JsonRowSerializationSchema:
    return JsonRowSerializationSchema.builder().with_type_info(Types.ROW_NAMED(["a"], [type_info])).build()


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.STRING(), 'é\u2028"\\/\n\x01🔥', json.dumps('é\u2028"\\/\n\x01🔥', ensure_ascii=False)),
        (Types.STRING(), None, "null"),
        (Types.BOOLEAN(), True, "true"),
        (Types.INT(), 5, "5"),
        (Types.LONG(), 2**40, "1099511627776"),
        (Types.DOUBLE(), 0.1, "0.1"),
        (Types.DOUBLE(), 1.0, "1.0"),
        (Types.DOUBLE(), NAN, '"NaN"'),
        (Types.DOUBLE(), -INFINITY, '"-Infinity"'),
        (Types.FLOAT(), 0.10000000149011612, "0.1"),
        (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
        (Types.BIG_DEC(), Decimal("1E-10"), "1E-10"),
        (Types.BIG_INT(), 2**70, str(2**70)),
        (Types.SQL_DATE(), date(2020, 1, 2), '"2020-01-02"'),
        (Types.SQL_TIME(), time(3, 4, 5), '"03:04:05Z"'),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, 3, 4), '"2020-01-02T03:04:00Z"'),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, 3, 4, 5, 100_000), '"2020-01-02T03:04:05.1Z"'),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 2, 3, 4, 5, 123_456), '"2020-01-02T03:04:05.123456Z"'),
        (Types.INSTANT(), Instant(1577934245, 0), '"2020-01-02T03:04:05Z"'),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x01\x02", '"AQI="'),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2], "[1,2]"),
        (Types.BASIC_ARRAY(Types.STRING()), ["x", None], '["x",null]'),
        (Types.MAP(Types.STRING(), Types.INT()), {"k": 1, "n": None}, '{"k":1,"n":null}'),
        (Types.MAP(Types.INT(), Types.INT()), {1: 1}, '{"1":1}'),
        (XY, Row(1, None), '{"x":1,"y":null}'),
        (XY, Row(y="b", x=1), '{"x":1,"y":"b"}'),
        (XY, None, "null"),
        (Types.TUPLE([Types.INT()]), (1,), '{"f0":1}'),
    ],
)
def test_values_are_written_as_pyflink_writes_them(type_info: TypeInformation, value: Any, text: str) -> None:
    schema = pickle.loads(pickle.dumps(writer(type_info)))
    assert schema.serialize(Row(value)) == f'{{"a":{text}}}'.encode()
    assert schema.serialize_all([Row(value)] * 2) == [schema.serialize(Row(value))] * 2


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.INT(), "5"),
        (Types.INT(), True),
        (Types.STRING(), 5),
        (Types.BIG_DEC(), 1.5),
        (Types.BIG_DEC(), Decimal("NaN")),
        (XY, Row(1)),
    ],
)
def test_a_row_that_does_not_match_its_type_is_refused(type_info: TypeInformation, value: Any) -> None:
    with pytest.raises(SerializationError, match=r"Could not serialize row .* Make sure that the schema matches"):
        writer(type_info).serialize(Row(value))


def test_a_chunk_of_rows_is_written_as_they_are_one_by_one() -> None:
    type_info = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.DOUBLE()])
    schema = JsonRowSerializationSchema.builder().with_type_info(type_info).build()
    rows = [Row(1, 0.5), Row(b=NAN, a=None), Row(3, None)]
    assert schema.serialize_all(rows) == [b'{"a":1,"b":0.5}', b'{"a":null,"b":"NaN"}', b'{"a":3,"b":null}']
    assert schema.serialize_all([]) == []
    with pytest.raises(SerializationError, match=r"Could not serialize row <Row\('x', 1.0\)>"):
        schema.serialize_all([*rows, Row("x", 1.0)])
    with pytest.raises(SerializationError, match=r"Could not serialize row <Row\(1\)>"):
        schema.serialize_all([*rows, Row(1)])
