"""Make restart strategies. The values that are made are in ``restart_strategy_configuration``."""

from __future__ import annotations

from typing import TypeAlias

import rekindle.config.restart_strategy_configuration as configurations
from rekindle.config.restart_strategy_configuration import RestartStrategyConfiguration, TimeAmount

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategies:
    """Make restart strategies: ``RestartStrategies.fixed_delay_restart(3, 10000)``."""

    NoRestartStrategyConfiguration: TypeAlias = configurations.NoRestartStrategyConfiguration
    FallbackRestartStrategyConfiguration: TypeAlias = configurations.FallbackRestartStrategyConfiguration
    FixedDelayRestartStrategyConfiguration: TypeAlias = configurations.FixedDelayRestartStrategyConfiguration
    FailureRateRestartStrategyConfiguration: TypeAlias = configurations.FailureRateRestartStrategyConfiguration
    ExponentialDelayRestartStrategyConfiguration: TypeAlias = (
        configurations.ExponentialDelayRestartStrategyConfiguration
    )

    @staticmethod
    def no_restart() -> configurations.NoRestartStrategyConfiguration:
        """Return the strategy that never restarts."""
        return configurations.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> configurations.FallbackRestartStrategyConfiguration:
        """Return the strategy that the configuration file names."""
        return configurations.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: TimeAmount
    ) -> configurations.FixedDelayRestartStrategyConfiguration:
        """Return the strategy of a number of restarts with the same delay before each.

        Args:
            restart_attempts: Maximum number of restarts.
            delay_between_attempts: The delay; an integer is milliseconds.
        """
        return configurations.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: TimeAmount, delay_interval: TimeAmount
    ) -> configurations.FailureRateRestartStrategyConfiguration:
        """Return the strategy that gives up after too many failures in an interval.

        Args:
            failure_rate: How many failures within the interval are still followed by a restart.
            failure_interval: The interval; an integer is milliseconds.
            delay_interval: The delay before each restart; an integer is milliseconds.
        """
        return configurations.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)

    @staticmethod
    def exponential_delay_restart(
        initial_backoff: TimeAmount,
        max_backoff: TimeAmount,
        backoff_multiplier: float,
        reset_backoff_threshold: TimeAmount,
        jitter_factor: float,
    ) -> configurations.ExponentialDelayRestartStrategyConfiguration:
        """Return the strategy whose delay grows with every failure.

        Args:
            initial_backoff: The first delay; an integer is milliseconds.
            max_backoff: The longest delay; an integer is milliseconds.
            backoff_multiplier: What a delay is multiplied by to get the next one; above 1.
            reset_backoff_threshold: How long the job must run well for the delay to be reset.
            jitter_factor: By what part of itself a delay is shifted at random; 0 to 1.
        """
        return configurations.ExponentialDelayRestartStrategyConfiguration(
            initial_backoff, max_backoff, backoff_multiplier, reset_backoff_threshold, jitter_factor
        )
