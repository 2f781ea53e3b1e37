"""The position of a query of Spark's, read from its checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rekindle.checkpoint.metadata import SourceLog, SourcePosition
from rekindle.exceptions import CheckpointCorruptError, ConfigurationError, StateNotFoundError
from rekindle.state_processor.spark_checkpoint import source_position


def checkpoint(root: Path, offsets: Sequence[str], committed: Sequence[int], version: str = "v1") -> str:
    """Write the checkpoint of a query; the batch behind the last committed one has begun."""
    for name in ("offsets", "commits"):
        (root / name).mkdir(parents=True)
    for batch in committed:
        (root / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        lines = [f"{offset}{batch}" if offset != "-" else offset for offset in offsets]
        (root / "offsets" / str(batch)).write_text("\n".join([version, "{}", *lines]))
    (root / "offsets" / str(max(committed, default=-1) + 1)).write_text("v1\n{}\nnot committed")
    (root / "commits" / ".9.crc").write_text("")
    return str(root)


def log(root: Path, source: int, *names: str) -> dict[str, bytes]:
    directory = root / "sources" / str(source)
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_bytes(name.encode())
    return {name: name.encode() for name in names}


def test_sources_stand_where_the_last_committed_batch_has_ended(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, ["a", "b"], [8, 9, 10])
    assert source_position("rows", path) == SourcePosition("rows", ["a10", "b10"], [])


def test_one_of_several_sources_comes_with_its_own_files(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, ["a", "b", "c"], [0])
    log(tmp_path, 0, "0")
    files = log(tmp_path, 2, "0", "9.compact")
    log(tmp_path, 1, ".0.crc", "1.tmp")
    assert source_position("rows", path, [2]) == SourcePosition("rows", ["c0"], [SourceLog(0, files)])
    assert source_position("rows", path, [1, 2]) == SourcePosition("rows", ["b0", "c0"], [SourceLog(1, files)])


def test_a_source_that_has_given_nothing_begins_at_its_beginning(tmp_path: Path) -> None:
    path = checkpoint(tmp_path, ["-", "b"], [3])
    assert source_position("rows", path, [0]) == SourcePosition("rows", [], [])


def test_what_is_no_checkpoint_of_a_query_is_said(tmp_path: Path) -> None:
    with pytest.raises(StateNotFoundError, match=r"has committed a batch.*nothing in .*commits"):
        source_position("rows", checkpoint(tmp_path, ["a"], []))


@pytest.mark.parametrize("sources", [[1], [-1], []])
def test_a_source_that_is_not_there_is_refused(tmp_path: Path, sources: list[int]) -> None:
    with pytest.raises(ConfigurationError, match="has 1 sources"):
        source_position("rows", checkpoint(tmp_path, ["a"], [0]), sources)


def test_another_format_of_offsets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointCorruptError, match=r"'v2', and v1 was expected.*offsetLog\.formatVersion"):
        source_position("rows", checkpoint(tmp_path, ["a"], [0], "v2"))
