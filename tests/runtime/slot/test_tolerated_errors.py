"""Functions and sinks that raise in their snapshot: where failed checkpoints are tolerated, the job goes on.

Nothing is lost and nothing doubled by it: what was prepared for the checkpoint that failed is part of the next one.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration, Encoder, JobStatus, WatermarkStrategy
from rekindle.connectors.files.local_sink_files import LocalSinkFiles
from rekindle.datastream import ProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.base import Sink, SinkWriter, SinkWriterContext
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import CheckpointedFunction
from rekindle.datastream.state import ListStateDescriptor
from rekindle.exceptions import JobExecutionError, OutputLostError
from rekindle.runtime.master.job_master import JobMaster
from support.in_process_master import Cluster, cluster
from support.processes import wait_until
from support.seeds import seeds

__all__ = ["cluster"]

RECORDS = 400


class World:
    """What is outside of the job: it outlives all attempts.

    Attributes:
        visible: The records that each sink has committed.
        committed: The names of committables.
        fails: By who raises in a snapshot, for which of the calls.
        calls: How often each was called.
        error: What is raised.
    """

    def __init__(self) -> None:
        self.visible: dict[str, list[int]] = {"first": [], "second": []}
        self.committed: set[str] = set()
        self.fails: dict[str, set[int]] = {}
        self.calls: Counter[str] = Counter()
        self.error: type[Exception] = OSError

    def pass_or_raise(self, who: str) -> None:
        self.calls[who] += 1
        if self.calls[who] in self.fails.get(who, ()):
            raise self.error(f"{who} fails in call {self.calls[who]}")


WORLD = World()


@pytest.fixture(autouse=True)
def world() -> World:
    global WORLD
    WORLD = World()
    return WORLD


class Summing(ProcessFunction, CheckpointedFunction):
    """Keep in a list what has passed, and pass it on; raise in the middle of writing the list."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("passed"))
        self.passed = list(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.clear()
        WORLD.pass_or_raise("function")
        self.state.add_all(self.passed)

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.passed.append(value)
        yield value


class TwoPhase(Sink):
    """Commit numbers to the world; a writer has two buckets, and may fail between them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return TwoPhaseWriter(self.name)


class TwoPhaseWriter(SinkWriter):
    def __init__(self, name: str) -> None:
        self.name = name
        self.buckets: dict[int, list[int]] = {0: [], 1: []}
        self.prepared: list[bytes] = []

    def write(self, values: list[int], timestamps: list[int | None] | None) -> None:
        for value in values:
            self.buckets[value % 2].append(value)

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        for bucket in (0, 1):
            numbers = " ".join(map(str, self.buckets[bucket]))
            self.prepared.append(f"{uuid.uuid4()} {numbers}".encode())
            self.buckets[bucket] = []
            if bucket == 0:
                WORLD.pass_or_raise(self.name)
        prepared, self.prepared = self.prepared, []
        return prepared

    def commit(self, committables: list[bytes]) -> None:
        for committable in committables:
            name, *numbers = committable.decode().split()
            if name not in WORLD.committed:  # the same one may come again after a restart
                WORLD.committed.add(name)
                WORLD.visible[self.name] += map(int, numbers)

    def abort_leftovers(self) -> None:
        pass

    def close(self) -> None:
        pass


def program(tolerated: int | None, restarts: int = 0, epoch: int = 10) -> StreamExecutionEnvironment:
    """Make a job of two sinks; ``tolerated`` None: all failures are."""
    configuration = Configuration.from_dict(
        {
            "rekindle.epoch.max-records": str(epoch),
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": str(restarts),
            "restart-strategy.fixed-delay.delay": "0 s",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.enable_checkpointing(1)
    if tolerated is None:
        env.get_checkpoint_config().set_fail_on_checkpointing_errors(False)
    else:
        env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(tolerated)
    source = NumberSequenceSource(1, RECORDS)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    passed = numbers.process(Summing()).name("Summing")
    passed.sink_to(TwoPhase("first")).name("first sink")
    passed.sink_to(TwoPhase("second")).name("second sink")
    return env


def assert_exactly_once() -> None:
    for name in ("first", "second"):
        assert sorted(WORLD.visible[name]) == list(range(1, RECORDS + 1)), name


def ran(cluster: Cluster, env: StreamExecutionEnvironment) -> JobMaster:
    master = cluster.submit(env)
    master.result.exception(120)
    return master


@pytest.mark.parametrize("tolerated", [None, 3])
@pytest.mark.parametrize("who", ["function", "first", "second"])
def test_an_error_in_a_snapshot_declines_the_checkpoint_and_the_job_goes_on(
    cluster: Cluster, world: World, who: str, tolerated: int | None
) -> None:
    world.fails = {who: {2, 3, 5}}
    master = ran(cluster, program(tolerated))
    assert master.status is JobStatus.FINISHED, master.result.exception()
    assert len(cluster.attempts) == 1
    assert world.calls[who] > 5
    assert_exactly_once()


@pytest.mark.parametrize("seed", seeds(3))
def test_errors_anywhere_and_restarts_in_between_lose_and_double_nothing(
    cluster: Cluster, world: World, seed: int
) -> None:
    rng = random.Random(seed)
    world.fails = {who: set(rng.sample(range(1, 30), 8)) for who in ("function", "first", "second")}
    master = ran(cluster, program(2, restarts=100))
    assert master.status is JobStatus.FINISHED, master.result.exception()
    assert_exactly_once()


def test_more_in_a_row_than_are_tolerated_fail_the_job_and_say_why(cluster: Cluster, world: World) -> None:
    world.fails = {"second": {2, 3, 4}}
    master = ran(cluster, program(2))
    assert master.status is JobStatus.FAILED
    error = master.result.exception()
    assert isinstance(error, JobExecutionError)
    assert "OSError: second fails in call 4" in str(error)
    assert "'second sink'" in str(error)


@pytest.mark.parametrize("who", ["function", "first"])
def test_without_tolerance_the_attempt_fails(cluster: Cluster, world: World, who: str) -> None:
    world.fails = {who: {2}}
    master = ran(cluster, program(0, restarts=1))
    assert master.status is JobStatus.FINISHED, master.result.exception()
    assert len(cluster.attempts) == 2
    assert_exactly_once()


def test_what_a_sink_has_lost_comes_again_whatever_is_tolerated(cluster: Cluster, world: World) -> None:
    world.fails, world.error = {"first": {2}}, OutputLostError
    master = ran(cluster, program(None, restarts=1))
    assert master.status is JobStatus.FINISHED, master.result.exception()
    assert len(cluster.attempts) == 2
    assert_exactly_once()


def test_a_savepoint_fails_where_failed_checkpoints_are_tolerated_and_the_job_goes_on(
    cluster: Cluster, world: World, tmp_path: Path
) -> None:
    world.fails = {"second": {1}}
    env = program(None, epoch=1)
    env.get_checkpoint_config().set_checkpoint_interval(1_000_000)
    master = cluster.submit(env)
    wait_until(lambda: master.status is JobStatus.RUNNING, "it runs")
    with pytest.raises(Exception, match="second fails in call 1"):
        master.trigger_savepoint(str(tmp_path)).result(60)
    master.result.result(120)
    assert len(cluster.attempts) == 1
    assert_exactly_once()


class TestFileSink:
    def run(self, cluster: Cluster, output: Path, restarts: int) -> None:
        configuration = Configuration.from_dict(
            {
                "rekindle.epoch.max-records": "10",
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": str(restarts),
                "restart-strategy.fixed-delay.delay": "0 s",
            }
        )
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(1)
        env.enable_checkpointing(1)
        env.get_checkpoint_config().set_fail_on_checkpointing_errors(False)
        numbers = env.from_source(NumberSequenceSource(1, RECORDS), WatermarkStrategy.no_watermarks(), "numbers")
        numbers.sink_to(FileSink.for_row_format(str(output), Encoder.simple_string_encoder()).build())
        master = ran(cluster, env)
        assert master.status is JobStatus.FINISHED, master.result.exception()
        lines = [line for file in output.rglob("part-*") for line in file.read_text().split()]
        assert sorted(map(int, lines)) == list(range(1, RECORDS + 1))
        assert not [path for path in output.rglob(".*") if path.is_file()], "nothing hidden is left"

    @pytest.mark.parametrize("method", ["rename", "sync_directories"])
    def test_what_can_be_done_again_is(
        self, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
    ) -> None:
        real, calls = getattr(LocalSinkFiles, method), Counter[str]()

        def failing(self: Any, *arguments: Any) -> None:
            calls[method] += 1
            if calls[method] in (3, 4):
                raise OSError("not now")
            real(self, *arguments)

        monkeypatch.setattr(LocalSinkFiles, method, failing)
        self.run(cluster, tmp_path / "out", restarts=2)  # a commit that fails restarts the job, as ever
        assert calls[method] > 4

    def test_what_was_lost_in_buffers_comes_again(
        self, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from rekindle.connectors.files.sink_files import FileSinkError

        real, calls = LocalSinkFiles.seal, Counter[str]()

        def failing(self: Any, path: str, stream: Any) -> None:
            calls["seal"] += 1
            if calls["seal"] == 3:
                stream.close()
                raise FileSinkError("no space left")
            real(self, path, stream)

        monkeypatch.setattr(LocalSinkFiles, "seal", failing)
        self.run(cluster, tmp_path / "out", restarts=1)
        assert len(cluster.attempts) == 2
