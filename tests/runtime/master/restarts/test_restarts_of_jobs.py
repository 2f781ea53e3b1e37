"""Restart strategies at work: whole jobs that fail a number of times, and what each strategy makes of it.

The job master is the product's own. An attempt runs its slots in this process, and time passes only as told: while an
attempt runs, and while the job master waits.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest

from rekindle.checkpoint.coordinator import CheckpointCoordinator
from rekindle.checkpoint.events import CheckpointFailureReason
from rekindle.common import Configuration, JobID, JobStatus, RestartStrategies
from rekindle.common.restart_strategy import RestartStrategyConfiguration
from rekindle.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from rekindle.exceptions import JobExecutionError
from rekindle.runtime.master import job_master
from rekindle.runtime.master.attempts.attempt_events import Outcome
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.restarts.failures import slot_error
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS
from rekindle.runtime.master.views.progress import ProgressView
from rekindle.runtime.slot.failure import OperatorError, describe_failure
from rekindle.testing import InProcessCluster, ManualClock
from support.in_process_job import InProcessJob, collect
from support.slot_snapshots import snapshot, stored

RUNS_MS = 300
STRATEGY = "restart-strategy.type"


class FailsAtFirst(MapFunction):
    """Raise in the first attempts: always at the first record, or in turn at the first and the second."""

    def __init__(self, failures: int, alike: bool = False) -> None:
        self._failures = failures
        self._alike = alike

    def open(self, runtime_context: RuntimeContext) -> None:
        self._attempt = runtime_context.get_attempt_number()

    def map(self, value: int) -> int:
        at = 1 if self._alike else 1 + self._attempt % 2
        if self._attempt < self._failures and value == at:
            raise RuntimeError("always the same" if self._alike else f"attempt {self._attempt}")
        return value * 2


@dataclass
class Ran:
    status: JobStatus
    delays: list[int]
    attempts: int
    collected: list[int]
    error: BaseException | None
    told: list[str] = field(default_factory=list)


class Waiting(threading.Event):
    """Let time pass where the job master waits."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self.delays: list[int] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.delays.append(round(timeout * 1000))
        self._clock.advance(self.delays[-1])
        return False


def complete_checkpoint(coordinator: CheckpointCoordinator, now: int) -> None:
    """Let a checkpoint of the one slot be complete."""
    number = coordinator.next_checkpoint_id
    coordinator.trigger(now, 1)
    coordinator.acknowledge(now, coordinator._attempt, number, 0, snapshot())
    coordinator.metadata_written(now, number, stored(number))


def run(
    failures: int,
    program: RestartStrategyConfiguration | None = None,
    configuration: dict[str, str] | None = None,
    checkpointing: bool = True,
    runs_ms: int = RUNS_MS,
    alike: bool = False,
    checkpoints: Collection[int] = (),
) -> Ran:
    """Run a job that fails so many times, each time after it has run for a while.

    Args:
        failures: How many times.
        program: The restart strategy that the program sets.
        configuration: What the configuration says.
        checkpointing: Whether checkpoints are on.
        runs_ms: For how long it has run.
        alike: Whether it always fails in the same way.
        checkpoints: The attempts in which a checkpoint is complete before they fail.
    """
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(configuration or {}))
    env.set_parallelism(1)
    if checkpointing:
        env.enable_checkpointing(1_000)
    if program is not None:
        env.set_restart_strategy(program)
    collect(env.from_collection([1, 2, 3]).map(FailsAtFirst(failures, alike)))
    clock, collected, attempts = ManualClock(), [], []

    class InProcessAttempt:
        damage = None
        last_readings = NO_READINGS

        def __init__(self, shared: Any, number: int, coordinator: Any, *_: Any) -> None:
            self._graph, self._number, self._coordinator = shared.graph, number, coordinator

        def run(self) -> Outcome:
            attempts.append(self._number)
            clock.advance(runs_ms)
            if self._number in checkpoints:
                complete_checkpoint(self._coordinator, clock.now())
            with InProcessJob(self._graph, attempt=self._number) as job:
                try:
                    collected.extend(job.run_to_end())
                except OperatorError as error:
                    raise slot_error(describe_failure(error, 0)) from None
            return Outcome.FINISHED

        def stop(self, *_: Any) -> None:
            self._coordinator.abort_all(clock.now(), CheckpointFailureReason.JOB_FAILED)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_master, "Attempt", InProcessAttempt)
        patch.setattr("random.random", lambda: 0.5)  # no jitter
        settings = settle(JobID().to_hex_string(), "job", env._configuration, env._checkpoint_config, env._config)
        master = JobMaster(InProcessCluster(), env._compile(), settings, clock, ProgressView("job"))
        waiting = master._cancelled = Waiting(clock)
        master.start()
        error = master.result.exception(60)
    told = [failure.text for failure in reversed(master.exceptions())]
    return Ran(master.status, waiting.delays, len(attempts), collected, error, told)


