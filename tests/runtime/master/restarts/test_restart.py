"""The restart strategies: what each decides, and which one a job gets."""

from __future__ import annotations

import pytest

from rekindle.common.configuration import Configuration
from rekindle.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.restarts.restart_strategies import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    GiveUp,
    NoRestart,
    Restart,
    RestartDecision,
    RestartStrategy,
    restart_strategy_for,
)


def middle() -> float:
    """Draw the number that means no jitter."""
    return 0.5


def exponential(
    initial_ms: int = 100,
    max_ms: int = 1_000,
    multiplier: float = 2.0,
    reset_threshold_ms: int = 10_000,
    jitter: float = 0.0,
    draw: float = 0.5,
    attempts: int | None = None,
) -> ExponentialDelayRestart:
    return ExponentialDelayRestart(initial_ms, max_ms, multiplier, reset_threshold_ms, jitter, lambda: draw, attempts)


def delay(decision: RestartDecision) -> int:
    assert isinstance(decision, Restart)
    return decision.delay_ms


class TestNoRestart:
    def test_gives_up_at_once_and_says_why(self) -> None:
        decision = NoRestart(", as it was set").on_failure(0)
        assert isinstance(decision, GiveUp)
        assert decision.reason == "the restart strategy is none, as it was set"


class TestFixedDelay:
    def test_n_attempts_are_n_restarts(self) -> None:
        strategy = FixedDelayRestart(3, 250)
        assert [strategy.on_failure(now) for now in (0, 1, 10**9)] == [Restart(250)] * 3
        decision = strategy.on_failure(10**10)
        assert isinstance(decision, GiveUp)
        assert "all 3 restart attempts" in decision.reason
        assert "restart-strategy.fixed-delay.attempts" in decision.reason

    def test_once_given_up_it_stays_so(self) -> None:
        strategy = FixedDelayRestart(0, 250)
        assert isinstance(strategy.on_failure(0), GiveUp)
        assert isinstance(strategy.on_failure(10**9), GiveUp)

    def test_without_limit_it_never_gives_up(self) -> None:
        strategy = FixedDelayRestart(None, 5)
        assert all(strategy.on_failure(0) == Restart(5) for _ in range(1_000))

    @pytest.mark.parametrize(("attempts", "delay_ms"), [(-1, 0), (1, -1)])
    def test_negative_settings_raise(self, attempts: int, delay_ms: int) -> None:
        with pytest.raises(ConfigurationError, match=r"fixed-delay.* is -1"):
            FixedDelayRestart(attempts, delay_ms)


class TestFailureRate:
    def test_max_failures_in_the_interval_are_borne(self) -> None:
        strategy = FailureRateRestart(3, 1_000, 7)
        assert [strategy.on_failure(now) for now in (0, 1, 2)] == [Restart(7)] * 3

    def test_one_more_in_the_interval_is_too_many(self) -> None:
        strategy = FailureRateRestart(3, 1_000, 7)
        for now in (0, 1, 2):
            strategy.on_failure(now)
        decision = strategy.on_failure(1_000)
        assert isinstance(decision, GiveUp)
        assert "4 failures within 1000 ms are more than 3" in decision.reason

    def test_a_failure_just_outside_the_interval_is_forgotten(self) -> None:
        strategy = FailureRateRestart(1, 1_000, 7)
        assert strategy.on_failure(0) == Restart(7)
        assert strategy.on_failure(1_001) == Restart(7)
        assert isinstance(strategy.on_failure(2_001), GiveUp)

    def test_the_interval_slides(self) -> None:
        strategy = FailureRateRestart(2, 100, 7)
        assert all(strategy.on_failure(now) == Restart(7) for now in range(0, 10_000, 51))

    @pytest.mark.parametrize(
        ("settings", "key"),
        [((0, 1, 0), "max-failures"), ((1, 0, 0), "failure-rate-interval"), ((1, 1, -1), "delay")],
    )
    def test_settings_that_cannot_work_raise(self, settings: tuple[int, int, int], key: str) -> None:
        with pytest.raises(ConfigurationError, match=rf"restart-strategy\.failure-rate\.{key}"):
            FailureRateRestart(*settings)


