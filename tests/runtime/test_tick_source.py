"""The heartbeat: a source of Spark's whose offset is a number that the job master raises."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from pyspark.sql.datasource import InputPartition

from rekindle.runtime.spark import tick_source
from rekindle.runtime.spark.tick_file import read_tick, write_tick
from rekindle.runtime.spark.tick_source import NAME, TickReader, TickSource

LONG = 60.0  # seconds; a test that waits so long has failed


def reader(path: Path, slots: int = 1, wait: float = LONG) -> TickReader:
    made = TickReader(str(path), slots, wait)
    made._quiet = True  # in the process that Spark starts for it, it silences standard error
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_tick(str(tmp_path / "tick"), 0)
    return tmp_path / "tick"


def test_it_starts_before_the_first_tick(path: Path) -> None:
    assert reader(path).initialOffset() == {"tick": 0}


def test_a_tick_raised_already_is_seen_at_once(path: Path) -> None:
    write_tick(str(path), 7)
    assert reader(path).latestOffset({"tick": 3}, None) == {"tick": 7}


def test_a_tick_raised_while_it_waits_is_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()
    read = tick_source.read_tick

    def reading(name: str) -> int:
        waiting.set()
        return read(name)

    monkeypatch.setattr(tick_source, "read_tick", reading)

    def raise_tick() -> None:
        waiting.wait()
        write_tick(str(path), 1)

    raising = threading.Thread(target=raise_tick)
    raising.start()
    assert reader(path).latestOffset({"tick": 0}, None) == {"tick": 1}
    raising.join()


def test_without_a_tick_it_waits_no_longer_than_it_was_told_to(path: Path) -> None:
    assert reader(path, wait=0).latestOffset({"tick": 0}, None) == {"tick": 0}


def test_an_offset_never_goes_back_though_the_file_is_gone(path: Path) -> None:
    write_tick(str(path), 2)
    assert reader(path).latestOffset({"tick": 5}, None) == {"tick": 5}
    os.unlink(path)
    assert reader(path).latestOffset({"tick": 5}, None) == {"tick": 5}


def test_a_tick_has_a_partition_for_each_slot_that_is_to_be_polled(path: Path) -> None:
    ticks = reader(path, slots=3)
    partitions = ticks.partitions({"tick": 1}, {"tick": 2})
    rows = [batch.to_pylist() for partition in partitions for batch in ticks.read(partition)]
    assert rows == [[{"slot": 0}], [{"slot": 1}], [{"slot": 2}]]


def test_without_a_new_tick_there_is_nothing_to_read(path: Path) -> None:
    assert reader(path).partitions({"tick": 2}, {"tick": 2}) == []


def test_a_row_has_the_schema_that_was_announced(path: Path) -> None:
    (batch,) = reader(path).read(InputPartition(4))
    assert str(batch.schema.field("slot").type) == "int32"
    assert TickSource({}).schema() == "slot int"
    assert TickSource.name() == NAME


def test_the_reader_is_made_from_the_options_of_the_source(path: Path) -> None:
    made = TickSource({"path": str(path), "slots": "2", "wait": "0"}).streamReader(None)
    made._quiet = True
    write_tick(str(path), 9)
    assert made.latestOffset({"tick": 0}, None) == {"tick": 9}
    assert len(made.partitions({"tick": 0}, {"tick": 9})) == 2


def test_a_file_that_is_not_there_is_tick_zero(tmp_path: Path) -> None:
    assert read_tick(str(tmp_path / "missing")) == 0


def test_a_tick_is_replaced_in_one_step_and_leaves_nothing_beside_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, seen = os.replace, []

    def replacing(source: str, target: str) -> None:
        seen.append((Path(source).read_text(), read_tick(target)))
        replace(source, target)

    monkeypatch.setattr(os, "replace", replacing)
    write_tick(str(path), 12)
    assert seen == [("12", 0)], "the new tick is whole before it takes the place of the old one"
    assert read_tick(str(path)) == 12
    assert [file.name for file in path.parent.iterdir()] == ["tick"]
