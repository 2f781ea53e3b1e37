"""A program gets another FileSource above the one that it has, and each reads its own files once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Duration, Encoder, Types, WatermarkStrategy
from rekindle.datastream import DataStream, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from rekindle.runtime.master.client import LocalJobClient
from support.balances import environment, read_output
from support.processes import wait_until

pytestmark = pytest.mark.usefixtures("no_slots_left")


def lines(env: StreamExecutionEnvironment, directory: Path, uid: str) -> DataStream:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(directory))
    source = builder.monitor_continuously(Duration.of_millis(50)).build()
    return env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "lines").uid(uid)


def counted(line: str, seen: int | None) -> tuple[str, int]:
    number = (seen or 0) + 1
    return f"{line} {number}", number


def start(env: StreamExecutionEnvironment, stream: DataStream, output: Path) -> LocalJobClient:
    numbered = stream.key_by(lambda line: line, Types.STRING()).map_with_state(counted, Types.STRING(), Types.LONG())
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build()
    numbered.uid("numbered").sink_to(sink).uid("out")
    env.get_config().disable_auto_generated_uids()
    client = env.execute_async("lines")
    assert isinstance(client, LocalJobClient)
    return client


def test_a_source_above_another_does_not_take_its_position(spark: Any, tmp_path: Path) -> None:
    old, new, output = (tmp_path / name for name in ("old", "new", "out"))
    for directory, text in ((old, "apple\napple\nfig\n"), (new, "pear\n")):
        directory.mkdir()
        (directory / "1.txt").write_text(text)

    def written() -> list[str]:
        return sorted(read_output(str(output))) if output.exists() else []

    env = environment(spark, str(tmp_path / "checkpoints"))
    client = start(env, lines(env, old, "old"), output)
    wait_until(lambda: len(written()) == 3, "all lines are counted")
    savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()

    (old / "2.txt").write_text("apple\n")
    env = environment(spark, str(tmp_path / "more checkpoints"), execution_state__recovery_path=savepoint)
    added = lines(env, new, "new")
    client = start(env, added.union(lines(env, old, "old")), output)
    wait_until(lambda: {"apple 3", "pear 1"} <= set(written()), "what is new is counted")
    client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    assert written() == ["apple 1", "apple 2", "apple 3", "fig 1", "pear 1"]
