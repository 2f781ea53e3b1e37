"""A job with every source and every sink, and what has to be outside when it is over, whatever happened meanwhile.

All sources go into one stream, of lines such as ``sequence 17``, and that stream goes into all sinks.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as parquet

from rekindle.common import Row, Types, WatermarkStrategy
from rekindle.datastream import DataStream, MapFunction, SinkFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors import (
    CheckpointCommitter,
    FileSource,
    GenericWriteAheadSink,
    NumberSequenceSource,
    Sink,
    SinkWriter,
    StreamFormat,
    TwoPhaseCommitSinkFunction,
)
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from rekindle.datastream.connectors.tables import directory_writer
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.datastream.functions import ListCheckpointed, SourceFunction
from support.seeds import rounds
from support.sources import Numbers

COUNT = rounds(800, 8_000)
SOURCES = (
    "sequence",
    "generator",
    "collection",
    "function",
    "parallel-function",
    "frame",
    "text-file",
    "file-source",
)
ONCE = ("files", "own", "two-phase", "write-ahead", "parquet", "table", "jdbc-once")
AGAIN = ("function", "sent", "appended", "jdbc")
FRAME_FILES = 8
LINE = Types.ROW_NAMED(["line"], [Types.STRING()])


def prepare(directory: Path) -> None:
    """Write what is read, and make what is written to."""
    for name in (
        "own",
        "own-staged",
        "two-phase",
        "two-phase-staged",
        "write-ahead",
        "sent",
        "notes",
        "function",
        "frame",
    ):
        (directory / name).mkdir()
    each = COUNT // FRAME_FILES
    for part in range(FRAME_FILES):
        lines = (f"{number}\n" for number in range(part * each, (part + 1) * each))
        (directory / "frame" / f"{part}.txt").write_text("".join(lines))
    with sqlite3.connect(directory / "database") as connection:
        for name in ("once", "again"):
            connection.execute(f"CREATE TABLE {name} (line TEXT)")
    connection.close()
    for name in ("text-file", "file-source"):
        (directory / f"{name}.txt").write_text("".join(f"{number}\n" for number in range(COUNT)))


class Counting(SourceFunction, ListCheckpointed):
    """Count, in one subtask."""

    def __init__(self) -> None:
        self.next = 0
        self.running = True

    def run(self, ctx: Any) -> None:
        while self.running and self.next < COUNT:
            with ctx.get_checkpoint_lock():
                ctx.collect(self.next)
                self.next += 1
            if self.next % 100 == 0:
                time.sleep(0.05)  # not all of it in the first epoch

    def cancel(self) -> None:
        self.running = False

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
        return [self.next]

    def restore_state(self, state: list[int]) -> None:
        (self.next,) = state


def pause_now_and_then(number: int) -> None:
    if number % 50 == 0:
        time.sleep(0.02)


def sources(env: StreamExecutionEnvironment, directory: Path) -> Iterator[tuple[str, DataStream]]:
    nothing = WatermarkStrategy.no_watermarks()
    yield "sequence", env.from_source(NumberSequenceSource(0, COUNT - 1), nothing, "sequence").uid("sequence")
    generator = DataGeneratorSource(lambda number: number, COUNT, Types.LONG())
    yield "generator", env.from_source(generator, nothing, "generator").uid("generator")
    yield "collection", env.from_collection(list(range(COUNT))).uid("collection")
    yield "function", env.add_source(Counting()).uid("function")
    numbers = Numbers(4, COUNT // 4, pause_now_and_then)
    yield "parallel-function", env.add_source(numbers).uid("parallel-function")
    frame = env.spark_session.readStream.option("maxFilesPerTrigger", 1).text(str(directory / "frame"))
    yield "frame", env.from_data_frame(frame, uid="frame", bounded=True).map(lambda row: row.value).uid("lines")
    yield "text-file", env.read_text_file(str(directory / "text-file.txt")).uid("text-file")
    text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory / "file-source.txt"))
    yield "file-source", env.from_source(text.build(), nothing, "file-source").uid("file-source")


class Trouble(MapFunction):
    """Take its time in the first attempt, and raise once if it is to."""

    def __init__(self, pause: float, marker: Path | None) -> None:
        self.pause = pause
        self.marker = marker

    def open(self, runtime_context: Any) -> None:
        self.first = runtime_context.get_attempt_number() == 0
        self.seen = 0

    def map(self, value: str) -> str:
        self.seen += 1
        if self.first:
            time.sleep(self.pause)
        if self.marker is not None and self.seen > COUNT:
            try:
                os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                self.marker = None
            else:
                raise OSError("this once")
        return value


def build(env: StreamExecutionEnvironment, directory: Path, pause: float = 0.0, raises: bool = False) -> DataStream:
    """Write the job down; return its stream, to be collected."""
    labelled = [stream.map(lambda n, name=name: f"{name} {n}") for name, stream in sources(env, directory)]
    trouble = Trouble(pause, directory / "raised" if raises else None)
    stream = labelled[0].union(*labelled[1:]).map(trouble).uid("trouble")
    stream.sink_to(FileSink.for_row_format(str(directory / "files")).build()).uid("files")
    stream.sink_to(StagingSink(directory)).uid("own")
    stream.add_sink(StagingTransactions(directory)).uid("two-phase")
    stream.add_sink(SendingSink(directory)).uid("write-ahead")
    stream.add_sink(NamelessSink(directory)).uid("sent")
    stream.add_sink(AppendingSink(directory)).uid("appending")
    rows = stream.map(lambda line: Row(line), LINE)
    rows.sink_to(FileSink.for_bulk_format(str(directory / "parquet"), parquet_writer(LINE)).build()).uid("parquet")
    rows.sink_to_data_frame(directory_writer(str(directory / "table"))).uid("table")
    appended = str(directory / "appended")
    rows.sink_to_data_frame(lambda frame: frame.write.mode("append").parquet(appended)).uid("appended")
    database = JdbcConnectionOptions(f"jdbc:sqlite:{directory}/database")
    rows.sink_to(JdbcSink.exactly_once_sink("INSERT INTO once VALUES (?)", LINE, database)).uid("jdbc-once")
    rows.sink_to(JdbcSink.sink("INSERT INTO again VALUES (?)", LINE, database)).uid("jdbc")
    stream.print("printed")
    return stream


class StagingSink(Sink):
    """Write files aside, and rename them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create_writer(self, context: Any) -> SinkWriter:
        return StagingWriter(self.directory)


