"""The rules of StateTtlConfig and its builder."""

from __future__ import annotations

import pickle

import pytest

from rekindle.common.time import Duration, Time
from rekindle.contracts.state.ttl import StateTtlConfig
from rekindle.datastream.state import StateTtlConfig as StateTtlConfigFromState
from rekindle.exceptions import ConfigurationError

UpdateType = StateTtlConfig.UpdateType
StateVisibility = StateTtlConfig.StateVisibility


def builder() -> StateTtlConfig.Builder:
    return StateTtlConfig.new_builder(Time.seconds(1))


def test_state_module_exports_the_same_class() -> None:
    assert StateTtlConfigFromState is StateTtlConfig


def test_defaults_are_flinks() -> None:
    config = builder().build()
    assert config.get_update_type() is UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.get_ttl() == Time.milliseconds(1000)
    assert config.is_enabled()
    strategies = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()


@pytest.mark.parametrize("ttl", [Time.minutes(2), Duration.of_minutes(2)])
def test_ttl_may_be_a_time_or_a_duration(ttl: Time | Duration) -> None:
    assert StateTtlConfig.new_builder(ttl).build().get_ttl().to_milliseconds() == 120_000
    assert builder().set_ttl(ttl).build().get_ttl().to_milliseconds() == 120_000


@pytest.mark.parametrize("ttl", [Time.milliseconds(0), Time.milliseconds(-1), Duration.of_nanos(999_999)])
def test_ttl_below_one_millisecond_raises(ttl: Time | Duration) -> None:
    with pytest.raises(ConfigurationError, match="TTL must be at least 1 ms"):
        StateTtlConfig.new_builder(ttl)


def test_ttl_as_a_bare_number_raises() -> None:
    with pytest.raises(TypeError, match="Time or Duration"):
        StateTtlConfig.new_builder(1000)  # type: ignore[arg-type]


def test_update_type_follows_the_last_choice() -> None:
    assert builder().update_ttl_on_read_and_write().build().get_update_type() is UpdateType.OnReadAndWrite
    both = builder().update_ttl_on_read_and_write().update_ttl_on_create_and_write()
    assert both.build().get_update_type() is UpdateType.OnCreateAndWrite


def test_disabled_update_type_switches_ttl_off() -> None:
    assert not builder().set_update_type(UpdateType.Disabled).build().is_enabled()


def test_visibility_follows_the_last_choice() -> None:
    relaxed = builder().return_expired_if_not_cleaned_up()
    assert relaxed.build().get_state_visibility() is StateVisibility.ReturnExpiredIfNotCleanedUp
    assert relaxed.never_return_expired().build().get_state_visibility() is StateVisibility.NeverReturnExpired


def test_background_cleanup_has_a_default_for_each_backend() -> None:
    strategies = builder().build().get_cleanup_strategies()
    incremental = strategies.get_incremental_cleanup_strategy()
    rocksdb = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    assert rocksdb is not None
    assert rocksdb.get_query_time_after_num_entries() == 1000
    assert rocksdb.get_periodic_compaction_time() == Duration.of_days(30)


def test_disabling_background_cleanup_leaves_only_explicit_strategies() -> None:
    strategies = builder().disable_cleanup_in_background().build().get_cleanup_strategies()
    assert not strategies.is_cleanup_in_background()
    assert strategies.get_incremental_cleanup_strategy() is None
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy() is None

    explicit = builder().disable_cleanup_in_background().cleanup_incrementally(10, True).build()
    incremental = explicit.get_cleanup_strategies().get_incremental_cleanup_strategy()
    assert incremental is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (10, True)


def test_background_cleanup_can_be_switched_on_again() -> None:
    config = builder().disable_cleanup_in_background().cleanup_in_background().build()
    assert config.get_cleanup_strategies().is_cleanup_in_background()


def test_full_snapshot_cleanup_is_remembered() -> None:
    assert builder().cleanup_full_snapshot().build().get_cleanup_strategies().in_full_snapshot()


@pytest.mark.parametrize("size", [0, -2])
def test_incremental_cleanup_of_no_entries_raises(size: int) -> None:
    with pytest.raises(ConfigurationError, match="cleanup_size"):
        builder().cleanup_incrementally(size, False)


def test_rocksdb_cleanup_takes_its_interval_as_duration_or_time() -> None:
    for interval in (Duration.of_hours(1), Time.hours(1)):
        config = builder().cleanup_in_rocksdb_compact_filter(7, interval).build()
        rocksdb = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
        assert rocksdb is not None
        assert rocksdb.get_query_time_after_num_entries() == 7
        assert rocksdb.get_periodic_compaction_time() == Duration.of_hours(1)


def test_rocksdb_cleanup_interval_of_zero_is_kept() -> None:
    config = builder().cleanup_in_rocksdb_compact_filter(7, Duration.of_millis(0)).build()
    rocksdb = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
    assert rocksdb is not None
    assert rocksdb.get_periodic_compaction_time() == Duration.of_millis(0)


def test_rocksdb_cleanup_refuses_what_cannot_work() -> None:
    with pytest.raises(ConfigurationError, match="query_time_after_num_entries"):
        builder().cleanup_in_rocksdb_compact_filter(-1)
    with pytest.raises(ConfigurationError, match="interval"):
        builder().cleanup_in_rocksdb_compact_filter(1, Duration.of_millis(-1))
    with pytest.raises(TypeError, match="Duration or Time"):
        builder().cleanup_in_rocksdb_compact_filter(1, 60)  # type: ignore[arg-type]


def test_builder_changes_after_build_do_not_reach_the_config() -> None:
    reused = builder()
    config = reused.build()
    reused.cleanup_full_snapshot().update_ttl_on_read_and_write()
    assert not config.get_cleanup_strategies().in_full_snapshot()
    assert config.get_update_type() is UpdateType.OnCreateAndWrite


def test_config_survives_pickling() -> None:
    config = builder().cleanup_incrementally(3, True).cleanup_full_snapshot().build()
    copy = pickle.loads(pickle.dumps(config))
    assert copy.get_ttl() == config.get_ttl()
    assert copy.get_cleanup_strategies().in_full_snapshot()
    assert copy.get_cleanup_strategies().get_incremental_cleanup_strategy().get_cleanup_size() == 3
