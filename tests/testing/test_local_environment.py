"""Whole programs in the test's process: what users' own tests count on."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.common import (
    Duration,
    Encoder,
    JobStatus,
    RestartStrategies,
    Time,
    Types,
    WatermarkStrategy,
)
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    SourceFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.exceptions import (
    InvalidProgramError,
    JobCancelledError,
    JobExecutionError,
    NotSupportedError,
    UserCodeError,
)
from rekindle.testing import InProcessCluster, LocalEnvironment, local_environment
from support.balances import read_output
from support.processes import wait_until

TEXT = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]
LAST = 3_000
KEYS = 7


def collected(stream: DataStream) -> list[Any]:
    with stream.execute_and_collect() as records:
        return list(records)


def counts(words: DataStream) -> DataStream:
    return (
        words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


class Numbering(KeyedProcessFunction):
    """Number the records of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{ctx.get_current_key()},{count}"


class FailsOnce(MapFunction):
    """Raise in the first attempt, at a record that comes late."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        if value == LAST * 2 // 3 and self._attempt == 0:
            raise ValueError(f"{value} is odd")
        return value


def numbering(env: StreamExecutionEnvironment, output: Path, rate: int = 1 << 30) -> None:
    """Number the records of each key, and write that to files that checkpoints commit."""
    limit = RateLimiterStrategy.per_second(rate)
    source = DataGeneratorSource(lambda number: number + 1, LAST, Types.LONG(), limit)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    numbered = numbers.map(FailsOnce()).uid("fails").key_by(lambda n: n % KEYS).process(Numbering()).uid("numbering")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    numbered.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()).uid("sink")


def checkpointed(directory: Path, parallelism: int = 2, **settings: str) -> LocalEnvironment:
    """Make an environment that takes checkpoints all the time, and is restarted without limit."""
    options = {
        "execution.checkpointing.dir": str(directory / "checkpoints"),
        "execution.checkpointing.savepoint-dir": str(directory / "savepoints"),
        "rekindle.epoch.max-records": "50",
        **settings,
    }
    env = local_environment(parallelism, options)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(100, 0))
    return env


def assert_golden(output: Path) -> None:
    """Require that each record was numbered once."""
    expected = Counter(
        f"{key},{number}" for key in range(KEYS) for number in range(1, len(range(key or KEYS, LAST + 1, KEYS)) + 1)
    )
    assert Counter(read_output(str(output))) == expected


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_word_count(parallelism: int) -> None:
    results = collected(counts(local_environment(parallelism).from_collection(TEXT)))
    assert len(results) == len(TEXT), "each update comes"
    assert {word: max(n for w, n in results if w == word) for word, _ in results} == Counter(TEXT)


def test_a_small_job_takes_a_fraction_of_a_second() -> None:
    collected(local_environment().from_collection([1]))
    started = time.monotonic()
    for _ in range(10):
        collected(counts(local_environment(2).from_collection(TEXT)))
    assert time.monotonic() - started < 10, "some tens of milliseconds each, unless the machine is very busy"


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    env = local_environment()
    env.from_collection([1, 2]).map(lambda n: n * 10).print()
    assert env.execute("printing").get_net_runtime() >= 0
    assert capsys.readouterr().out == "10\n20\n"


def test_a_batch() -> None:
    env = local_environment(2).set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert sorted(collected(counts(env.from_collection(TEXT)))) == sorted(Counter(TEXT).items())


def test_lines_of_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "below" / "b.txt").write_text("three")
    (tmp_path / "_SUCCESS").write_text("hidden")
    (tmp_path / "empty.txt").write_text("")
    env = local_environment(2)
    assert sorted(collected(env.read_text_file(f"file://{tmp_path}"))) == ["one", "three", "two"]
    (tmp_path / "latin.txt").write_bytes("naïve".encode("latin-1"))
    assert collected(env.read_text_file(str(tmp_path / "latin*"), "latin-1")) == ["naïve"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidProgramError, match=r"there is no file or directory .*nowhere"):
        collected(local_environment().read_text_file(str(tmp_path / "nowhere")))


class SecondOf(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1] * 1_000


@pytest.mark.parametrize("parallelism", [1, 2])
def test_windows_of_event_time(parallelism: int) -> None:
    env = local_environment(parallelism)
    events = env.from_collection([("a", 1), ("b", 4), ("a", 11), ("a", 3), ("b", 29), ("a", 12)])
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    timed = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondOf()))
    windows = timed.key_by(lambda event: event[0]).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    sums = windows.reduce(lambda a, b: (a[0], a[1] + b[1]))
    assert sorted(collected(sums)) == [("a", 4), ("a", 23), ("b", 4), ("b", 29)]


class RingsLater(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 30)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield "rang"


class Ticking(SourceFunction):
    """Emit a number every few milliseconds, for ever."""

    def __init__(self) -> None:
        self.running = True

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        number = 0
        while self.running:
            with ctx.get_checkpoint_lock():
                ctx.collect(number)
            number += 1
            time.sleep(0.005)

    def cancel(self) -> None:
        self.running = False


def test_an_endless_source_and_timers_of_processing_time() -> None:
    threads = threading.active_count()
    env = local_environment()
    rings = env.add_source(Ticking()).key_by(lambda number: 0).process(RingsLater())
    with rings.execute_and_collect() as records:
        assert "rang" in (next(records) for _ in range(1_000))
    wait_until(lambda: threading.active_count() <= threads, "no thread is left")


class TestFailures:
    def test_a_job_goes_back_to_its_checkpoint_and_each_record_counts_once(self, tmp_path: Path) -> None:
        env = checkpointed(tmp_path)
        numbering(env, tmp_path / "out", rate=10_000)
        client = env.execute_async()
        client.get_job_execution_result().result(60)
        assert_golden(tmp_path / "out")
        overview = client._master.checkpoint_statistics()
        assert overview.latest_restored is not None, "there was a checkpoint to go back to"

    def test_without_a_restart_the_error_names_the_function_and_the_record(self) -> None:
        env = local_environment()
        env.from_collection([1, 0]).map(lambda n: 1 // n).name("divide").print()
        with pytest.raises(JobExecutionError) as raised:
            env.execute()
        assert isinstance(raised.value.__cause__, UserCodeError)
        assert "divide" in str(raised.value)
        assert "ZeroDivisionError" in str(raised.value)

    def test_a_function_that_leaves_by_sys_exit_fails_the_job_and_not_the_test(self) -> None:
        env = local_environment()
        env.from_collection([1]).map(lambda n: sys.exit(n)).print()
        with pytest.raises(JobExecutionError, match="SystemExit"):
            env.execute()

    @pytest.mark.parametrize("slot", [0, 1])
    def test_a_job_survives_the_death_of_a_slot(self, tmp_path: Path, slot: int) -> None:
        env = checkpointed(tmp_path)
        numbering(env, tmp_path / "out", rate=10_000)
        client = env.execute_async()
        wait_until(lambda: (tmp_path / "out").exists() and read_output(str(tmp_path / "out")), "output is committed")
        env.cluster.kill_slot(slot)
        client.get_job_execution_result().result(60)
        assert_golden(tmp_path / "out")
        assert any(f"slot {slot} was lost: it was killed" in each.text for each in client._master.exceptions())

    def test_without_a_restart_the_death_of_a_slot_is_the_end(self) -> None:
        env = local_environment(2)
        env.add_source(Ticking()).rebalance().map(lambda n: n).print()
        client = env.execute_async()
        wait_until(lambda: env.cluster.running_slots == [0, 1], "it runs")
        env.cluster.kill_slot(1)
        with pytest.raises(JobExecutionError, match="slot 1 was lost: it was killed"):
            client.get_job_execution_result().result(60)
        assert env.cluster.running_slots == []

    def test_only_a_slot_that_runs_can_be_killed(self) -> None:
        with pytest.raises(ValueError, match="there is no slot 0 to kill"):
            InProcessCluster().kill_slot(0)

    def test_a_job_is_cancelled_in_the_middle_of_a_function_that_waits(self) -> None:
        released = threading.Event()
        _WAITING["event"] = released
        env = local_environment()
        env.from_collection([1, 2]).map(wait_for_the_test).print()
        client = env.execute_async()
        wait_until(lambda: "waits" in _WAITING, "it waits")
        threading.Timer(0.2, released.set).start()
        client.cancel().result(60)
        with pytest.raises(JobCancelledError):
            client.get_job_execution_result().result(60)
        _WAITING.clear()


_WAITING: dict[str, Any] = {}  # functions of an importable module are not copied: they share this with the test


def wait_for_the_test(value: int) -> int:
    _WAITING["waits"] = True
    _WAITING["event"].wait(60)
    return value


class TestSavepoints:
    @pytest.mark.parametrize("parallelism", [1, 3])
    def test_a_job_goes_on_from_a_savepoint_with_another_parallelism(self, tmp_path: Path, parallelism: int) -> None:
        env = checkpointed(tmp_path)
        numbering(env, tmp_path / "out", rate=5_000)
        client = env.execute_async()
        wait_until(lambda: (tmp_path / "out").exists() and read_output(str(tmp_path / "out")), "output is committed")
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "own")).result(60)
        client.get_job_execution_result().result(60)
        assert client.get_job_status().result(60) is JobStatus.FINISHED
        before = len(read_output(str(tmp_path / "out")))
        assert 0 < before < LAST
        again = checkpointed(tmp_path, parallelism, **{"execution.state-recovery.path": savepoint})
        numbering(again, tmp_path / "out")
        again.execute()
        assert_golden(tmp_path / "out")

    def test_a_savepoint_in_passing_does_not_end_the_job(self, tmp_path: Path) -> None:
        env = checkpointed(tmp_path)
        numbering(env, tmp_path / "out", rate=5_000)
        client = env.execute_async()
        savepoint = client.trigger_savepoint().result(60)
        assert (Path(savepoint) / "_metadata").exists()
        client.get_job_execution_result().result(60)
        assert_golden(tmp_path / "out")

    def test_a_drained_job_fires_its_windows(self, tmp_path: Path) -> None:
        env = local_environment(configuration={"execution.checkpointing.savepoint-dir": str(tmp_path)})
        numbers = env.add_source(Ticking())
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
        timed = numbers.assign_timestamps_and_watermarks(strategy)
        windows = timed.key_by(lambda number: 0).window(TumblingEventTimeWindows.of(Time.days(1)))
        sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
        windows.reduce(lambda a, b: max(a, b)).sink_to(
            sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
        )
        client = env.execute_async()
        wait_until(lambda: client._master.history.progress().records_in > 5, "there are records")
        client.stop_with_savepoint(True, None).result(60)
        client.get_job_execution_result().result(60)
        [highest] = read_output(str(tmp_path / "out"))
        assert int(highest) >= 5


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class TestWhatNeedsSpark:
    def test_data_frames_are_refused_with_what_to_do(self) -> None:
        env = local_environment()
        frame: Any = SimpleNamespace(isStreaming=False)
        for source in (frame, lambda spark: spark.range(3)):
            with pytest.raises(NotSupportedError, match=r"from_data_frame .*'rows'.*from_collection"):
                env.from_data_frame(source, "rows")

    def test_so_is_a_session(self) -> None:
        with pytest.raises(NotSupportedError, match="spark_session needs Spark"):
            _ = local_environment().spark_session

    def test_so_is_a_directory_that_is_monitored(self, tmp_path: Path) -> None:
        from rekindle.datastream.connectors.file_system import FileSource, StreamFormat

        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        monitored = source.monitor_continuously(Duration.of_seconds(1)).build()
        env = local_environment()
        env.from_source(monitored, WatermarkStrategy.no_watermarks(), "files").uid("files").print()
        with pytest.raises(NotSupportedError, match=r"'files' is a directory that is monitored.*from_collection"):
            env.execute()

    def test_a_job_runs_without_sparks_package(self) -> None:
        program = (
            "import sys; sys.modules['pyspark'] = None\n"
            "from rekindle.testing import local_environment\n"
            "env = local_environment(2)\n"
            "env.from_collection([1, 2, 3]).key_by(lambda n: n % 2).reduce(lambda a, b: a + b).print()\n"
            "env.execute()\n"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, ran.stderr
        assert {line.partition("> ")[2] for line in ran.stdout.splitlines()} == {"1", "2", "4"}


def test_settings_are_those_of_the_configuration() -> None:
    env = local_environment(3, {"execution.checkpointing.interval": "5 s"})
    assert env.get_parallelism() == 3
    assert env.get_checkpoint_interval() == 5_000


def test_two_jobs_at_once_keep_to_themselves() -> None:
    env = local_environment(2)
    first = env.from_source(NumberSequenceSource(1, 100), WatermarkStrategy.no_watermarks(), "numbers")
    with first.execute_and_collect() as records:
        second = env.from_source(NumberSequenceSource(101, 200), WatermarkStrategy.no_watermarks(), "numbers")
        assert sorted(collected(second)) == list(range(101, 201))
        assert sorted(records) == list(range(1, 101))


@pytest.mark.parametrize("environment", [local_environment, StreamExecutionEnvironment])
def test_what_is_not_a_data_frame_is_refused_with_a_sentence(environment: Any) -> None:
    with pytest.raises(TypeError, match=r"from_data_frame \(source 'orders'\) takes .*, and was given a str"):
        environment().from_data_frame("abc", "orders")
