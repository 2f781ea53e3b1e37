"""Text files as sources: what programs may ask for, and the records that come of it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Duration, Types, WatermarkStrategy
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileEnumeratorProvider, FileSource, StreamFormat
from rekindle.graph.transformations.sources import TextFiles
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
