"""Files as sources: what programs may ask for, and the records that come of it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Duration, Row, Types, WatermarkStrategy
from rekindle.connectors.files.spark_files import SparkFiles
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileEnumeratorProvider, FileSource, StreamFormat
from rekindle.exceptions import InvalidProgramError
from rekindle.formats.record_forms import record_form
from rekindle.graph.transformations.sources import TextFiles
from rekindle.types.class_typeinfo import PojoTypeInfo
from rekindle.types.spark_rows import row_maker
from support.in_process_job import InProcessJob, collect


def source(*paths: str, charset: str = "UTF-8", monitored: bool = False) -> FileSource:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(charset), *paths)
    if monitored:
        builder = builder.monitor_continuously(Duration.of_seconds(1))
    return builder.build()


def test_a_static_set_of_files_is_read_unless_it_is_to_be_monitored() -> None:
    assert source("a", "b").files == TextFiles(("a", "b"))
    assert source("a", monitored=True).files == TextFiles(("a",), monitored=True)
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "a")
    builder.monitor_continuously(Duration.of_millis(5)).process_static_file_set()
    assert builder.build().files == TextFiles(("a",))


@pytest.mark.parametrize("charset", ["latin-1", "ISO-8859-15", "windows-1252", "Shift_JIS"])
def test_text_that_is_not_utf_8_is_decoded_in_the_slots(charset: str) -> None:
    text = source("a", charset=charset)
    assert text.files.as_bytes
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_source(text, WatermarkStrategy.no_watermarks(), "lines"))
    words = ["plain", "ｶﾅ" if charset == "Shift_JIS" else "häßlich"]
    rows = pa.RecordBatch.from_pydict({"value": [word.encode(charset) for word in words]})
    with InProcessJob(env) as job:
        job.run_epoch(rows={0: [rows]})
        assert sorted(job.collected) == sorted(words)


def test_lines_are_strings_with_a_name_a_type_and_a_uid_of_their_own() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_source(source("a"), WatermarkStrategy.no_watermarks(), "lines").uid("lines-uid")
    assert lines.get_name() == "lines"
    assert lines.get_type() == Types.STRING()
    assert env.read_text_file("a").get_name() == "Custom File Source"
    collect(lines.key_by(lambda line: line[0]).map(str.upper))
    with InProcessJob(env, 2) as job:
        assert {node.uid for node in job.graph.nodes if node.name == "lines"} == {"lines-uid"}
        job.run_epoch(rows={0: [pa.RecordBatch.from_pydict({"value": ["ab", "cd"]})]})
        assert sorted(job.collected) == ["AB", "CD"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FileSource.for_record_stream_format(None, "p"), TypeError, "text_line_format"),  # type: ignore[arg-type]
        (lambda: source(), ValueError, "needs paths"),
        (lambda: source("a", charset="klingon"), ValueError, "no charset 'klingon'"),
        (lambda: source("a", charset="UTF-16"), NotImplementedError, "Convert the files to UTF-8"),
        (lambda: _builder().monitor_continuously(5), TypeError, "takes a Duration"),  # type: ignore[arg-type]
        (lambda: _builder().set_file_enumerator(None), NotImplementedError, "set_file_enumerator"),  # type: ignore[arg-type]
        (lambda: _builder().set_split_assigner(None), NotImplementedError, "set_split_assigner"),  # type: ignore[arg-type]
        (FileEnumeratorProvider, NotImplementedError, "FileEnumeratorProvider"),
    ],
)
def test_what_cannot_be_read_is_refused_at_once(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def _builder() -> Any:
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), "a")


# --- files of other formats


@dataclass
class Order:
    user: str
    amount: int


def test_rows_of_files_stay_sparks_unless_a_class_is_given() -> None:
    rows = FileSource.for_format("parquet", "/in", schema="user string, amount long").build()
    assert type(rows.transformation(None)).__name__ == "RowsTransformation"
    assert rows.files.schema.simpleString() == "struct<user:string,amount:bigint>"
    assert rows.type_info is None
    records = FileSource.for_format("JSON", "/in", "/more", record_class=Order, multiLine=True).build()
    assert records.type_info == PojoTypeInfo(Order)
    assert records.files == SparkFiles(("/in", "/more"), records.files.format)
    assert records.files.schema.simpleString() == "struct<user:string,amount:bigint>"
    assert records.files.format.options == {"mode": "FAILFAST", "multiLine": True}
    assert type(records.transformation(None)).__name__ == "FileRecordsTransformation"


def test_an_epoch_reads_a_limited_number_of_files_of_a_monitored_directory() -> None:
    second = Duration.of_seconds(1)
    watched = FileSource.for_format("orc", "/in", schema=Order).monitor_continuously(second).build()
    assert watched.files.format.options == {"maxFilesPerTrigger": 100}
    assert not watched.bounded
    by_bytes = FileSource.for_format("orc", "/in", schema=Order, maxBytesPerTrigger="1g")
    slow = by_bytes.monitor_continuously(second).build()
    assert slow.files.format.options == {"maxBytesPerTrigger": "1g"}
    static = FileSource.for_format("orc", "/in", schema=Order).build()
    assert (static.bounded, static.files.streaming) == (True, False)
    in_steps = FileSource.for_format("orc", "/in", schema=Order, maxFilesPerTrigger=5).build()
    assert (in_steps.bounded, in_steps.files.streaming) == (True, True)


def test_a_schema_may_be_missing_only_where_spark_can_find_it_out() -> None:
    assert FileSource.for_format("parquet", "/in").build().files.schema is None
    watched = FileSource.for_format("parquet", "/in").monitor_continuously(Duration.of_seconds(1))
    for builder in (watched, FileSource.for_format("parquet", "/in", maxFilesPerTrigger=1)):
        with pytest.raises(InvalidProgramError, match="parquet files that are read some at a time needs a schema"):
            builder.build()
    with pytest.raises(InvalidProgramError, match="avro files needs a schema"):
        FileSource.for_format("avro", "/in").build()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FileSource.for_format("parquet"), ValueError, "needs paths"),
        (lambda: FileSource.for_format("", "/in"), TypeError, "name of a format"),
        (lambda: FileSource.for_format("text", "/in"), ValueError, "text_line_format"),
        (lambda: FileSource.for_format("csv", "/in", record_class=int), TypeError, "record_class is"),
        (lambda: FileSource.for_format("csv", "/in", schema=5), TypeError, "not a schema of records"),
        (lambda: FileSource.for_bulk_file_format(None, "/in"), TypeError, "takes a BulkFormat"),  # type: ignore[arg-type]
    ],
)
def test_what_no_source_can_be_made_of_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


class Color(Enum):
    RED = "red"


@dataclass
class Place:
    city: str


@dataclass
class Odd:
    color: Color | None
    place: Place | None
    places: list[Place]
    by_name: dict[str, Place]
    tags: set[str]


def test_rows_become_records_all_the_way_down() -> None:
    place = row_maker(("city",))(("Oslo",))
    make = row_maker(("color", "place", "places", "by_name", "tags"))
    row = make(("red", place, [place, None], {"a": place}, ["x", "x"]))
    empty = make((None, None, [], {}, []))
    oslo = Place("Oslo")
    assert record_form(Odd).records([row, empty]) == [
        Odd(Color.RED, oslo, [oslo, None], {"a": oslo}, {"x"}),  # type: ignore[list-item]
        Odd(None, None, [], {}, set()),
    ]
    assert record_form(dict).records([row])[0]["by_name"] == {"a": {"city": "Oslo"}}
    (made,) = record_form(Row).records([row])
    assert made.places == [Row(city="Oslo"), None]
    assert pickle.loads(pickle.dumps(record_form(Odd))).records([empty]) == [Odd(None, None, [], {}, set())]
