from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from datetime import timedelta
from typing import Any

import pytest

from rekindle.common import Duration, RestartStrategies, RestartStrategyConfiguration, Time
from rekindle.exceptions import ConfigurationError


def exponential(**changes: Any) -> RestartStrategies.ExponentialDelayRestartStrategyConfiguration:
    arguments: dict[str, Any] = {
        "initial_backoff": 1000,
        "max_backoff": 60_000,
        "backoff_multiplier": 1.5,
        "reset_backoff_threshold": 3_600_000,
        "jitter_factor": 0.1,
    }
    return RestartStrategies.exponential_delay_restart(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("strategy", "description"),
    [
        (RestartStrategies.no_restart(), "Restart deactivated."),
        (RestartStrategies.fall_back_restart(), "Cluster level default restart strategy"),
        (
            RestartStrategies.fixed_delay_restart(3, 10_000),
            "Restart with fixed delay (10000 ms). #3 restart attempts.",
        ),
        (
            RestartStrategies.failure_rate_restart(3, 10_000, 500),
            "Failure rate restart with maximum of 3 failures within interval 10000 ms and fixed delay 500 ms.",
        ),
        (
            exponential(),
            "Restart with exponential delay: starting at 1000 ms, increasing by 1.500000, with maximum "
            "60000 ms. Delay resets after 3600000 ms with jitter 0.100000",
        ),
    ],
)
def test_every_strategy_describes_itself_and_can_travel(
    strategy: RestartStrategyConfiguration, description: str
) -> None:
    assert strategy.get_description() == str(strategy) == description
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert isinstance(strategy, RestartStrategyConfiguration)


def test_a_fixed_delay_keeps_its_numbers() -> None:
    strategy = RestartStrategies.fixed_delay_restart(4, 10_000)
    assert isinstance(strategy, RestartStrategies.FixedDelayRestartStrategyConfiguration)
    assert strategy.get_restart_attempts() == 4
    assert strategy.get_delay_between_attempts_interval() == timedelta(seconds=10)
    assert (strategy.restart_attempts, strategy.delay_ms) == (4, 10_000)


def test_a_failure_rate_keeps_its_numbers() -> None:
    strategy = RestartStrategies.failure_rate_restart(5, timedelta(minutes=1), Duration.of_seconds(5))
    assert isinstance(strategy, RestartStrategies.FailureRateRestartStrategyConfiguration)
    assert strategy.get_max_failure_rate() == 5
    assert strategy.get_failure_interval() == timedelta(minutes=1)
    assert strategy.get_delay_between_attempts_interval() == timedelta(seconds=5)
    assert (strategy.max_failure_rate, strategy.failure_interval_ms, strategy.delay_ms) == (5, 60_000, 5_000)


def test_an_exponential_delay_keeps_its_numbers() -> None:
    strategy = exponential(initial_backoff=Time.seconds(2))
    assert strategy.get_initial_backoff() == timedelta(seconds=2)
    assert strategy.get_max_backoff() == timedelta(minutes=1)
    assert strategy.get_backoff_multiplier() == 1.5
    assert strategy.get_reset_backoff_threshold() == timedelta(hours=1)
    assert strategy.get_jitter_factor() == 0.1
    assert strategy.initial_backoff_ms == 2_000
    assert strategy.attempts_before_reset_backoff == 2_147_483_647


def test_strategies_are_values() -> None:
    one, same = (RestartStrategies.fixed_delay_restart(3, delay) for delay in (1000, timedelta(seconds=1)))
    assert one == same
    assert hash(one) == hash(same)
    assert one != RestartStrategies.fixed_delay_restart(3, 1001)
    assert RestartStrategies.no_restart() == RestartStrategies.no_restart()
    assert len({RestartStrategies.no_restart(), RestartStrategies.fall_back_restart()}) == 2
    with pytest.raises(FrozenInstanceError):
        one.delay_ms = 5  # type: ignore[misc]


def test_an_amount_of_time_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"'delay_between_attempts_interval'.*'10 s'"):
        RestartStrategies.fixed_delay_restart(3, "10 s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'failure_interval'"):
        RestartStrategies.failure_rate_restart(3, 1.5, 100)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"initial_backoff": 0}, "initial_backoff"),
        ({"max_backoff": 999}, "max_backoff"),
        ({"backoff_multiplier": 1.0}, "backoff_multiplier"),
        ({"reset_backoff_threshold": 0}, "reset_backoff_threshold"),
        ({"jitter_factor": 1.1}, "jitter_factor"),
        ({"jitter_factor": -0.1}, "jitter_factor"),
    ],
)
def test_an_exponential_delay_that_cannot_grow_is_refused(changes: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ConfigurationError, match=f"as {parameter} of a restart strategy"):
        exponential(**changes)


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="-1 as restart_attempts"):
        RestartStrategies.fixed_delay_restart(-1, 0)
    with pytest.raises(ConfigurationError, match="-1 as delay_between_attempts_interval"):
        RestartStrategies.fixed_delay_restart(1, -1)
    with pytest.raises(ConfigurationError, match="0 as max_failure_rate"):
        RestartStrategies.failure_rate_restart(0, 1, 1)
