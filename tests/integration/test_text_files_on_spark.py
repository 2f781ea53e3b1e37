"""Text files that Spark reads for a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Duration, WatermarkStrategy
from rekindle.datastream.connectors.file_system import FileSource, StreamFormat
from support.balances import environment

pytestmark = pytest.mark.usefixtures("no_slots_left")


def test_files_are_read_line_by_line_in_their_encoding(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "a.txt").write_bytes("eins\nzwölf\r\n\n".encode())
    (tmp_path / "deep" / "er" / "b.txt").write_bytes("drei\nfünf".encode())
    (tmp_path / "latin").write_bytes("süß\nsauer\n".encode("latin-1"))
    env = environment(spark, None)
    below = env.read_text_file(str(tmp_path / "deep"))
    latin = FileSource.for_record_stream_format(StreamFormat.text_line_format("latin-1"), str(tmp_path / "latin"))
    other = env.from_source(latin.build(), WatermarkStrategy.no_watermarks(), "latin")
    lines = below.union(other).key_by(lambda line: line[:1]).map(lambda line: line + "!")
    found = list(lines.execute_and_collect())
    assert sorted(found) == sorted(line + "!" for line in ["eins", "zwölf", "", "drei", "fünf", "süß", "sauer"])


def test_files_that_are_added_to_monitored_directories_are_read(spark: Any, tmp_path: Path) -> None:
    directories = [tmp_path / "one", tmp_path / "two"]
    for directory in directories:
        directory.mkdir()
    (directories[0] / "first").write_text("a\nb\n")
    env = environment(spark, None)
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, *map(str, directories))
    source = source.monitor_continuously(Duration.of_seconds(1))
    stream = env.from_source(source.build(), WatermarkStrategy.for_monotonous_timestamps(), "lines")
    seen = []
    with stream.execute_and_collect() as found:
        for line in found:
            seen.append(line)
            if sorted(seen) == ["a", "b"]:
                (tmp_path / "next").write_text("c\n")
                (tmp_path / "next").rename(directories[1] / "next")
            if len(seen) == 3:
                break
    assert sorted(seen) == ["a", "b", "c"]
