"""Files of all formats, in and out, on Spark: each record once, also when a slot is killed."""

from __future__ import annotations

import io
import os
import signal
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from rekindle.common import Duration, Row, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction
from rekindle.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink, FileSource
from rekindle.datastream.formats.avro import AvroInputFormat, AvroSchema, avro_writer
from rekindle.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema
from rekindle.datastream.formats.orc import orc_writer
from rekindle.datastream.formats.parquet import AvroParquetReaders, ParquetColumnarRowInputFormat, parquet_writer
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import JobExecutionError
from rekindle.formats.bulk_writer import BulkWriterFactory
from support.balances import environment
from support.processes import wait_until

pytestmark = pytest.mark.usefixtures("no_slots_left")

NONE = WatermarkStrategy.no_watermarks()


def write(path: Path, factory: BulkWriterFactory, records: list[Any]) -> None:
    """Write a file as a sink would, and let it appear whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = factory.create()
    hidden = path.with_name(f".{path.name}")
    hidden.write_bytes(writer.add(records) + writer.finish())
    hidden.rename(path)


def collected(env: Any, source: FileSource, function: Any = repr) -> list[Any]:
    with env.from_source(source, NONE, "files").map(function).execute_and_collect() as results:
        return sorted(results, key=str)


@dataclass
class Place:
    city: str
    zip: int | None


@dataclass
class Order:
    user: str | None
    amount: int
    price: Decimal
    day: date
    at: datetime
    tags: list[str]
    place: Place | None


AT = datetime(2020, 2, 29, 12, 30, 0, 5, tzinfo=UTC)
ORDERS = [
    Order("ann", 2**62, Decimal("1.500000000000000000"), date(2020, 2, 29), AT, ["x", ""], Place("Oslo", 150)),
    Order(None, -1, Decimal("0E-18"), date(1970, 1, 1), AT, [], None),
    Order('é "q"\n,', 0, Decimal("-2.000000000000000000"), date(9999, 12, 31), AT, ["a"], Place("", None)),
]


def in_utc(order: Order) -> str:
    order.at = order.at.astimezone(UTC)
    return repr(order)


@pytest.mark.parametrize("name", ["parquet", "orc", "json"])
def test_records_of_a_dataclass_go_to_files_and_come_back(spark: Any, tmp_path: Path, name: str) -> None:
    env = environment(spark, None)
    stream = env.from_collection(ORDERS)
    if name == "json":
        sink = FileSink.for_row_format(tmp_path / "out").build()
    else:
        writer = {"parquet": parquet_writer, "orc": orc_writer}[name](Order)
        sink = FileSink.for_bulk_format(tmp_path / "out", writer).build()
    stream.sink_to(sink)
    env.execute()
    assert spark.read.format(name).load(str(tmp_path / "out")).count() == 3
    source = FileSource.for_format(name, str(tmp_path / "out"), record_class=Order).build()
    assert collected(env, source, in_utc) == sorted(map(repr, ORDERS))


AVRO = AvroSchema(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "user", "type": ["null", "string"]},
            {"name": "amount", "type": "long"},
            {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 2}},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {"name": "counts", "type": {"type": "map", "values": "int"}},
        ],
    }
)
EARLY = datetime(1969, 12, 31, 23, 59, 59, 5000, tzinfo=UTC)
GENERIC = [
    {
        "user": "ann",
        "amount": 1,
        "price": Decimal("1.50"),
        "at": EARLY,
        "tags": ["x"],
        "counts": {"a": 1},
    },
    {
        "user": None,
        "amount": 2**62,
        "price": Decimal("-9.99"),
        "at": EARLY,
        "tags": [],
        "counts": {},
    },
]


def test_avro_files_are_read_without_a_package_of_spark(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.avro", avro_writer(AVRO, "deflate"), GENERIC)
    write(tmp_path / "in" / "below" / "b.avro", avro_writer(AVRO), GENERIC[:1] * 25_000)
    env = environment(spark, None)

    def seen(record: dict[str, Any]) -> tuple[Any, ...]:
        record["at"] = record["at"].astimezone(UTC)
        return tuple(record.values())

    stream = env.create_input(AvroInputFormat(str(tmp_path / "in"), AVRO))
    with stream.map(seen).execute_and_collect() as results:
        counts = Counter(map(repr, results))
    first, second = (repr(tuple(record.values())) for record in GENERIC)
    assert counts == {first: 25_001, second: 1}

    (tmp_path / "in" / "c.avro").write_bytes(b"Obj\x01 but not really")
    rows = FileSource.for_format("avro", str(tmp_path / "in"), schema="user string, amount long").build()
    with pytest.raises(JobExecutionError, match=r"the Avro file .*c\.avro cannot be read"):
        collected(env, rows)
    (tmp_path / "in" / "c.avro").unlink()
    assert Counter(collected(env, rows, lambda row: row.amount)) == {1: 25_001, 2**62: 1}


def test_csv_files_have_rows_of_pyflinks_kind(spark: Any, tmp_path: Path) -> None:
    schema = (
        CsvSchema.builder()
        .add_string_column("name")
        .add_number_column("n", Types.INT())
        .add_boolean_column("ok")
        .add_array_column("tags", "|", Types.LONG())
        .set_column_separator(";")
        .set_use_header()
        .build()
    )
    rows = [
        Row("a;b", 1, True, [1, 2]),
        Row("", None, False, []),
        Row(None, -5, None, None),
        Row('q"\nx', 0, True, [7]),
    ]
    env = environment(spark, None)
    sink = FileSink.for_bulk_format(tmp_path / "out", CsvBulkWriters.for_schema(schema)).build()
    env.from_collection(rows).sink_to(sink)
    env.execute()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(tmp_path / "out")).build()
    read = collected(env, source, lambda row: (type(row).__name__, row.as_dict()))
    assert [row for _, row in read] == sorted(
        [{"name": row[0], "n": row[1], "ok": row[2], "tags": row[3]} for row in rows], key=lambda row: str(("Row", row))
    )
    assert {name for name, _ in read} == {"Row"}


@pytest.mark.parametrize("name", ["csv", "json"])
def test_a_malformed_record_fails_the_job_and_the_file_is_named(spark: Any, tmp_path: Path, name: str) -> None:
    good, bad = {"csv": ("1,a\n", "x,b\n"), "json": ('{"n": 1, "s": "a"}\n', '{"n": "x", "s": }\n')}[name]
    (tmp_path / f"bad.{name}").write_text(good * 3 + bad)
    env = environment(spark, None)
    with pytest.raises(JobExecutionError) as raised:
        collected(env, FileSource.for_format(name, str(tmp_path), schema="n long, s string").build())
    assert f"bad.{name}" in str(raised.value)
    skipping = FileSource.for_format(name, str(tmp_path), schema="n long, s string", mode="DROPMALFORMED").build()
    assert collected(env, skipping, lambda row: row.n) == [1, 1, 1]


def test_rows_of_files_come_by_columns_as_those_of_dataframes_do(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"user": ["ann", "bob", "ann"], "amount": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "a.parquet")
    env = environment(spark, None)
    source = FileSource.for_format("parquet", str(tmp_path), schema="user string, amount long").build()
    stream = env.from_source(source, NONE, "orders").filter(lambda row: row.amount > 0)
    sums = stream.map(lambda row: (row.user, row.amount)).key_by(lambda pair: pair[0])
    totals = sums.reduce(lambda a, b: (a[0], a[1] + b[1]))
    assert '"path": "columns' in env.get_execution_plan()
    with totals.execute_and_collect() as results:
        assert sorted(results) == [("ann", 1), ("ann", 4), ("bob", 2)]


def test_parquet_under_pyflinks_names(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", parquet_writer(AVRO), GENERIC)
    env = environment(spark, None)
    generic = FileSource.for_record_stream_format(AvroParquetReaders.for_generic_record(AVRO), str(tmp_path)).build()
    assert collected(env, generic, lambda record: (record["user"], record["counts"])) == [("ann", {"a": 1}), (None, {})]
    row_type = Types.ROW_NAMED(["amount", "user"], [Types.LONG(), Types.STRING()])
    columnar = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(row_type), str(tmp_path)).build()
    assert collected(env, columnar, lambda row: str(row)) == [
        "Row(amount=1, user='ann')",
        f"Row(amount={2**62}, user=None)",
    ]


class Total(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value.amount
        self.total.update(total)
        yield value.user, value.amount, total


@dataclass
class Paid:
    user: str
    amount: int


def test_parquet_to_parquet_once_though_a_slot_is_killed(spark: Any, tmp_path: Path) -> None:
    users, per_file, files = 5, 400, 12

    def add(number: int) -> None:
        records = [Paid(f"user-{place % users}", number * per_file + place) for place in range(per_file)]
        write(tmp_path / "in" / f"{number:03}.parquet", parquet_writer(Paid), records)

    add(0)
    env = environment(spark, str(tmp_path / "checkpoints"))
    source = FileSource.for_format("parquet", str(tmp_path / "in"), record_class=Paid, maxFilesPerTrigger=1)
    stream = env.from_source(source.monitor_continuously(Duration.of_millis(100)).build(), NONE, "paid")
    totals = stream.key_by(lambda paid: paid.user).process(Total())
    sink = FileSink.for_bulk_format(tmp_path / "out", parquet_writer("user string, amount long, total long"))
    strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(10).build()
    totals.sink_to(sink.enable_compact(strategy, FileCompactor.record_wise_file_compactor()).build())
    master = env._submit("paid", None)

    def visible() -> list[tuple[str, int, int]]:
        found: list[tuple[str, int, int]] = []
        for path in sorted((tmp_path / "out").glob("*part-*")):
            found += [tuple(row.values()) for row in parquet.read_table(io.BytesIO(path.read_bytes())).to_pylist()]
        return found

    try:
        wait_until(visible, "the first records are visible", 90)
        for number in range(1, files):
            add(number)
            if number in (3, 8):
                seen = len(visible())
                os.kill(master.slot_pids()[number % 2], signal.SIGKILL)
                wait_until(lambda seen=seen: len(visible()) > seen, "records are visible after the kill", 90)
        wait_until(lambda: len(visible()) >= files * per_file, "all records are visible", 90)
    finally:
        master.cancel()
        master.result.exception(60)
    rows = visible()
    assert sorted(amount for _, amount, _ in rows) == list(range(files * per_file))
    for user in {user for user, _, _ in rows}:
        amounts = [amount for name, amount, _ in rows if name == user]
        assert max(total for name, _, total in rows if name == user) == sum(amounts)
    assert list((tmp_path / "out").glob("compacted-part-*")) != []


def test_at_the_end_of_a_bounded_job_nothing_waits_to_be_merged(spark: Any, tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path / "in" / f"{number}.parquet", parquet_writer(Paid), [Paid("ann", number)])
    env = environment(spark, str(tmp_path / "checkpoints"))
    source = FileSource.for_format("parquet", str(tmp_path / "in"), record_class=Paid, maxFilesPerTrigger=1).build()
    strategy = FileCompactStrategy.builder().set_size_threshold(1 << 30).build()
    sink = FileSink.for_row_format(tmp_path / "out").enable_compact(strategy, FileCompactor.concat_file_compactor())
    env.from_source(source, NONE, "paid").sink_to(sink.build())
    env.execute()
    assert spark.read.json(str(tmp_path / "out")).count() == 6
    assert [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")] == []
