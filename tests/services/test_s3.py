"""A file sink and checkpoints in a store with S3's interface: each record once, wherever the job is killed."""

from __future__ import annotations

import io
import os
import random
import signal
import time
from itertools import accumulate, count
from typing import Any

import pytest
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, FileType

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import RestartStrategies, Types, WatermarkStrategy
from rekindle.connectors.files.sink_base_path import sink_files
from rekindle.connectors.files.sink_files import FileSinkError
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import FileCompactor, FileCompactStrategy, FileSink
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.exceptions import ConfigurationError
from rekindle.testing import local_environment
from support.broken_sink_files import SinkJob, kill_everywhere
from support.processes import wait_until
from support.seeds import SEED
from support.slot_processes import slot_processes

CHUNKS = [[str(10 * number + place) for place in range(3)] for number in range(1, 5)]
EVERY_TWO = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2).build()


def objects(uri: str) -> list[str]:
    """Return the names of all objects below a URI."""
    filesystem, path = FileSystem.from_uri(uri)
    found = filesystem.get_file_info(FileSelector(path, allow_not_found=True, recursive=True))
    return [info.path.removeprefix(f"{path}/") for info in found if info.type == FileType.File]


def visible(uri: str) -> list[str]:
    """Return the names that a reader of files sees: those that begin with a dot are hidden."""
    return [name for name in objects(uri) if not name.rpartition("/")[2].startswith(".")]


def contents(uri: str) -> list[bytes]:
    """Return what is in the objects that a reader of files sees."""
    filesystem, path = FileSystem.from_uri(uri)
    return [filesystem.open_input_file(f"{path}/{name}").read() for name in visible(uri)]


@pytest.mark.parametrize("compacting", [False, True])
def test_each_record_is_there_once_wherever_the_job_is_killed(s3: str, compacting: bool) -> None:
    numbers = count()

    def job() -> SinkJob:
        uri = f"{s3}/{next(numbers)}"
        builder = FileSink.for_row_format(uri)
        if compacting:
            builder.enable_compact(EVERY_TWO, FileCompactor.concat_file_compactor())
        return SinkJob(builder.build()._settings, lambda: sink_files(uri), CHUNKS)

    def check(job: SinkJob) -> None:
        found = [line for data in contents(job.settings.base_path) for line in data.decode().split()]
        assert sorted(found) == [line for chunk in CHUNKS for line in chunk]
        assert [name for name in objects(job.settings.base_path) if name.endswith(".pending")] == []

    assert kill_everywhere(job, check) > (80 if compacting else 60)


def test_nothing_is_there_before_a_file_is_pending_and_a_rename_is_seen_at_once(s3: str) -> None:
    files = sink_files(f"{s3}/out")
    files.create_base()
    assert files.whole_at_once
    stream = files.create("bucket/.hidden")
    files.append("bucket/.hidden", stream, bytes(12 << 20))  # more than one part of an upload
    assert files.size("bucket/.hidden") is None
    assert files.walk() == []
    files.seal("bucket/.hidden", stream)
    files.rename("bucket/.hidden", "bucket/part")
    assert files.walk() == ["bucket/part"]
    assert files.size("bucket/part") == 12 << 20
    with files.open("bucket/part") as opened:
        opened.seek(5)
        assert opened.read() == bytes((12 << 20) - 5)
    files.remove("bucket/part")
    files.remove("bucket/part")
    assert files.walk() == []
    with pytest.raises(FileSinkError, match=rf"cannot read {s3}/out/none: "):
        files.open("none").read()


