"""State of a DataFrame's rows: typed by the schema in snapshots, and readable where it was pickled before, or after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql import types as T  # noqa: N812 - the customary name

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessJoinFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from rekindle.datastream.functions import ProcessWindowFunction
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import CountEvictor, TumblingEventTimeWindows
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state_processor.contents import contents_of
from rekindle.state_processor.description import describe
from rekindle.state_processor.key_search import FoundEntry, find_key
from rekindle.state_processor.readings import KeyedReading
from rekindle.state_processor.snapshot import Snapshot
from rekindle.state_processor.state_types import keyed_state_types
from support.in_process_job import InProcessJob, collect
from support.snapshot_job import take_savepoint

SCHEMA = T.StructType(
    [
        T.StructField("user", T.StringType()),
        T.StructField("amount", T.LongType()),
        T.StructField("on", T.BooleanType()),
        T.StructField("second", T.IntegerType()),
    ]
)
BACKENDS = {"heap": BackendSettings(), "rocksdb": BackendSettings(RocksDBSettings())}
FORMS = ["heap", "rocksdb", "savepoint of heap", "savepoint of rocksdb"]

FIRST = [("ada", 1, True, 0), ("bob", 2, False, 1), (None, 3, None, 2), ("ada", 4, True, 3)]
SECOND = [("ada", 10, True, 4), ("bob", 20, True, 5), (None, 30, None, 6), ("cleo", 40, False, 7)]


class Stamps(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.second) * 1000


class Count(KeyedProcessFunction):
    """Count the records of a key, and tell it when event time ends."""

    def __init__(self, name: str) -> None:
        self._name = name

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1 << 60)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield self._name, ctx.get_current_key(), self._count.value()


class Gathered(ProcessWindowFunction):
    """Give the rows of a window."""

    def __init__(self, name: str) -> None:
        self._name = name

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        yield self._name, key, sorted(tuple(row) for row in elements)


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield "interval", tuple(left), tuple(right)


def total(one: Any, two: Any) -> Any:
    """Make a row as programs do, which is of another class than those of a DataFrame."""
    return Row(user=one.user, amount=one.amount + two.amount, on=one.on, second=two.second)


def program(schema: T.StructType = SCHEMA) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment()
    made: Any = SimpleNamespace(columns=schema.names, schema=schema, isStreaming=True, sparkSession=None)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    rows = env.from_data_frame(made, "rows").assign_timestamps_and_watermarks(strategy).uid("stamps")
    window = TumblingEventTimeWindows.of(Time.seconds(60))

    def by(selector: Callable[[Any], Any]) -> Any:
        return rows.key_by(selector)

    def ends(stream: DataStream, uid: str) -> None:
        collect(stream.uid(uid))

    ends(by(lambda row: row.user).process(Count("users")), "users")
    ends(by(lambda row: row.on).process(Count("flags")), "flags")
    ends(by(lambda row: (row.user, row.on)).process(Count("pairs")), "pairs")
    ends(by(lambda row: row.user).window(window).process(Gathered("windows")), "windows")
    ends(by(lambda row: row.user).window(window).evictor(CountEvictor.of(9)).process(Gathered("evicted")), "evicted")
    ends(by(lambda row: row.user).reduce(total).map(lambda row: ("totals", *row)), "totals-out")
    joined = rows.join(rows).where(lambda row: row.user).equal_to(lambda row: row.user).window(window)
    ends(joined.apply(lambda one, two: ("joined", one.amount, two.amount)), "joined")
    near = by(lambda row: row.user).interval_join(by(lambda row: row.user)).between(Time.seconds(-4), Time.seconds(-1))
    ends(near.process(Pair()), "interval")
    return env


def batch(rows: list[Any]) -> pa.RecordBatch:
    columns = dict(zip(SCHEMA.names, map(list, zip(*rows, strict=True)), strict=True))
    types = [pa.string(), pa.int64(), pa.bool_(), pa.int32()]
    return pa.RecordBatch.from_pydict(columns, pa.schema(list(zip(SCHEMA.names, types, strict=True))))


def results(job: InProcessJob) -> list[str]:
    return sorted(map(repr, job.collected))


def source(job: InProcessJob) -> int:
    return next(node.id for node in job.graph.nodes if node.uid == "rows")


def half(env: StreamExecutionEnvironment, form: str, directory: Path) -> tuple[StoredCheckpoint, list[str]]:
    """Run the first half, and take a snapshot; give what came out, too."""
    files = LocalCheckpointFiles(str(directory))
    with InProcessJob(env, 2, files=files, backend=BACKENDS[form.split()[-1]]) as job:
        job.run_epoch(rows={source(job): [batch(FIRST[:2]), batch(FIRST[2:])]})
        stored = take_savepoint(job, directory / "savepoints") if " of " in form else job.checkpoint()
        return stored, results(job)


def rest(env: StreamExecutionEnvironment, stored: StoredCheckpoint, backend: str, directory: Path) -> list[str]:
    """Run the second half from a snapshot, with another one in its middle."""
    files = LocalCheckpointFiles(str(directory / "second"))
    with InProcessJob(env, 2, files=files, restore=stored, backend=BACKENDS[backend]) as job:
        job.run_epoch(rows={source(job): [batch(SECOND)]})
        job.checkpoint()
        job.run_epoch(ended=[source(job)])
        for _ in range(3):
            job.run_epoch()
        return results(job)


def without_types() -> StreamExecutionEnvironment:
    """Make the program as it was before schemas were looked at: all is pickled."""
    with patch("rekindle.runtime.spark.schema_types.row_type", lambda schema: None):
        return program()


def expected(directory: Path) -> list[str]:
    """Return what comes out of a job that is not interrupted."""
    with InProcessJob(program(), 2, files=LocalCheckpointFiles(str(directory / "whole"))) as job:
        job.run_epoch(rows={source(job): [batch(FIRST[:2]), batch(FIRST[2:])]})
        job.run_epoch(rows={source(job): [batch(SECOND)]})
        job.run_epoch(ended=[source(job)])
        for _ in range(3):
            job.run_epoch()
        return results(job)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMS)
def test_state_that_was_pickled_before_schemas_were_looked_at_is_restored(
    tmp_path: Path, form: str, backend: str
) -> None:
    stored, first = half(without_types(), form, tmp_path)
    assert {state.key_type for operator in describe(Snapshot(stored)).operators for state in operator.keyed_states} == {
        "pickled Python objects"
    }
    assert sorted(first + rest(program(), stored, backend, tmp_path)) == expected(tmp_path)


@pytest.mark.parametrize("after", [program, without_types])
@pytest.mark.parametrize("form", FORMS)
def test_state_of_known_types_is_restored_though_they_may_not_be_known_any_more(
    tmp_path: Path, form: str, after: Callable[[], StreamExecutionEnvironment]
) -> None:
    stored, first = half(program(), form, tmp_path)
    assert sorted(first + rest(after(), stored, form.split()[-1], tmp_path)) == expected(tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_a_snapshot_shows_columns_and_no_pickles(tmp_path: Path, form: str) -> None:
    stored, _ = half(program(), form, tmp_path)
    snapshot = Snapshot(stored)
    described = describe(snapshot)
    row = "ROW(user STRING, amount LONG, on BOOLEAN, second LONG)"
    types = {
        (operator.uid, state.name): (state.key_type, state.value_type)
        for operator in described.operators
        for state in operator.keyed_states
    }
    (reduced,) = [state for state in types if state[1] == "_reduce"]
    assert types[reduced] == ("STRING", row)
    assert types["users", "count"] == ("STRING", "LONG")
    assert types["flags", "count"] == ("BOOLEAN", "LONG")
    assert types["pairs", "count"] == ("TUPLE(STRING, BOOLEAN or None)", "LONG")
    assert types["windows", "_window-contents"] == ("STRING", row)
    assert all("pickled" not in key_type for key_type, _ in types.values())
    timers = {timers.key_type for timers in described.operator("users").timers}
    assert timers == {"STRING"}
    with contents_of(snapshot) as contents:
        entries = {entry.key: entry.value for entry in contents.entries("users", "count")}
        assert entries == {"ada": 2, "bob": 1, None: 1}
        (found,) = [item for item in find_key(contents, "users", "ada") if isinstance(item, FoundEntry)]
        assert found.entry.value == 2
        reading = KeyedReading("users", "count", keyed_state_types(contents, "users")["count"])
        assert reading.schema().simpleString() == "struct<key:string,value:bigint>"
        reading = KeyedReading(
            "windows", "_window-contents", keyed_state_types(contents, "windows")["_window-contents"]
        )
        shown = "struct<user:string,amount:bigint,on:boolean,second:bigint>"
        assert reading.schema()["value"].dataType.simpleString() == f"array<{shown}>"
        totals = {entry.key: entry.value for entry in contents.entries(*reduced)}
        assert totals["ada"] == Row(user="ada", amount=5, on=True, second=3)
        assert type(totals["ada"]) is Row, "it is of the class that the program made it of"
        assert type(totals["bob"]) is not Row
        reading = KeyedReading(*reduced, keyed_state_types(contents, reduced[0])["_reduce"])
        assert reading.schema()["value"].dataType.simpleString() == shown


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_column_may_change_its_type(tmp_path: Path, backend: str) -> None:
    """Keys stay what they are, in bytes that say what they are; only new ones are of the new type."""
    stored, first = half(program(), backend, tmp_path)
    changed = T.StructType([T.StructField(field.name, T.StringType()) for field in SCHEMA.fields])
    second = rest(program(changed), stored, backend, tmp_path)
    assert sorted(first + second) == expected(tmp_path)