class TestExponentialDelay:
    def failures(self, strategy: ExponentialDelayRestart, count: int) -> list[int]:
        """Let the job fail right after each restart, and return the delays."""
        now, delays = 0, []
        for _ in range(count):
            delays.append(delay(strategy.on_failure(now)))
            now += delays[-1] + 1
        return delays

    def test_grows_by_the_multiplier_up_to_the_maximum(self) -> None:
        assert self.failures(exponential(), 6) == [100, 200, 400, 800, 1_000, 1_000]

    def test_never_ends_however_often_the_job_fails(self) -> None:
        assert self.failures(exponential(), 5_000)[-1] == 1_000

    def test_starts_again_after_running_well_for_the_threshold(self) -> None:
        strategy = exponential(reset_threshold_ms=10_000)
        assert delay(strategy.on_failure(0)) == 100
        assert delay(strategy.on_failure(10_099)) == 200
        assert delay(strategy.on_failure(10_299 + 10_000)) == 100

    def test_the_threshold_counts_from_the_restart_not_from_the_failure(self) -> None:
        strategy = exponential(initial_ms=500, reset_threshold_ms=1_000)
        strategy.on_failure(0)
        assert delay(strategy.on_failure(1_499)) == 1_000

    def test_a_failure_before_the_restart_belongs_to_it(self) -> None:
        strategy = exponential()
        assert delay(strategy.on_failure(0)) == 100
        assert delay(strategy.on_failure(30)) == 70
        assert delay(strategy.on_failure(100)) == 0
        assert delay(strategy.on_failure(101)) == 200

    @pytest.mark.parametrize(("draw", "expected"), [(0.0, 150), (0.5, 200), (0.999999, 250)])
    def test_jitter_shifts_the_delay_both_ways(self, draw: float, expected: int) -> None:
        strategy = exponential(jitter=0.25, draw=draw)
        strategy.on_failure(0)
        assert delay(strategy.on_failure(1_000)) == expected

    @pytest.mark.parametrize(("draw", "expected"), [(0.0, 100), (0.999999, 120)])
    def test_jitter_never_goes_below_the_initial_delay_nor_above_the_maximum(self, draw: float, expected: int) -> None:
        assert delay(exponential(max_ms=120, jitter=0.5, draw=draw).on_failure(0)) == expected

    def test_gives_up_after_the_attempts_before_a_reset(self) -> None:
        strategy = exponential(attempts=2)
        assert self.failures(strategy, 2) == [100, 200]
        decision = strategy.on_failure(1_000)
        assert isinstance(decision, GiveUp)
        assert "attempts-before-reset-backoff" in decision.reason

    @pytest.mark.parametrize(
        ("settings", "key"),
        [
            ({"initial_ms": 0}, "initial-backoff"),
            ({"max_ms": 99}, "max-backoff"),
            ({"multiplier": 1.0}, "backoff-multiplier"),
            ({"multiplier": float("nan")}, "backoff-multiplier"),
            ({"reset_threshold_ms": 0}, "reset-backoff-threshold"),
            ({"jitter": 1.1}, "jitter-factor"),
            ({"jitter": -0.1}, "jitter-factor"),
            ({"attempts": 0}, "attempts-before-reset-backoff"),
        ],
    )
    def test_settings_that_cannot_work_raise(self, settings: dict[str, float], key: str) -> None:
        with pytest.raises(ConfigurationError, match=rf"restart-strategy\.exponential-delay\.{key}"):
            exponential(**settings)  # type: ignore[arg-type]


class TestDescription:
    def test_names_strategy_and_settings(self) -> None:
        assert NoRestart("").describe() == "none"
        assert FixedDelayRestart(3, 10).describe() == "fixed-delay (3 attempts, delay 10 ms)"
        assert FixedDelayRestart(None, 10).describe() == "fixed-delay (without limit, delay 10 ms)"
        assert FailureRateRestart(3, 500, 10).describe() == ("failure-rate (at most 3 failures in 500 ms, delay 10 ms)")
        assert exponential(jitter=0.1).describe() == (
            "exponential-delay (without limit, delay 100 to 1000 ms, multiplier 2.0, jitter 0.1, reset after 10000 ms)"
        )


def chosen(
    program: RestartStrategyConfiguration | None = None, checkpointing: bool = True, **settings: object
) -> RestartStrategy:
    """Return the strategy for settings written with _ for - and __ for . below restart-strategy."""
    keys = {f"restart-strategy.{name.replace('__', '.').replace('_', '-')}": value for name, value in settings.items()}
    return restart_strategy_for(program, Configuration.from_dict(keys), checkpointing, middle)