def test_the_endpoint_may_be_part_of_the_base_path(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    uri = f"{s3}/out?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    job = SinkJob(FileSink.for_row_format(uri).build()._settings, lambda: sink_files(uri), CHUNKS)
    assert job.run()
    files = sink_files(uri)
    assert len(files.walk()) == len(CHUNKS)
    assert files.describe("part") == f"{s3}/out/part"


def test_credentials_in_a_uri_are_refused_and_not_shown() -> None:
    uri = "s3://key:secret-word@bucket/out"
    for call in (FileSink.for_row_format, checkpoint_files):
        with pytest.raises(ConfigurationError, match=r"s3://…@bucket/out has credentials in it") as raised:
            call(uri)
        assert "secret-word" not in str(raised.value)


def job(env: StreamExecutionEnvironment, out: str, records: int) -> None:
    """Sum numbers by their last digit, and write every sum."""
    source = DataGeneratorSource(lambda n: n, records, Types.LONG(), RateLimiterStrategy.per_checkpoint(200))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    sums = numbers.map(lambda n: (n % 10, n, n)).key_by(lambda t: t[0])
    rows = sums.reduce(lambda a, b: (a[0], b[1], a[2] + b[1]))
    sink = FileSink.for_bulk_format(out, parquet_writer("digit int, n long, total long"))
    rows.sink_to(sink.enable_compact(EVERY_TWO, FileCompactor.record_wise_file_compactor()).build())


def assert_golden(out: str, records: int) -> None:
    """Each number is there once, and each total is that of the numbers before it, in whatever order they came."""
    tables = [parquet.read_table(io.BytesIO(data)) for data in contents(out)]
    rows = [tuple(row.values()) for table in tables for row in table.to_pylist()]
    assert sorted(n for _, n, _ in rows) == list(range(records))
    for digit in range(10):
        own = sorted(((n, total) for place, n, total in rows if place == digit), key=lambda pair: (pair[1], -pair[0]))
        assert [total for _, total in own] == list(accumulate(n for n, _ in own))


def settings(s3: str) -> dict[str, str]:
    return {
        "execution.checkpointing.dir": f"{s3}/checkpoints",
        "execution.checkpointing.interval": "100 ms",
        "rekindle.progress": "none",
    }


def test_checkpoints_and_output_are_there_once_though_slots_die(s3: str) -> None:
    env = local_environment(2, settings(s3))
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10, 0))
    job(env, f"{s3}/out", 6_000)
    client = env.execute_async()
    rng = random.Random(SEED)
    for number in range(2):
        seen = len(visible(f"{s3}/out"))
        wait_until(lambda seen=seen: len(visible(f"{s3}/out")) > seen, f"output {number} is visible")
        env.cluster.kill_slot(rng.randrange(2))
    client.get_job_execution_result().result()
    assert_golden(f"{s3}/out", 6_000)
    assert [name for name in objects(f"{s3}/out") if name.endswith(".pending")] == []
    assert (
        any(name.endswith("_metadata") for name in objects(f"{s3}/checkpoints")) is False
    )  # a finished job keeps none


def test_real_slot_processes_that_are_killed_write_each_record_once(s3: str) -> None:
    with slot_processes() as cluster:
        env = local_environment(2, settings(s3), cluster=cluster)
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(10, 0))
        job(env, f"{s3}/out", 9_000)
        master = cluster.submit(env)
        rng = random.Random(SEED)
        for number in range(2):
            seen = len(visible(f"{s3}/out"))
            wait_until(lambda seen=seen: len(visible(f"{s3}/out")) > seen, f"output {number} is visible")
            time.sleep(rng.random() / 5)  # anywhere between two checkpoints
            os.kill(master.slot_pids()[rng.randrange(2)], signal.SIGKILL)
        master.result.result(90)
    assert_golden(f"{s3}/out", 9_000)


def test_a_job_goes_on_from_a_savepoint_in_the_store(s3: str) -> None:
    env = local_environment(2, settings(s3))
    job(env, f"{s3}/out", 4_000)
    client = env.execute_async()
    wait_until(lambda: visible(f"{s3}/out"), "output is visible")
    savepoint = client.stop_with_savepoint(False, f"{s3}/savepoints").result()
    assert savepoint.startswith(f"{s3}/savepoints/savepoint-")
    again: Any = local_environment(3, {**settings(s3), "execution.state-recovery.path": savepoint})
    job(again, f"{s3}/out", 4_000)
    again.execute()
    assert_golden(f"{s3}/out", 4_000)