def assert_finished(ran: Ran, delays: list[int]) -> None:
    assert (ran.status, ran.delays, ran.attempts) == (JobStatus.FINISHED, delays, len(delays) + 1), ran.error
    assert ran.collected == [2, 4, 6]


def assert_failed(ran: Ran, delays: list[int], why: str) -> None:
    assert (ran.status, ran.delays, ran.attempts) == (JobStatus.FAILED, delays, len(delays) + 1), ran.error
    assert isinstance(ran.error, JobExecutionError)
    assert why in str(ran.error)
    assert f"attempt {ran.attempts - 1}" in str(ran.error), "the last failure is told, not the first"


def fixed(attempts: int, delay: str) -> dict[str, str]:
    prefix = "restart-strategy.fixed-delay"
    return {STRATEGY: "fixed-delay", f"{prefix}.attempts": str(attempts), f"{prefix}.delay": delay}


def rate(failures: int, interval: str, delay: str) -> dict[str, str]:
    prefix = "restart-strategy.failure-rate"
    return {
        STRATEGY: "failure-rate",
        f"{prefix}.max-failures-per-interval": str(failures),
        f"{prefix}.failure-rate-interval": interval,
        f"{prefix}.delay": delay,
    }


def exponential(**changes: str) -> dict[str, str]:
    settings = {"initial_backoff": "100 ms", "max_backoff": "500 ms", "backoff_multiplier": "2", "jitter_factor": "0"}
    settings |= {"reset_backoff_threshold": "1 s"} | changes
    prefix = "restart-strategy.exponential-delay"
    return {STRATEGY: "exponential-delay"} | {f"{prefix}.{k.replace('_', '-')}": v for k, v in settings.items()}


class TestNone:
    @pytest.mark.parametrize("value", ["none", "off", "disable"])
    @pytest.mark.parametrize("key", [STRATEGY, "restart-strategy"])
    def test_by_configuration(self, key: str, value: str) -> None:
        assert_failed(run(1, configuration={key: value}), [], f"the restart strategy is none, as {key} says")

    def test_by_program_whatever_the_configuration_says(self) -> None:
        assert_failed(run(1, RestartStrategies.no_restart(), fixed(5, "1 s")), [], "is none, as the program has set it")


class TestFixedDelay:
    @pytest.mark.parametrize(
        ("program", "configuration"),
        [(RestartStrategies.fixed_delay_restart(3, 250), fixed(99, "9 s")), (None, fixed(3, "250 ms"))],
        ids=["by program", "by configuration"],
    )
    def test_restarts_so_many_times_and_no_more(self, program: Any, configuration: dict[str, str]) -> None:
        assert_finished(run(3, program, configuration), [250] * 3)
        assert_failed(run(4, program, configuration), [250] * 3, "all 3 restart attempts are used up")

    def test_restarts_once_after_a_second_when_nothing_else_is_said(self) -> None:
        assert_failed(run(9, configuration={STRATEGY: "fixeddelay"}), [1_000], "all 1 restart attempts")


class TestFailureRate:
    @pytest.mark.parametrize(
        ("program", "configuration"),
        [(RestartStrategies.failure_rate_restart(2, 1_000, 100), fixed(0, "9 s")), (None, rate(2, "1 s", "100 ms"))],
        ids=["by program", "by configuration"],
    )
    def test_failures_that_are_rare_go_on_for_ever_and_others_do_not(
        self, program: Any, configuration: dict[str, str]
    ) -> None:
        assert_finished(run(6, program, configuration, runs_ms=500), [100] * 6)  # the third comes 1200 ms after
        assert_failed(run(6, program, configuration, runs_ms=300), [100] * 2, "3 failures within 1000 ms")  # 800 ms