class StagingWriter(SinkWriter):
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines: list[str] = []

    def write(self, values: list[str], timestamps: Any) -> None:
        self.lines += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        name = uuid.uuid4().hex
        (self.directory / "own-staged" / name).write_text("".join(f"{line}\n" for line in self.lines))
        self.lines = []
        return [name.encode()]

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            publish(self.directory, "own", committable.decode())

    def abort_leftovers(self) -> None: ...
    def close(self) -> None: ...


def publish(directory: Path, kind: str, name: str) -> None:
    """Make a staged file visible; it may be so already."""
    try:
        os.rename(directory / f"{kind}-staged" / name, directory / kind / name)
    except FileNotFoundError:
        assert (directory / kind / name).exists()


class StagingTransactions(TwoPhaseCommitSinkFunction[Any, str]):
    """The same in transactions: each is the name of a file."""

    def __init__(self, directory: Path) -> None:
        super().__init__(Types.STRING())
        self.directory = directory
        self.lines: list[str] = []

    def begin_transaction(self) -> str:
        return uuid.uuid4().hex

    def invoke(self, transaction: str, value: str, context: SinkFunction.Context) -> None:
        self.lines.append(value)

    def pre_commit(self, transaction: str) -> None:
        (self.directory / "two-phase-staged" / transaction).write_text("".join(f"{line}\n" for line in self.lines))
        self.lines = []

    def commit(self, transaction: str) -> None:
        publish(self.directory, "two-phase", transaction)

    def abort(self, transaction: str) -> None:
        self.lines = []
        (self.directory / "two-phase-staged" / transaction).unlink(missing_ok=True)