class TestChoice:
    def test_without_checkpointing_and_configuration_there_is_no_restart(self) -> None:
        assert chosen(checkpointing=False).describe() == "none"

    def test_with_checkpointing_and_no_configuration_it_is_exponential_delay_without_limit(self) -> None:
        strategy = chosen(checkpointing=True)
        assert strategy.describe() == (
            "exponential-delay (without limit, delay 1000 to 60000 ms, multiplier 1.5, jitter 0.1, "
            "reset after 3600000 ms)"
        )

    @pytest.mark.parametrize("checkpointing", [False, True])
    @pytest.mark.parametrize("key", ["restart-strategy", "restart-strategy.type"])
    def test_the_configuration_wins_over_the_default(self, key: str, checkpointing: bool) -> None:
        configuration = Configuration.from_dict({key: "failure-rate"})
        strategy = restart_strategy_for(None, configuration, checkpointing, middle)
        assert strategy.describe() == "failure-rate (at most 1 failures in 60000 ms, delay 1000 ms)"

    @pytest.mark.parametrize("name", ["none", "off", "disable", "NONE"])
    def test_none_can_be_configured(self, name: str) -> None:
        assert chosen(type=name).describe() == "none"

    def test_fixed_delay_is_configured_by_its_keys(self) -> None:
        strategy = chosen(type="fixed-delay", fixed_delay__attempts="4", fixed_delay__delay="2 s")
        assert strategy.describe() == "fixed-delay (4 attempts, delay 2000 ms)"

    def test_fixed_delay_has_one_attempt_when_nothing_else_is_said(self) -> None:
        assert chosen(type="fixeddelay").describe() == "fixed-delay (1 attempts, delay 1000 ms)"

    def test_javas_largest_int_means_without_limit(self) -> None:
        strategy = chosen(type="fixed-delay", fixed_delay__attempts=2_147_483_647)
        assert strategy.describe() == "fixed-delay (without limit, delay 1000 ms)"

    def test_failure_rate_is_configured_by_its_keys(self) -> None:
        strategy = chosen(
            type="failurerate",
            failure_rate__max_failures_per_interval=5,
            failure_rate__failure_rate_interval="5 min",
            failure_rate__delay="500 ms",
        )
        assert strategy.describe() == "failure-rate (at most 5 failures in 300000 ms, delay 500 ms)"

    def test_exponential_delay_is_configured_by_its_keys(self) -> None:
        strategy = chosen(
            type="exponential-delay",
            exponential_delay__initial_backoff="2 s",
            exponential_delay__max_backoff="3 min",
            exponential_delay__backoff_multiplier=3.0,
            exponential_delay__reset_backoff_threshold="2 h",
            exponential_delay__jitter_factor=0.2,
            exponential_delay__attempts_before_reset_backoff=8,
        )
        assert strategy.describe() == (
            "exponential-delay (8 attempts before reset, delay 2000 to 180000 ms, multiplier 3.0, "
            "jitter 0.2, reset after 7200000 ms)"
        )

    def test_exponential_delay_has_flinks_defaults(self) -> None:
        assert chosen(type="exponential-delay").describe() == (
            "exponential-delay (without limit, delay 1000 to 60000 ms, multiplier 1.5, jitter 0.1, "
            "reset after 3600000 ms)"
        )

    @pytest.mark.parametrize(
        ("program", "description"),
        [
            (RestartStrategies.no_restart(), "none"),
            (RestartStrategies.fixed_delay_restart(3, 10), "fixed-delay (3 attempts, delay 10 ms)"),
            (
                RestartStrategies.failure_rate_restart(3, 500, 10),
                "failure-rate (at most 3 failures in 500 ms, delay 10 ms)",
            ),
            (
                RestartStrategies.exponential_delay_restart(1, 9, 2.0, 50, 0.5),
                "exponential-delay (without limit, delay 1 to 9 ms, multiplier 2.0, jitter 0.5, reset after 50 ms)",
            ),
        ],
    )
    def test_the_program_wins_over_the_configuration(
        self, program: RestartStrategyConfiguration, description: str
    ) -> None:
        strategy = chosen(program, type="fixed-delay", fixed_delay__attempts=99)
        assert strategy.describe() == description

    def test_a_program_that_falls_back_leaves_it_to_the_configuration(self) -> None:
        strategy = chosen(RestartStrategies.fall_back_restart(), type="fixed-delay", fixed_delay__attempts=99)
        assert strategy.describe() == "fixed-delay (99 attempts, delay 1000 ms)"
        assert chosen(RestartStrategies.fall_back_restart(), checkpointing=False).describe() == "none"

    def test_the_random_numbers_given_are_used_for_the_jitter(self) -> None:
        drawn: list[float] = []

        def draw() -> float:
            drawn.append(0.0)
            return 0.0

        configuration = Configuration.from_dict({"restart-strategy.type": "exponential-delay"})
        strategy = restart_strategy_for(None, configuration, True, draw)
        strategy.on_failure(0)
        assert strategy.on_failure(1_001) == Restart(1_350)
        assert len(drawn) == 2

    def test_an_unknown_strategy_raises_with_key_and_value(self) -> None:
        with pytest.raises(ConfigurationError, match=r"'sometimes'.*'restart-strategy\.type'"):
            chosen(type="sometimes")

    def test_a_foreign_strategy_object_raises(self) -> None:
        class Odd(RestartStrategyConfiguration):
            def get_description(self) -> str:
                return "odd"

        with pytest.raises(ConfigurationError, match="Odd is not a restart strategy"):
            chosen(Odd())


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (True, "the restart strategy is none; set restart-strategy.type if the job is to restart after a failure"),
        (False, "the restart strategy is none; set restart-strategy.type, or enable checkpointing, if the job is to"),
    ],
)
def test_a_batch_is_not_told_to_take_checkpoints(batch: bool, words: str) -> None:
    decision = restart_strategy_for(None, Configuration(), False, lambda: 0.0, batch).on_failure(0)
    assert isinstance(decision, GiveUp)
    assert decision.reason.startswith(words)
