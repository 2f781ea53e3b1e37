"""State read as DataFrames, and savepoints written from DataFrames."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rekindle.checkpoint.restoring import RestorePath
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Types
from rekindle.datastream import RuntimeContext
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from rekindle.exceptions import ConfigurationError, StateNotFoundError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state_processor import (
    KeyedStateBootstrapFunction,
    KeyedStateReaderFunction,
    OperatorTransformation,
    SavepointReader,
    SavepointWriter,
    broadcast_state,
    keyed_state,
    list_state,
    union_state,
)
from rekindle.state_processor.snapshot import Snapshot
from support.snapshot_job import (
    ACCOUNT,
    AMOUNTS,
    ANYTHING,
    BY_PARITY,
    COUNT,
    EXPIRING,
    MEAN,
    OTHERS,
    RECORDS,
    TOTAL,
    USERS,
    Account,
    expected,
    restored_contents,
    take_snapshot,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERYBODY = [*USERS, *OTHERS]
GOLDEN = {user: expected(user) for user in EVERYBODY}


def location(stored: StoredCheckpoint) -> str:
    assert stored.files is not None
    return stored.files.describe(stored.directory)


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return location(take_snapshot(tmp_path_factory.mktemp("canonical"), "canonical"))


@pytest.fixture(scope="module")
def reader(spark: SparkSession, savepoint: str) -> SavepointReader:
    return SavepointReader.read(spark, savepoint)


def rows(data_frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in data_frame.collect()]


def by_key(data_frame: Any) -> dict[Any, Any]:
    found = rows(data_frame.select("key", "value"))
    assert len(dict(found)) == len(found), "each key has one row"
    return dict(found)


class AllOfAUser(KeyedStateReaderFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.amounts = runtime_context.get_list_state(AMOUNTS)
        self.total = runtime_context.get_reducing_state(TOTAL)
        self.account = runtime_context.get_state(ACCOUNT)

    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterator[Any]:
        timers = sorted(ctx.registered_event_time_timers())
        assert ctx.registered_processing_time_timers() == set()
        yield key, self.count.value(), list(self.amounts.get()), self.total.get(), self.account.value(), timers


def test_each_kind_of_state_is_read_with_its_type(reader: SavepointReader) -> None:
    counts = reader.keyed_state("everything", "count")
    assert counts.dtypes == [("key", "string"), ("value", "bigint")]
    assert by_key(counts) == {user: GOLDEN[user]["count"] for user in EVERYBODY}
    accounts = reader.keyed_state("everything", "account")
    assert dict(accounts.dtypes)["value"] == "struct<owner:string,balance:decimal(38,0)>"
    assert {key: Account(*value) for key, value in by_key(accounts).items()} == {
        user: GOLDEN[user]["account"] for user in EVERYBODY
    }
    amounts = reader.keyed_state("everything", "amounts")
    assert dict(amounts.dtypes)["value"] == "array<bigint>"
    assert by_key(amounts) == {user: GOLDEN[user]["amounts"] for user in EVERYBODY}
    assert by_key(reader.keyed_state("everything", "total")) == {user: GOLDEN[user]["total"] for user in EVERYBODY}
    means = reader.keyed_state("everything", "mean")
    assert dict(means.dtypes)["value"] == "struct<f0:bigint,f1:bigint>"
    assert {key: value[0] / value[1] for key, value in by_key(means).items()} == {
        user: GOLDEN[user]["mean"] for user in EVERYBODY
    }


def test_maps_have_a_row_for_each_entry(reader: SavepointReader) -> None:
    entries = reader.keyed_state("everything", "by-parity")
    assert entries.dtypes == [("key", "string"), ("map_key", "string"), ("map_value", "double")]
    found: dict[str, dict[str, float]] = {}
    for user, parity, amount in rows(entries):
        found.setdefault(user, {})[parity] = amount
    assert found == {user: GOLDEN[user]["by-parity"] for user in EVERYBODY}


def test_state_that_expires_says_when_it_was_used(reader: SavepointReader) -> None:
    found = reader.keyed_state("everything", "expiring")
    assert found.dtypes == [("key", "string"), ("value", "bigint"), ("last_access", "bigint")]
    assert {user: value for user, value, _ in rows(found)} == {user: GOLDEN[user]["expiring"] for user in EVERYBODY}


def test_state_without_a_type_is_pickled_or_has_that_of_a_given_schema(reader: SavepointReader) -> None:
    pickled = reader.keyed_state("everything", "anything")
    assert dict(pickled.dtypes)["value"] == "binary"
    wanted = {user: GOLDEN[user]["anything"] for user in EVERYBODY}
    assert {key: pickle.loads(value) for key, value in by_key(pickled).items()} == wanted
    typed = reader.keyed_state(
        "everything", "anything", "user string, last struct<last: struct<who: string, amount: int>>"
    )
    assert {user: (row.last.who, row.last.amount) for user, row in rows(typed)} == {
        user: wanted[user]["last"] for user in EVERYBODY
    }
    converted = reader.keyed_state(
        "everything", "anything", "user string, amount int", lambda key, namespace, value: (key, value["last"][1])
    )
    assert dict(rows(converted)) == {user: wanted[user]["last"][1] for user in EVERYBODY}


def test_windows_are_a_column(reader: SavepointReader) -> None:
    windows = reader.keyed_state(
        "windows",
        "_window-contents",
        "user string, window struct<start: long, end: long>, sum struct<user: string, sum: long>",
    )
    found = {user: (window.start, window.end, value.sum) for user, window, value in rows(windows)}
    assert found == {user: (3000, 4000, sum(a for u, a in RECORDS if u == user and a >= 30)) for user in USERS}
    timers = reader.timers("windows")
    assert timers.dtypes[3] == ("namespace", "struct<start:bigint,end:bigint>")
    assert {(d, when, key) for d, when, key, _ in rows(timers)} == {("event", 3999, user) for user in USERS}


def test_operator_state_and_timers(reader: SavepointReader) -> None:
    amounts = sorted(amount for _, amount in RECORDS)
    assert sorted(value for _, value in rows(reader.list_state("everything", "seen"))) == amounts
    assert {value for _, value in rows(reader.union_state("everything", "all"))} == {f"{u}-{a}" for u, a in RECORDS}
    assert dict(rows(reader.broadcast_state("everything", "rules"))) == {"low": 1, "high": 10}
    assert {(key, when) for _, when, key in rows(reader.timers("everything"))} == {
        (u, 1_000_000 + a) for u, a in RECORDS
    }
    with pytest.raises(ConfigurationError, match=r"is union state, not split; read it with union_state\(\)"):
        reader.list_state("everything", "all")
    with pytest.raises(StateNotFoundError, match=r"no keyed state 'cuont'.*'count'"):
        reader.keyed_state("everything", "cuont")


def test_a_function_reads_several_states_of_a_key(reader: SavepointReader) -> None:
    account = "account struct<owner: string, balance: long>"
    schema = f"user string, count long, amounts array<long>, total long, {account}, timers array<long>"
    found = {row.user: row for row in reader.read_keyed_state("everything", AllOfAUser(), schema).collect()}
    assert set(found) == set(EVERYBODY)
    for user in USERS:
        row, golden = found[user], GOLDEN[user]
        assert (row["count"], row.amounts, row.total) == (golden["count"], golden["amounts"], golden["total"])
        assert Account(*row.account) == golden["account"]
        assert row.timers == [1_000_000 + amount for amount in golden["amounts"]]


@pytest.mark.parametrize("form", ["heap-incremental", "rocksdb"])
def test_checkpoints_of_other_formats_are_read_alike(spark: SparkSession, tmp_path: Path, form: str) -> None:
    reader = SavepointReader.read(spark, location(take_snapshot(tmp_path, form)))
    assert by_key(reader.keyed_state("everything", "total")) == {user: GOLDEN[user]["total"] for user in EVERYBODY}
    described = {operator.uid: operator for operator in reader.operators()}
    assert described["everything"].keyed_states[0].name == "account"


# --- writing ---


def test_one_value_is_halved_and_all_else_is_as_it_was(spark: SparkSession, savepoint: str, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    reader = SavepointReader.read(spark, savepoint)
    totals = reader.keyed_state("everything", "total")
    halved = totals.withColumn(
        "value", F.when(F.col("key") == "ada", F.col("value") / 2).otherwise(F.col("value")).cast("long")
    )
    writer = SavepointWriter.from_existing_savepoint(spark, savepoint)
    windows = reader.keyed_state("windows", "_window-contents")
    contents = ReducingStateDescriptor("_window-contents", max, Types.PICKLED_BYTE_ARRAY())
    writer.with_state("windows", keyed_state(windows, contents, namespace_column="namespace"))
    target = writer.with_state("everything", keyed_state(halved, TOTAL)).write(str(tmp_path / "fixed"))
    fixed = RestorePath(target).current
    for backend, parallelism in ((BackendSettings(), 1), (BackendSettings(RocksDBSettings()), 3)):
        found = restored_contents(fixed, parallelism, backend)
        assert found.pop("ada") == {**GOLDEN["ada"], "total": GOLDEN["ada"]["total"] // 2}
        assert found == {user: GOLDEN[user] for user in USERS if user != "ada"}
    again = SavepointReader.read(spark, target)
    assert sorted(rows(again.keyed_state("windows", "_window-contents"))) == sorted(rows(windows))
    assert sorted(rows(again.timers("windows").select("timestamp", "key"))) == sorted((3999, user) for user in USERS)
    assert len(rows(again.timers("everything"))) == len(RECORDS)


def test_every_kind_of_state_is_written_as_it_was_read(spark: SparkSession, savepoint: str, tmp_path: Path) -> None:
    reader = SavepointReader.read(spark, savepoint)
    descriptors = [ACCOUNT, COUNT, AMOUNTS, BY_PARITY, TOTAL, MEAN, ANYTHING, EXPIRING]
    states = [
        keyed_state(reader.keyed_state("everything", d.get_name()), d, key_type=Types.STRING()) for d in descriptors
    ]
    target = (
        SavepointWriter.new_savepoint(spark, max_parallelism=64, parallelism=3)
        .with_operator(
            "everything",
            *states,
            list_state(reader.list_state("everything", "seen"), ListStateDescriptor("seen", Types.LONG())),
            union_state(reader.union_state("everything", "all"), ListStateDescriptor("all", Types.STRING())),
            broadcast_state(
                reader.broadcast_state("everything", "rules"),
                MapStateDescriptor("rules", Types.STRING(), Types.LONG()),
            ),
        )
        .write(str(tmp_path / "copy"))
    )
    copy = RestorePath(target).current
    assert copy.metadata.savepoint
    assert copy.metadata.operators[0].max_parallelism == 64
    assert restored_contents(copy, 2) == {user: GOLDEN[user] for user in USERS}
    items = rows(SavepointReader.read(spark, target).list_state("everything", "seen"))
    assert sorted(value for _, value in items) == sorted(amount for _, amount in RECORDS)


class FillCount(KeyedStateBootstrapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.amounts = runtime_context.get_list_state(AMOUNTS)

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        assert ctx.get_current_key() == value.user
        self.count.update((self.count.value() or 0) + 1)
        self.amounts.add(value.amount)
        ctx.timer_service().register_event_time_timer(5_000 + value.amount)


def test_a_function_makes_state_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    at = datetime(2024, 2, 29, 12, 30, 15, 123456)
    records = spark.createDataFrame(
        [("ada", 1, at), ("bob", 2, at), ("ada", 3, at)], "user string, amount long, at timestamp"
    )
    made = OperatorTransformation.bootstrap_with(records).key_by("user", Types.STRING()).transform(FillCount())
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    times = keyed_state(records, ValueStateDescriptor("time", Types.INSTANT()), ["user", "amount"], "at", pair)
    writer = SavepointWriter.new_savepoint(spark).with_operator("everything", made).with_operator("times", times)
    target = writer.write(str(tmp_path / "new"))
    contents = restored_contents(RestorePath(target).current, 2)
    found = {user: (contents[user]["count"], sorted(contents[user]["amounts"])) for user in USERS}
    assert found == {**dict.fromkeys(USERS, (None, [])), "ada": (2, [1, 3]), "bob": (1, [2])}
    times = SavepointReader.read(spark, target).keyed_state("times", "time")
    assert times.dtypes == [("key", "struct<f0:string,f1:bigint>"), ("value", "timestamp")]
    assert {(*key, value) for key, value in rows(times)} == {tuple(row) for row in records.collect()}
    timers = rows(SavepointReader.read(spark, target).timers("everything"))
    assert sorted(timers) == [("event", 5_001, "ada"), ("event", 5_002, "bob"), ("event", 5_003, "ada")]


def test_operators_are_renamed_and_removed(spark: SparkSession, savepoint: str, tmp_path: Path) -> None:
    writer = SavepointWriter.from_existing_savepoint(spark, savepoint)
    writer.remove_operator("windows").change_operator_identifier("everything", "all of it")
    target = writer.write(str(tmp_path / "renamed"))
    reader = SavepointReader.read(spark, target)
    assert "windows" not in {operator.uid for operator in reader.operators()}
    assert by_key(reader.keyed_state("all of it", "count")) == {user: GOLDEN[user]["count"] for user in EVERYBODY}
    with pytest.raises(ConfigurationError, match="is not empty"):
        writer.write(target)
    with pytest.raises(StateNotFoundError, match="no operator with uid 'windows'"):
        writer.remove_operator("windows")


def test_what_cannot_be_state_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    twice = spark.createDataFrame([("a", 1), ("a", 2)], "key string, value long")
    writer = SavepointWriter.new_savepoint(spark, parallelism=1)
    writer.with_operator("counts", keyed_state(twice, ValueStateDescriptor("count", Types.LONG())))
    with pytest.raises(Exception, match="two rows for the key 'a'"):
        writer.write(str(tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_a_source_has_one_position(spark: SparkSession, tmp_path: Path) -> None:
    query = tmp_path / "query"
    for name, text in {"offsets": "v1\n{}\n7", "commits": "v1\n{}"}.items():
        (query / name).mkdir(parents=True)
        (query / name / "0").write_text(text)
    writer = SavepointWriter.new_savepoint(spark).with_source_position("rows", str(query))
    with pytest.raises(ConfigurationError, match=r"position for the source with uid 'rows' already.*remove_operator"):
        writer.with_source_position("rows", str(query))
    again = writer.remove_operator("rows").with_source_position("rows", str(query), [0])
    snapshot = Snapshot.open(again.write(str(tmp_path / "savepoint")))
    assert [(position.uid, position.offsets) for position in snapshot.metadata.positions] == [("rows", ["7"])]
