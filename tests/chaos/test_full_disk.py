"""A disk for checkpoints that is really full, for a while or for good: nothing is lost or left half-written."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rekindle.common import Encoder, RestartStrategies, Types, WatermarkStrategy
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.exceptions import JobExecutionError
from rekindle.testing import local_environment
from support.processes import wait_until

RECORDS = 3_000
KEYS = 3
TEXT = "x" * 200  # so state grows to 600 KB
ROOM = 256 << 10
SIZES = ("a small disk", "small files")


@pytest.fixture(params=SIZES)
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give a directory with little room, and what makes more of it."""
    directory = tmp_path / "disk"
    directory.mkdir()
    if request.param == "a small disk" and _mount(directory, ROOM):
        yield directory, lambda: _run("mount", "-o", "remount,size=100m", str(directory))
        _run("umount", str(directory))
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    try:
        yield directory, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _mount(directory: Path, size: int) -> bool:
    return os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory))


def _run(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def program(directory: Path, output: Path, tolerated: int, **settings: str) -> StreamExecutionEnvironment:
    env = local_environment(
        2,
        {
            "execution.checkpointing.interval": "40 ms",
            "execution.checkpointing.dir": f"file://{directory}/checkpoints",
            "execution.checkpointing.tolerable-failed-checkpoints": str(tolerated),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
            **settings,
        },
    )
    env.set_restart_strategy(RestartStrategies.no_restart())
    rate = RateLimiterStrategy.per_second(4_000)
    source = DataGeneratorSource(lambda number: number, RECORDS, Types.LONG(), rate)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    grown = numbers.map(lambda n: (n % KEYS, 1, TEXT)).key_by(lambda each: each[0])
    counted = grown.reduce(lambda a, b: (a[0], a[1] + b[1], a[2] + b[2])).uid("grown")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    counted.map(lambda each: f"{each[0]} {each[1]}").sink_to(sink.build()).uid("sink")
    return env


def assert_counted_once(output: Path) -> None:
    lines = [line for path in output.glob("[!.]*") for line in path.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{key} {number}" for key in range(KEYS) for number in range(1, RECORDS // KEYS + 1))


def test_a_job_that_tolerates_it_goes_on_and_ends_well_when_there_is_room_again(
    disk: tuple[Path, Callable[[], None]], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory, make_room = disk
    env = program(directory, tmp_path / "out", tolerated=1_000)
    job = threading.Thread(target=env.execute)
    job.start()
    try:
        wait_until(lambda: caplog.text.count("Free some space there") >= 2, "checkpoints fail")
    finally:
        make_room()
        job.join()
    assert_counted_once(tmp_path / "out")
    assert not list((directory / "checkpoints").glob("*/chk-*")), "the job has finished: what failed was deleted, too"


def test_a_job_that_fails_by_it_goes_on_from_its_last_checkpoint(
    disk: tuple[Path, Callable[[], None]], tmp_path: Path
) -> None:
    directory, make_room = disk
    reason = (
        r"(cannot write .*/chk-\d+/.*: No space left on device|"
        r"cannot write to a temporary file in /.*: File too large)\. Free some space there"
    )
    with pytest.raises(JobExecutionError, match=reason):
        program(directory, tmp_path / "out", tolerated=0).execute()
    (last,) = (directory / "checkpoints").glob("*/chk-*")
    assert (last / "_metadata").exists(), "what failed is gone, and the one before it whole"
    make_room()
    program(directory, tmp_path / "out", 0, **{"execution.state-recovery.path": str(last)}).execute()
    assert_counted_once(tmp_path / "out")
