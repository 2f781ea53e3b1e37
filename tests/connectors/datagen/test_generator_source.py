"""Records made out of numbers: all of them once, and not faster than allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import Types, WatermarkStrategy
from rekindle.connectors.datagen.rate_limiter import PerSecond
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, GeneratorFunction, RateLimiterStrategy
from rekindle.exceptions import InvalidProgramError
from rekindle.testing import ManualClock, OperatorHarness
from support.in_process_job import InProcessJob, collect


def program(source: DataGeneratorSource) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "made up").uid("source"))
    return env


def squares(count: int, **settings: Any) -> DataGeneratorSource:
    return DataGeneratorSource(lambda number: number * number, count, **settings)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_each_number_becomes_a_record(parallelism: int) -> None:
    with InProcessJob(program(squares(100)), parallelism) as job:
        assert sorted(job.run_to_end(7)) == [n * n for n in range(100)]


@pytest.mark.parametrize("after", [1, 2, 3])
def test_it_goes_on_where_a_checkpoint_left_it(tmp_path: Path, after: int) -> None:
    files = checkpoint_files(f"file://{tmp_path}")
    with InProcessJob(program(squares(100)), 2, files=files) as job:
        job.run_epoch(11)
        kept = list(job.collected)
        restore = job.checkpoint()
        job.run_epoch(11)  # lost
    with InProcessJob(program(squares(100)), after, files=files, restore=restore, attempt=1) as job:
        assert sorted(kept + job.run_to_end(13)) == [n * n for n in range(100)]


def test_a_generator_function_is_opened_and_closed() -> None:
    class Named(GeneratorFunction):
        closed = False

        def open(self, runtime_context: Any) -> None:
            self._name = runtime_context.get_task_name()

        def map(self, value: int) -> Any:
            return self._name, value

        def close(self) -> None:
            Named.closed = True

    function = Named()
    harness = OperatorHarness(DataGeneratorSource(function, 2).create_operator(), name="made up")
    assert harness.operator.poll(10).values == [("made up", 0), ("made up", 1)]  # type: ignore[attr-defined]
    harness.close()
    assert Named.closed


def test_a_record_that_the_function_uses_again_stays_as_it_was() -> None:
    row: list[int] = []

    def grow(number: int) -> list[int]:
        row.append(number)
        return row

    harness = OperatorHarness(DataGeneratorSource(grow, 3).create_operator())
    assert harness.operator.poll(10).values == [[0], [0, 1], [0, 1, 2]]  # type: ignore[attr-defined]


def test_its_type_is_that_of_the_stream_unless_the_program_gives_another() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source, none = squares(3, type_info=Types.LONG()), WatermarkStrategy.no_watermarks()
    assert env.from_source(source, none, "long").get_type() == Types.LONG()
    assert env.from_source(source, none, "float", Types.FLOAT()).get_type() == Types.FLOAT()
    with pytest.raises(TypeError, match="GeneratorFunction or a callable"):
        DataGeneratorSource(7, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 record"):
        squares(0)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_rate_is_kept_and_time_that_passes_is_waited_for(parallelism: int) -> None:
    clock = ManualClock(5_000)
    source = squares(10_000, rate_limiter_strategy=RateLimiterStrategy.per_second(100))
    with InProcessJob(program(source), parallelism, clock=clock) as job:
        job.run_epoch()
        reports = job.run_epoch()
        assert not any(report.more for report in reports), "no epoch may follow at once"
        assert len(job.collected) == parallelism
        for _ in range(50):
            timers = [report.next_timer for report in reports if report.next_timer is not None]
            assert all(timer >= clock.now() + 100 for timer in timers)
            clock.set(min(timers))
            reports = job.run_epoch()
        assert len(job.collected) == parallelism + 50 * 100 // 10
        job.run_epoch()
        assert len(job.collected) == parallelism + 50 * 100 // 10, "no time has passed"


def test_a_slow_rate_waits_as_long_as_it_takes() -> None:
    limiter = PerSecond(0.1)
    assert limiter.next_at() is None
    assert limiter.allowed(1_000) == 1
    limiter.emitted(1)
    assert limiter.next_at() == 11_000
    assert limiter.allowed(10_999) == 0
    assert limiter.allowed(11_000) == 1


def test_what_was_missed_is_made_up_for_up_to_a_second() -> None:
    limiter = PerSecond(1_000)
    limiter.emitted(limiter.allowed(0))
    assert limiter.allowed(400) == 400
    assert limiter.allowed(60_000) == 1_000
    assert limiter.allowed(0) == 1_000, "a clock that is set back takes nothing away"
    limiter.emitted(1_000)
    assert limiter.allowed(10) == 10


def test_a_budget_that_is_smaller_than_the_rate_asks_for_the_next_epoch() -> None:
    clock = ManualClock()
    source = squares(10_000, rate_limiter_strategy=RateLimiterStrategy.per_second(1_000))
    with InProcessJob(program(source), clock=clock) as job:
        job.run_epoch()
        clock.set(1_000)
        (report,) = job.run_epoch(300)
        assert report.more
        assert len(job.collected) == 301


@pytest.mark.parametrize("each", [10, 1_000])
def test_so_many_records_come_per_checkpoint(tmp_path: Path, each: int) -> None:
    source = squares(5 * each // 2, rate_limiter_strategy=RateLimiterStrategy.per_checkpoint(each))
    with InProcessJob(program(source), files=checkpoint_files(f"file://{tmp_path}")) as job:
        seen = []
        for _ in range(3):
            job.run_epoch()
            reports = job.run_epoch()
            seen.append(len(job.collected))
            assert not any(report.more for report in reports)
            job.checkpoint()
        assert seen == [each, 2 * each, 5 * each // 2]
        assert all(report.finished for report in job.run_epoch())


def test_rates_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        RateLimiterStrategy.per_second(0)
    with pytest.raises(ValueError, match="at least 1"):
        RateLimiterStrategy.per_checkpoint(0)
    with pytest.raises(InvalidProgramError, match="too few for 2 subtasks"):
        RateLimiterStrategy.per_checkpoint(1).create_rate_limiter(2)
    assert RateLimiterStrategy.no_op().create_rate_limiter(2) is None
