from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from rekindle.common import AssignerWithPeriodicWatermarksWrapper, Duration, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner, WatermarkAlignment, WatermarkKind
from rekindle.exceptions import ConfigurationError


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Punctuated(WatermarkGenerator):
    def on_event(self, value: Any, timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_the_built_in_strategies_say_what_they_are() -> None:
    assert WatermarkStrategy.no_watermarks().kind is WatermarkKind.NONE
    assert WatermarkStrategy.for_monotonous_timestamps().kind is WatermarkKind.MONOTONOUS
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(20))
    assert bounded.kind is WatermarkKind.BOUNDED_OUT_OF_ORDERNESS
    assert bounded.max_out_of_orderness_ms == 20_000
    assert WatermarkStrategy.for_monotonous_timestamps().max_out_of_orderness_ms == 0


def test_a_strategy_starts_with_nothing_else() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    assert strategy.timestamp_assigner is None
    assert strategy.idle_timeout_ms is None
    assert strategy.alignment is None
    assert strategy.generator_supplier is None


def test_a_generator_of_ones_own_is_made_by_its_supplier() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated)
    assert strategy.kind is WatermarkKind.GENERATOR
    assert strategy.generator_supplier is Punctuated
    with pytest.raises(TypeError, match="lambda: generator"):
        WatermarkStrategy.for_generator(Punctuated())  # type: ignore[arg-type]


def test_settings_add_up_in_any_order() -> None:
    assigner = SecondField()
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
        .with_timestamp_assigner(assigner)
        .with_idleness(Duration.of_minutes(1))
        .with_watermark_alignment("group", Duration.of_seconds(20), Duration.of_millis(100))
    )
    assert strategy.max_out_of_orderness_ms == 5
    assert strategy.timestamp_assigner is assigner
    assert strategy.idle_timeout_ms == 60_000
    assert strategy.alignment == WatermarkAlignment("group", 20_000, 100)


def test_alignment_is_compared_every_second_unless_said_otherwise() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment("g", Duration.of_seconds(1))
    assert strategy.alignment == WatermarkAlignment("g", 1_000, 1_000)


def test_a_strategy_does_not_change_when_another_is_made_of_it() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy.with_timestamp_assigner(SecondField())
    strategy.with_idleness(Duration.of_seconds(1))
    assert strategy == WatermarkStrategy.for_monotonous_timestamps()
    with pytest.raises(FrozenInstanceError):
        strategy.idle_timeout_ms = 5  # type: ignore[misc]


def test_a_strategy_can_travel() -> None:
    strategy = WatermarkStrategy.for_generator(Punctuated).with_idleness(Duration.of_seconds(1))
    assert pickle.loads(pickle.dumps(strategy)) == strategy


def test_an_assigner_needs_the_method() -> None:
    with pytest.raises(TypeError, match="extract_timestamp"):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, _: value)  # type: ignore[arg-type]


def test_impossible_times_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="idleTimeout must be greater than zero"):
        WatermarkStrategy.no_watermarks().with_idleness(Duration.of_millis(0))
    with pytest.raises(ConfigurationError, match="cannot be negative"):
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1))


def test_the_wrapper_of_a_java_assigner_names_itself_and_the_way_out() -> None:
    with pytest.raises(NotImplementedError, match=r"AssignerWithPeriodicWatermarksWrapper.*for_generator"):
        AssignerWithPeriodicWatermarksWrapper(None)
