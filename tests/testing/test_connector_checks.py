"""The kits find the mistake in each wrong connector and name it, and have nothing against right ones."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wrong_connectors as wrong
from wrong_connectors import STORE

from rekindle.common import Types
from rekindle.datastream.connectors import JdbcConnectionOptions, JdbcSink, NumberSequenceSource
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from rekindle.testing import BrokenPromiseError, Promise, check_sink, check_source

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def empty_store() -> None:
    STORE.reset()


def shown(page: str, name: str) -> Any:
    """Return a class that a page shows."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.DOTALL | re.MULTILINE)
    (block,) = [block for block in blocks if f"class {name}" in block]
    names: dict[str, Any] = {}
    exec(compile(block, page, "exec"), names)
    return names[name]


WRONG_SINKS = [
    (wrong.CommitsAgain, Promise.NOT_IDEMPOTENT),
    (wrong.WritesAtOnce, Promise.TOO_EARLY),
    (wrong.KeepsInMemory, Promise.LOST_IN_CRASH),
    (wrong.NeedsItsMemory, Promise.NOT_SELF_CONTAINED),
    (wrong.RemovesEverything, Promise.ABORTS_TOO_MUCH),
    (wrong.ForgetsSavepoints, Promise.ABORTS_TOO_MUCH),
    (wrong.LeavesLeftovers, Promise.LEFTOVERS),
    (wrong.CommitsTheLast, Promise.LOST_IN_CRASH),
    (wrong.CommitsLater, Promise.NOT_COMMITTED),
    (wrong.NamesByCheckpoint, Promise.LOST_BETWEEN_JOBS),
    (lambda: wrong.AppendingOnce(wrong.OneJobsCommitter()), Promise.LOST_BETWEEN_JOBS),
    (wrong.CannotTravel, Promise.NOT_PICKLABLE),
    (wrong.ForgetsAborted, Promise.LOST_AFTER_ABORT),
    (wrong.NeverRecovers, Promise.LOST_IN_CRASH),
    (wrong.CommitsOnlyOnce, Promise.NOT_IDEMPOTENT),
    (wrong.AbortsVisibly, Promise.LEFTOVERS),
    (lambda: wrong.Appending(wrong.NoCommitter()), Promise.NOT_IDEMPOTENT),
    (lambda: wrong.Appending(wrong.StoreCommitter()), Promise.NOT_IDEMPOTENT),
]


@pytest.mark.parametrize(("make_sink", "promise"), WRONG_SINKS)
def test_the_mistake_of_a_wrong_sink_is_found_and_named(make_sink: Callable[[], Any], promise: Promise) -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(make_sink, STORE.read, reset=STORE.reset)
    assert found.value.promise is promise, found.value


@pytest.mark.parametrize(
    ("make_sink", "promise"),
    [(wrong.ForgetsOthersBuffers, Promise.LOST_IN_RESCALE), (wrong.ForgetsItsBuffer, Promise.LOST_IN_CRASH)],
)
def test_a_sink_that_loses_is_not_at_least_once(make_sink: Callable[[], Any], promise: Promise) -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(make_sink, STORE.read, reset=STORE.reset, guarantee="at-least-once")
    assert found.value.promise is promise, found.value


@pytest.mark.parametrize(
    "make_sink",
    [
        wrong.RightSink,
        wrong.RightTransactions,
        wrong.ShufflesSubtasks,
        lambda: wrong.AppendingOnce(wrong.StoreCommitter()),
        lambda: wrong.AppendingOnce(wrong.NoCommitter()),
    ],
)
@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_right_sink_passes(make_sink: Callable[[], Any], parallelism: int) -> None:
    check_sink(make_sink, STORE.read, reset=STORE.reset, parallelism=parallelism)


@pytest.mark.parametrize(
    "make_sink",
    [wrong.BufferingSink, wrong.CommitsAgain, lambda: wrong.Appending(wrong.StoreCommitter()), wrong.WritesAtOnce],
)
def test_what_repeats_records_is_at_least_once(make_sink: Callable[[], Any]) -> None:
    check_sink(make_sink, STORE.read, reset=STORE.reset, guarantee="at-least-once")


def test_without_reset_output_adds_up_and_is_told_apart() -> None:
    STORE.append(["from before"])
    check_sink(wrong.RightSink, STORE.read, crashes=20)
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(wrong.CommitsAgain, STORE.read, records="another-{}".format)
    assert found.value.promise is Promise.NOT_IDEMPOTENT


def test_the_order_of_a_subtask_is_compared_where_asked_for() -> None:
    check_sink(wrong.RightSink, STORE.read, reset=STORE.reset, ordered=True)
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(wrong.ShufflesSubtasks, STORE.read, reset=STORE.reset, ordered=True)
    assert found.value.promise is Promise.OUT_OF_ORDER


def test_records_that_look_different_outside_are_pointed_out() -> None:
    with pytest.raises(BrokenPromiseError, match="read_output must return them so") as found:
        check_sink(wrong.RightSink, lambda: [value.upper() for value in STORE.read()], reset=STORE.reset)
    assert found.value.promise is Promise.WRONG_OUTPUT


def test_the_story_tells_what_happened_and_its_run_can_be_repeated() -> None:
    def sink() -> wrong.Appending:
        return wrong.Appending(wrong.StoreCommitter())

    with pytest.raises(BrokenPromiseError) as found:
        check_sink(sink, STORE.read, reset=STORE.reset, seed=3)
    story = str(found.value)
    assert story.startswith("Appending breaks a promise: commit is not idempotent")
    for part in ("the barrier of checkpoint 1", "CRASH while", "2 times", "Expected to be visible", "seed=3"):
        assert part in story
    with pytest.raises(BrokenPromiseError) as again:
        check_sink(sink, STORE.read, reset=STORE.reset, seed=3, schedule=found.value.schedule)
    assert again.value.promise is found.value.promise
    assert len(again.value.events) == len(found.value.events)