class SendingSink(GenericWriteAheadSink):
    """Write files under names that are the same when they are written again."""

    def __init__(self, directory: Path) -> None:
        super().__init__(NotingCommitter(directory))
        self.directory = directory

    def send_values(self, values: list[str], checkpoint_id: int, timestamp: int) -> bool:
        text = "".join(f"{line}\n" for line in values)
        self.send(text, self.directory / "write-ahead" / hashlib.sha256(text.encode()).hexdigest())
        return True

    def send(self, text: str, path: Path) -> None:
        part = self.directory / "notes" / f"{path.name}.part"
        part.write_text(text)
        os.replace(part, path)


class NamelessSink(SendingSink):
    """Write files that are there twice when they are written again."""

    def send_values(self, values: list[str], checkpoint_id: int, timestamp: int) -> bool:
        self.send("".join(f"{line}\n" for line in values), self.directory / "sent" / uuid.uuid4().hex)
        return True


class NotingCommitter(CheckpointCommitter):
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create_resource(self) -> None: ...
    def open(self) -> None: ...
    def close(self) -> None: ...

    def note(self, subtask: int, checkpoint_id: int) -> Path:
        return self.directory / "notes" / f"{self.job_id}-{self.operator_id}-{subtask}-{checkpoint_id}"

    def commit_checkpoint(self, subtask: int, checkpoint_id: int) -> None:
        self.note(subtask, checkpoint_id).touch()

    def is_checkpoint_committed(self, subtask: int, checkpoint_id: int) -> bool:
        return self.note(subtask, checkpoint_id).exists()


class AppendingSink(SinkFunction):
    """Write immediately."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        self.file = open(self.directory / "function" / uuid.uuid4().hex, "w", buffering=1)  # noqa: SIM115 - see close

    def invoke(self, value: str, context: SinkFunction.Context) -> None:
        self.file.write(f"{value}\n")

    def close(self) -> None:
        self.file.close()


# --- the verdict ---


def written(directory: Path, sink: str) -> Counter[str]:
    """Count the lines that are visible in a sink."""
    if sink.startswith("jdbc"):
        return Counter(_selected(directory / "database", "once" if sink == "jdbc-once" else "again"))
    hidden = re.compile(r"/[._][^/]*")
    files = [path for path in (directory / sink).rglob("*") if not hidden.search(str(path.relative_to(directory)))]
    texts = (_lines(path) for path in files if path.is_file())
    return Counter(line for lines in texts for line in lines)


def _lines(path: Path) -> list[str]:
    content = path.read_bytes()
    if content.startswith(b"PAR1"):
        return list(parquet.ParquetFile(io.BytesIO(content)).read(["line"]).column("line").to_pylist())
    return content.decode().splitlines()


def _selected(database: Path, table: str) -> list[str]:
    connection = sqlite3.connect(database, timeout=60)
    try:
        return [line for (line,) in connection.execute(f"SELECT line FROM {table}")]
    finally:
        connection.close()


def marked(output: str, mark: str) -> Counter[str]:
    """Count the lines that a driver printed with a mark."""
    return Counter(re.findall(rf"{mark}(?::\d+)?> ([\w-]+ \d+)$", output, re.MULTILINE))


def wrong(lines: Counter[str], once: bool) -> dict[str, tuple[int, int]]:
    """Return, by the sources where there is anything wrong, how many lines are lost, and how many come again."""
    found = {}
    for source in SOURCES:
        counts = [lines.pop(f"{source} {number}", 0) for number in range(COUNT)]
        verdict = (counts.count(0), sum(count > 1 for count in counts) if once else 0)
        if any(verdict):
            found[source] = verdict
    assert not lines, f"nobody wrote {list(lines)[:3]}"
    return found
