"""Spark's positions: read from its checkpoint directory after a batch, and written into a fresh one to start there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rekindle.checkpoint.metadata import SourceLog, SourcePosition
from rekindle.exceptions import CheckpointCorruptError, StateRestoreError
from rekindle.runtime.spark.positions import SourceLayout, SparkScratch

LAYOUT = (SourceLayout("files", 0, 1), SourceLayout("two streams", 1, 2))
HEAD = '{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{}}'


def scratch(directory: Path, layout: tuple[SourceLayout, ...] = LAYOUT) -> SparkScratch:
    return SparkScratch(str(directory), layout)


def write_batch(directory: Path, batch: int, *lines: str) -> None:
    """Write an offset log entry as Spark does; the tick comes last."""
    offsets = directory / "offsets"
    offsets.mkdir(parents=True, exist_ok=True)
    (offsets / str(batch)).write_text("\n".join(["v1", HEAD, *lines, str(batch)]))
    (offsets / f".{batch}.crc").write_bytes(b"crc")


class TestPrepare:
    def test_a_job_that_starts_afresh_starts_every_source_at_its_own_beginning(self, tmp_path: Path) -> None:
        directory = tmp_path / "spark-0"
        scratch(directory).prepare({}, now=1_234)
        version, head, *lines = (directory / "offsets" / "0").read_text().split("\n")
        assert version == "v1"
        assert json.loads(head)["batchTimestampMs"] == 1_234
        assert lines == ["-", "-", "-", "-1"]

    def test_batch_0_is_done_so_that_spark_goes_on_with_batch_1(self, tmp_path: Path) -> None:
        directory = tmp_path / "spark-0"
        scratch(directory).prepare({}, now=0)
        assert (directory / "commits" / "0").read_text() == 'v1\n{"nextBatchWatermarkMs":0}'
        assert sorted(path.name for path in directory.iterdir()) == ["commits", "metadata", "offsets", "sources"]
        assert len(json.loads((directory / "metadata").read_text())["id"]) == 36

    def test_every_directory_has_an_id_of_its_own(self, tmp_path: Path) -> None:
        ids = set()
        for name in ("a", "b"):
            scratch(tmp_path / name).prepare({}, now=0)
            ids.add((tmp_path / name / "metadata").read_text())
        assert len(ids) == 2

    def test_restored_positions_go_to_the_lines_of_their_sources(self, tmp_path: Path) -> None:
        positions = {
            "two streams": SourcePosition("two streams", ["offset-1", "offset-2"], []),
            "a source that is gone": SourcePosition("a source that is gone", ["x"], []),
        }
        scratch(tmp_path / "s").prepare(positions, now=0)
        assert (tmp_path / "s" / "offsets" / "0").read_text().split("\n")[2:5] == ["-", "offset-1", "offset-2"]

    def test_sources_may_be_reordered(self, tmp_path: Path) -> None:
        layout = (SourceLayout("b", 0, 1), SourceLayout("a", 1, 1))
        positions = {uid: SourcePosition(uid, [f"of {uid}"], [SourceLog(0, {"0": uid.encode()})]) for uid in "ab"}
        scratch(tmp_path / "s", layout).prepare(positions, now=0)
        assert (tmp_path / "s" / "offsets" / "0").read_text().split("\n")[2:4] == ["of b", "of a"]
        assert (tmp_path / "s" / "sources" / "0" / "0").read_bytes() == b"b"
        assert (tmp_path / "s" / "sources" / "1" / "0").read_bytes() == b"a"

    def test_logs_go_to_the_streams_they_are_of(self, tmp_path: Path) -> None:
        position = SourcePosition("two streams", ["x", "y"], [SourceLog(1, {"9.compact": b"v1\nfiles"})])
        scratch(tmp_path / "s").prepare({"two streams": position}, now=0)
        assert (tmp_path / "s" / "sources" / "2" / "9.compact").read_bytes() == b"v1\nfiles"

    def test_another_number_of_streams_inside_a_source_raises_naming_it_and_both_numbers(self, tmp_path: Path) -> None:
        position = SourcePosition("two streams", ["only one"], [])
        with pytest.raises(StateRestoreError, match=r"'two streams' reads 2 streams, .* it was 1"):
            scratch(tmp_path / "s").prepare({"two streams": position}, now=0)


class TestPositions:
    def test_each_source_has_its_own_lines(self, tmp_path: Path) -> None:
        write_batch(tmp_path, 7, '{"logOffset":3}', "a", "b")
        assert scratch(tmp_path).positions(7) == [
            SourcePosition("files", ['{"logOffset":3}'], []),
            SourcePosition("two streams", ["a", "b"], []),
        ]

    def test_a_source_that_has_read_nothing_yet_has_no_position(self, tmp_path: Path) -> None:
        write_batch(tmp_path, 1, "-", "-", "-")
        assert [position.offsets for position in scratch(tmp_path).positions(1)] == [[], []]

    @pytest.mark.parametrize("lines", [("-", "b"), ("a", "-")])
    def test_a_source_of_which_one_stream_has_read_nothing_yet_keeps_the_position_of_the_other(
        self, tmp_path: Path, lines: tuple[str, str]
    ) -> None:
        write_batch(tmp_path, 1, "-", *lines)
        (_, position) = scratch(tmp_path).positions(1)
        assert position.offsets == list(lines)
        again = scratch(tmp_path / "again")
        again.prepare({"two streams": position}, now=0)
        assert again.positions(0)[1] == position

    def test_logs_of_a_source_come_along_without_hidden_and_half_written_files(self, tmp_path: Path) -> None:
        write_batch(tmp_path, 2, "a", "b", "c")
        log = tmp_path / "sources" / "0"
        log.mkdir(parents=True)
        for name in ("0", "1", ".0.crc", ".1.crc", "2.8f2c.tmp", ".2.8f2c.tmp.crc"):
            (log / name).write_bytes(name.encode())
        (position, _) = scratch(tmp_path).positions(2)
        assert position.logs == [SourceLog(0, {"0": b"0", "1": b"1"})]

    def test_of_compacted_logs_the_newest_and_what_follows_is_enough(self, tmp_path: Path) -> None:
        write_batch(tmp_path, 2, "a", "b", "c")
        log = tmp_path / "sources" / "2"
        log.mkdir(parents=True)
        for name in ("7", "8", "9.compact", "10", "11", "18", "19.compact", "20", "100"):
            (log / name).write_bytes(name.encode())
        (_, position) = scratch(tmp_path).positions(2)
        assert position.logs == [SourceLog(1, {name: name.encode() for name in ("19.compact", "20", "100")})]

    def test_what_was_read_can_be_written_and_read_again(self, tmp_path: Path) -> None:
        write_batch(tmp_path / "old", 12, '{"logOffset":11}', "a", "b")
        log = tmp_path / "old" / "sources" / "0"
        log.mkdir(parents=True)
        for name in ("9.compact", "10", "11"):
            (log / name).write_bytes(b"v1\n" + name.encode())
        positions = scratch(tmp_path / "old").positions(12)
        new = scratch(tmp_path / "new")
        new.prepare({position.uid: position for position in positions}, now=0)
        assert new.positions(0) == positions

    @pytest.mark.parametrize(
        "text",
        ["v2\n{}\na\nb\nc\nd", f"v1\n{HEAD}\na\nb\nc", f"v1\n{HEAD}\na\nb\nc\nd\ne"],
        ids=["version", "few", "many"],
    )
    def test_an_offset_log_of_another_form_raises_naming_the_file_and_the_setting(
        self, tmp_path: Path, text: str
    ) -> None:
        (tmp_path / "offsets").mkdir()
        (tmp_path / "offsets" / "3").write_text(text)
        with pytest.raises(CheckpointCorruptError, match=r"offsets/3 .*offsetLog\.formatVersion"):
            scratch(tmp_path).positions(3)


class TestMoved:
    def test_the_sources_whose_offsets_have_changed_have_moved(self, tmp_path: Path) -> None:
        write_batch(tmp_path, 4, "a", "b", "c")
        write_batch(tmp_path, 5, "a", "b", "c")
        write_batch(tmp_path, 6, "A", "b", "c")
        write_batch(tmp_path, 7, "A", "b", "C")
        spark = scratch(tmp_path)
        assert [spark.moved(batch) for batch in (5, 6, 7)] == [set(), {"files"}, {"two streams"}]

    def test_the_first_batch_is_compared_with_the_positions_it_started_from(self, tmp_path: Path) -> None:
        spark = scratch(tmp_path / "s")
        spark.prepare({"files": SourcePosition("files", ["a"], [])}, now=0)
        write_batch(tmp_path / "s", 1, "a", "-", "first")
        assert spark.moved(1) == {"two streams"}

    def test_a_tick_alone_moves_nothing(self, tmp_path: Path) -> None:
        for batch in (1, 2):
            write_batch(tmp_path, batch, "a", "b", "c")
        assert scratch(tmp_path).moved(2) == set()