def test_file_sink_passes(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def read() -> list[str]:
        return [line for path in out.rglob("part-*") for line in path.read_text().splitlines()]

    check_sink(
        lambda: FileSink.for_row_format(str(out)).build(), read, reset=lambda: shutil.rmtree(out, ignore_errors=True)
    )


def test_the_sink_on_the_page_about_sinks_passes(tmp_path: Path) -> None:
    path = str(tmp_path / "squares.db")
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE squares (number INTEGER, square INTEGER)")
    database.execute("CREATE TABLE commits (name TEXT PRIMARY KEY)")
    sink = shown("sinks.md", "DatabaseSink")
    check_sink(
        lambda: sink(path),
        lambda: database.execute("SELECT * FROM squares").fetchall(),
        records=lambda number: (number, number * number),
        reset=lambda: database.execute("DELETE FROM squares"),
        crashes=100,
    )
    database.close()


def test_a_file_sink_that_merges_its_files_passes_where_they_may_come_later(tmp_path: Path) -> None:
    out = tmp_path / "out"
    every_two = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()
    concat = FileCompactor.concat_file_compactor()

    def read() -> list[str]:
        paths = [path for path in out.rglob("*part-*") if not path.name.startswith(".")]
        return [line for path in paths for line in path.read_text().splitlines()]

    check_sink(
        lambda: FileSink.for_row_format(str(out)).enable_compact(every_two, concat).build(),
        read,
        reset=lambda: shutil.rmtree(out, ignore_errors=True),
        delayed=True,
    )


def test_what_never_comes_is_lost_though_it_may_come_later() -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(wrong.CommitsLater, STORE.read, reset=STORE.reset, delayed=True)
    assert found.value.promise is Promise.NOT_COMMITTED
    assert "the input ends" in found.value.events


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_jdbc_sinks_pass(tmp_path: Path, guarantee: Any) -> None:
    path = tmp_path / "rows.db"
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("CREATE TABLE t (name TEXT, number INTEGER)")
    rows = Types.ROW_NAMED(["name", "number"], [Types.STRING(), Types.INT()])
    connection = JdbcConnectionOptions(f"jdbc:sqlite:{path}", "org.sqlite.JDBC")
    make = JdbcSink.exactly_once_sink if guarantee == "exactly-once" else JdbcSink.sink
    check_sink(
        lambda: make("INSERT INTO t VALUES (?, ?)", rows, connection),
        lambda: database.execute("SELECT * FROM t").fetchall(),
        records=lambda number: (f"n{number}", number),
        guarantee=guarantee,
        reset=lambda: database.execute("DELETE FROM t"),
        crashes=100,
    )
    database.close()


# --- sources ---


@pytest.mark.parametrize(
    ("make_source", "parallelism", "promise"),
    [
        (wrong.AdvancesFirst, 2, Promise.LOSES),
        (wrong.AdvancesLater, 2, Promise.REPEATS),
        (wrong.ForgetsOthersSplits, 2, Promise.LOSES_IN_RESCALE),
        (wrong.StartsAgain, wrong.SPLITS, Promise.REPEATS_IN_RESCALE),
    ],
)
def test_the_mistake_of_a_wrong_source_is_found_and_named(
    make_source: Callable[[], Any], parallelism: int, promise: Promise
) -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_source(make_source, wrong.RECORDS, parallelism=parallelism)
    assert found.value.promise is promise, found.value


def test_a_source_without_state_is_told_so() -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_source(wrong.HasNoState, list(range(wrong.EACH)))
    assert found.value.promise is Promise.NO_POSITION


def test_a_source_that_does_not_listen_is_found() -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_source(wrong.NeverEnds, list(range(20)), bounded=False, snapshots=8)
    assert found.value.promise is Promise.NOT_CANCELLED


def test_a_source_that_emits_something_else_is_found_at_once() -> None:
    with pytest.raises(BrokenPromiseError, match="Missing: 'another'") as found:
        check_source(wrong.RightSource, [*wrong.RECORDS, "another"])
    assert found.value.promise is Promise.WRONG_RECORDS


def test_the_story_says_before_which_line_the_snapshot_was_taken_and_can_be_repeated() -> None:
    with pytest.raises(BrokenPromiseError) as found:
        check_source(wrong.AdvancesLater, wrong.RECORDS)
    assert "self.positions[split] += 1" in str(found.value)
    with pytest.raises(BrokenPromiseError) as again:
        check_source(wrong.AdvancesLater, wrong.RECORDS, schedule=found.value.schedule)
    assert again.value.promise is found.value.promise


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_right_source_passes(parallelism: int) -> None:
    check_source(
        wrong.RightSource, wrong.RECORDS, parallelism=parallelism, split_of=lambda record: record[0], snapshots=30
    )


@pytest.mark.parametrize("parallelism", [1, 2])
def test_the_source_on_the_page_about_sources_passes(parallelism: int) -> None:
    counter = shown("sources.md", "CounterSource")
    check_source(
        lambda: counter(10), lambda subtasks: list(range(10)) * subtasks, parallelism=parallelism, rescale=False
    )


def test_rekindles_own_sources_pass() -> None:
    check_source(lambda: NumberSequenceSource(1, 20), list(range(1, 21)))
    check_source(lambda: DataGeneratorSource(lambda n: n * n, 20, Types.LONG()), [n * n for n in range(20)])
