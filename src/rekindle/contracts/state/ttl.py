"""Time-to-live of state: how long a value is kept after its last access, and how it is cleaned up."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from rekindle.base.time import Duration, Time
from rekindle.exceptions import ConfigurationError

__all__ = ["StateTtlConfig"]


class StateTtlConfig:
    """Describe when state expires. Build one with ``StateTtlConfig.new_builder``.

    A value, a list element or a map entry has expired once its last access is ``ttl`` or longer ago. TTL is
    no part of a snapshot's promise: it may be switched on or off, or changed, when a job is restored.

    Example:
        ttl_config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
        descriptor.enable_time_to_live(ttl_config)
    """

    class UpdateType(Enum):
        """Choose which accesses prolong a value's life."""

        Disabled = 0
        """None: state does not expire."""

        OnCreateAndWrite = 1
        """Creating and writing it."""

        OnReadAndWrite = 2
        """Creating, writing and reading it."""

    class StateVisibility(Enum):
        """Choose whether an expired value that still exists can be read."""

        ReturnExpiredIfNotCleanedUp = 0
        """It is returned at most once, then it is gone."""

        NeverReturnExpired = 1
        """It is as if it did not exist."""

    class TtlTimeCharacteristic(Enum):
        """Choose the clock by which state expires."""

        ProcessingTime = 0
        """The wall clock."""

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: Time | Duration,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = _as_time(ttl)
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: Time | Duration) -> StateTtlConfig.Builder:
        """Return a builder for state that lives for ``ttl`` after its last access."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """Return which accesses prolong a value's life."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Return whether expired values can be read."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """Return how long a value lives after its last access."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """Return the clock by which state expires."""
        return self._ttl_time_characteristic

    def is_enabled(self) -> bool:
        """Return True if state expires at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """Return how expired state is cleaned up."""
        return self._cleanup_strategies

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig(ttl={self._ttl.to_milliseconds()} ms, update_type={self._update_type.name}, "
            f"state_visibility={self._state_visibility.name}, "
            f"ttl_time_characteristic={self._ttl_time_characteristic.name})"
        )

    class Builder:
        """Build a ``StateTtlConfig`` step by step; every method but ``build`` returns the builder."""

        def __init__(self, ttl: Time | Duration) -> None:
            self._ttl = _as_time(ttl)
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._ttl_time_characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._is_cleanup_in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Choose which accesses prolong a value's life."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Let writing prolong a value's life (the default)."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Let writing and reading prolong a value's life."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(self, state_visibility: StateTtlConfig.StateVisibility) -> StateTtlConfig.Builder:
            """Choose whether expired values can be read."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Let an expired value that still exists be read once."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Hide expired values (the default)."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Choose the clock by which state expires."""
            self._ttl_time_characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Let state expire by the wall clock (the default)."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.ProcessingTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out of full snapshots; local state stays as it is."""
            return self._set_strategy(
                StateTtlConfig.CleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT,
                StateTtlConfig.CleanupStrategies.EMPTY_STRATEGY,
            )

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Check some entries at every access of the state (heap backend).

            Args:
                cleanup_size: How many entries to check each time; at least 1.
                run_cleanup_for_every_record: Whether to check for every record too, state access or not.
            """
            return self._set_strategy(
                StateTtlConfig.CleanupStrategies.Strategies.INCREMENTAL_CLEANUP,
                StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record),
            )

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int = 1000,
            periodic_compaction_time: Time | Duration | None = None,
        ) -> StateTtlConfig.Builder:
            """Remove expired entries in the background (RocksDB backend).

            Args:
                query_time_after_num_entries: After how many entries to look at the clock again.
                periodic_compaction_time: How often to visit entries that nothing touches; 30 days if None,
                    never if zero.
            """
            return self._set_strategy(
                StateTtlConfig.CleanupStrategies.Strategies.ROCKSDB_COMPACTION_FILTER,
                StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                ),
            )

        def cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Clean up in the backend's own way (the default)."""
            self._is_cleanup_in_background = True
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Clean up only when expired state is read, and as chosen explicitly with ``cleanup_…``."""
            self._is_cleanup_in_background = False
            return self

        def set_ttl(self, ttl: Time | Duration) -> StateTtlConfig.Builder:
            """Set how long a value lives after its last access."""
            self._ttl = _as_time(ttl)
            return self

        def build(self) -> StateTtlConfig:
            """Return the configuration; later changes of the builder do not touch it."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._ttl_time_characteristic,
                self._ttl,
                StateTtlConfig.CleanupStrategies(self._strategies, self._is_cleanup_in_background),
            )

        def _set_strategy(
            self,
            strategy: StateTtlConfig.CleanupStrategies.Strategies,
            parameters: StateTtlConfig.CleanupStrategies.CleanupStrategy,
        ) -> StateTtlConfig.Builder:
            self._strategies[strategy] = parameters
            return self

    class CleanupStrategies:
        """Tell how expired state is cleaned up, besides when it is read."""

        class Strategies(Enum):
            """Name the ways of cleaning up."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """The base of the strategies' parameters."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """Stand for a strategy without parameters."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Check a few entries at a time."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size <= 0:
                    raise ConfigurationError(
                        f"cleanup_size of incremental TTL cleanup must be at least 1, got {cleanup_size!r}"
                    )
                self._cleanup_size = cleanup_size
                self._run_cleanup_for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Return how many entries are checked each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Return whether entries are checked for every record too."""
                return self._run_cleanup_for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Remove expired entries in the background."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Time | Duration | None = None,
            ) -> None:
                if query_time_after_num_entries < 0:
                    raise ConfigurationError(
                        "query_time_after_num_entries of RocksDB TTL cleanup must not be negative, "
                        f"got {query_time_after_num_entries!r}"
                    )
                self._query_time_after_num_entries = query_time_after_num_entries
                self._periodic_compaction_time = _as_duration(
                    Duration.of_days(30) if periodic_compaction_time is None else periodic_compaction_time
                )

            def get_query_time_after_num_entries(self) -> int:
                """Return after how many entries the clock is looked at again."""
                return self._query_time_after_num_entries

            def get_periodic_compaction_time(self) -> Duration:
                """Return how often untouched entries are visited; zero means never."""
                return self._periodic_compaction_time

        EMPTY_STRATEGY = EmptyCleanupStrategy()

        def __init__(
            self,
            strategies: Mapping[
                StateTtlConfig.CleanupStrategies.Strategies, StateTtlConfig.CleanupStrategies.CleanupStrategy
            ],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = dict(strategies)
            self._is_cleanup_in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Return whether the backend cleans up in its own way where nothing else was chosen."""
            return self._is_cleanup_in_background

        def in_full_snapshot(self) -> bool:
            """Return whether full snapshots leave expired entries out."""
            return StateTtlConfig.CleanupStrategies.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """Return the parameters for the heap backend: as chosen, 5 entries by default, or None."""
            kind = StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy
            chosen = self._strategies.get(StateTtlConfig.CleanupStrategies.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(chosen, kind):
                return chosen
            return kind(5, False) if self._is_cleanup_in_background else None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """Return the parameters for RocksDB: as chosen, 1000 entries by default, or None."""
            kind = StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy
            chosen = self._strategies.get(StateTtlConfig.CleanupStrategies.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(chosen, kind):
                return chosen
            return kind(1000) if self._is_cleanup_in_background else None


def _as_time(ttl: Time | Duration) -> Time:
    if not isinstance(ttl, Time | Duration):
        raise TypeError(f"a TTL is given as Time or Duration, such as Time.hours(1), got {ttl!r}")
    millis = ttl.to_millis() if isinstance(ttl, Duration) else ttl.to_milliseconds()
    if millis <= 0:
        raise ConfigurationError(f"a TTL must be at least 1 ms, got {ttl}")
    return Time.milliseconds(millis)


def _as_duration(interval: Time | Duration) -> Duration:
    duration = Duration.of_millis(interval.to_milliseconds()) if isinstance(interval, Time) else interval
    if not isinstance(duration, Duration):
        raise TypeError(f"a compaction interval is given as Duration or Time, got {interval!r}")
    if duration.to_nanos() < 0:
        raise ConfigurationError(f"a compaction interval must not be negative, got {interval}")
    return duration
