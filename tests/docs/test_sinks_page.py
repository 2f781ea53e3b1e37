"""What the page about sinks shows is true, and its sink is that of the example."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from rekindle.base.clock import SystemClock
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.base import SinkWriter, SinkWriterContext

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sinks.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def names_of(part: str) -> dict[str, Any]:
    (block,) = [block for block in BLOCKS if part in block]
    names: dict[str, Any] = {}
    exec(compile(block, "sinks.md", "exec"), names)
    return names


def written(sink: Any, directory: Path, records: list[Any]) -> dict[str, str]:
    """Let a sink of the page write below another directory; give the files by their directory."""
    settings = replace(sink._settings, base_path=str(directory))
    writer = type(sink)(settings).create_writer(SinkWriterContext(0, 1, 0, "job-sink", SystemClock()))
    writer.write(records, None)
    writer.commit(writer.prepare_commit(1))
    writer.close()
    parts = (path for path in directory.rglob("part-*"))
    return {str(path.parent.relative_to(directory)): path.read_text() for path in parts}


def test_records_with_fields_are_written_as_the_page_says(tmp_path: Path, monkeypatch: Any) -> None:
    sinks: list[Any] = []
    monkeypatch.setattr(DataStream, "sink_to", lambda stream, sink: sinks.append(sink))
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", lambda env, name: None)
    names_of("visits.sink_to")
    line = '{"user":"ann","pages":3}'
    assert f"`{line}`" in PAGE
    assert written(sinks[0], tmp_path, [{"user": "ann", "pages": 3}]) == {".": f"{line}\n"}


def test_directories_are_named_as_the_page_says(tmp_path: Path) -> None:
    names = names_of("class ByUser")
    assert list(written(names["by_user"], tmp_path, [{"user": "ann"}])) == ["user=ann"]
    assert names["by_day"].get_bucket_id(None, 86_400_000 * 365).startswith("day=19")


def test_the_sink_of_the_page_is_that_of_the_example() -> None:
    (block,) = [block for block in BLOCKS if "class DatabaseSink" in block]
    classes = block[block.index("class DatabaseSink") :].strip()
    assert classes in (ROOT / "examples" / "exactly_once_sink.py").read_text()


def test_every_method_of_a_writer_is_on_the_page() -> None:
    for name in SinkWriter.__dict__:
        if not name.startswith("_"):
            assert f"| `{name}(" in PAGE


def test_a_committable_that_is_committed_again_changes_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "squares.db")
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE squares (number INTEGER, square INTEGER)")
    database.execute("CREATE TABLE commits (name TEXT PRIMARY KEY)")
    sink = names_of("class DatabaseSink")["DatabaseSink"](path)
    writer = sink.create_writer(None)
    writer.write([(2, 4), (3, 9)], None)
    committables = writer.prepare_commit(1)
    assert database.execute("SELECT * FROM squares").fetchall() == []
    writer.close()
    for _ in range(2):
        again = sink.create_writer(None)
        again.commit(committables)
        again.abort_leftovers()
        assert again.prepare_commit(2) == []
        again.close()
    assert database.execute("SELECT * FROM squares").fetchall() == [(2, 4), (3, 9)]
    database.close()