class TestExponentialDelay:
    @pytest.mark.parametrize(
        ("program", "configuration"),
        [
            (RestartStrategies.exponential_delay_restart(100, 500, 2.0, 1_000, 0.0), fixed(0, "9 s")),
            (None, exponential()),
        ],
        ids=["by program", "by configuration"],
    )
    def test_delays_grow_up_to_a_limit_and_begin_anew_after_a_while(
        self, program: Any, configuration: dict[str, str]
    ) -> None:
        assert_finished(run(5, program, configuration), [100, 200, 400, 500, 500])
        assert_finished(run(3, program, configuration, runs_ms=1_000), [100] * 3)

    def test_gives_up_after_so_many_restarts_in_a_row(self) -> None:
        configuration = exponential(attempts_before_reset_backoff="2")
        assert_failed(run(3, configuration=configuration), [100, 200], "all 2 restart attempts are used up")
        assert_finished(run(3, configuration=configuration, runs_ms=1_000), [100] * 3)

    def test_has_flinks_defaults(self) -> None:
        ran = run(12, configuration={STRATEGY: "exponential-delay"})
        assert ran.delays[:3] == [1_000, 1_500, 2_250]
        assert ran.delays[-1] == 60_000
        assert ran.status is JobStatus.FINISHED


class TestNothingConfigured:
    def test_with_checkpoints_it_restarts_for_ever_and_waits_longer_each_time(self) -> None:
        ran = run(30)
        assert_finished(ran, ran.delays)
        assert ran.delays[:4] == [1_000, 1_500, 2_250, 3_375]
        assert ran.delays[11:] == [60_000] * 19
        assert_finished(run(3, runs_ms=3_600_000), [1_000] * 3)  # an hour without a failure

    def test_how_long_it_waits_can_be_set_without_naming_the_strategy(self) -> None:
        keys = {key: value for key, value in exponential().items() if key != STRATEGY}
        assert_finished(run(4, configuration=keys), [100, 200, 400, 500])

    def test_without_checkpoints_it_does_not(self) -> None:
        assert_failed(run(1, checkpointing=False), [], "set restart-strategy.type, or enable checkpointing, if")

    def test_a_program_that_falls_back_leaves_it_to_the_configuration(self) -> None:
        program = RestartStrategies.fall_back_restart()
        assert_finished(run(2, program), [1_000, 1_500])
        assert_finished(run(2, program, fixed(2, "7 ms")), [7] * 2)

    def test_without_checkpoints_a_strategy_that_is_set_counts(self) -> None:
        assert_finished(run(1, configuration=fixed(1, "5 ms"), checkpointing=False), [5])


class TestTheSameFailureAgain:
    def test_delays_grow_whatever_the_strategy_says(self) -> None:
        program = RestartStrategies.fixed_delay_restart(9, 500)
        assert_finished(run(9, program, alike=True), [500, 500, *(2_000 << i for i in range(5)), 60_000, 60_000])

    def test_they_are_never_shorter_than_the_strategy_says(self) -> None:
        program = RestartStrategies.fixed_delay_restart(9, 90_000)
        assert_finished(run(9, program, alike=True), [90_000] * 9)

    def test_a_checkpoint_in_between_is_progress(self) -> None:
        program = RestartStrategies.fixed_delay_restart(9, 0)
        assert_finished(run(6, program, runs_ms=2_000, alike=True, checkpoints={3}), [0, 0, 2_000, 0, 0, 2_000])

    def test_it_is_said_with_every_failure_and_at_the_end(self) -> None:
        ran = run(9, RestartStrategies.fixed_delay_restart(2, 0), alike=True)
        assert ran.status is JobStatus.FAILED
        assert [text.splitlines()[0] for text in ran.told] == [
            "RuntimeError: always the same",
            "the same failure 2 times at the same record, with no checkpoint in between: RuntimeError: always the same",
            "the same failure 3 times at the same record, with no checkpoint in between: RuntimeError: always the same",
        ]
        assert "the same failure 3 times" in str(ran.error)
