"""How a stream gets timestamps and watermarks. A strategy is a plain value; the runtime acts on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic, TypeVar

from rekindle.base.time import Duration, duration_to_millis
from rekindle.base.type_variables import IN
from rekindle.contracts.time.watermark_generator import WatermarkGenerator
from rekindle.exceptions import ConfigurationError

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkKind",
    "WatermarkStrategy",
]

_DEFAULT_UPDATE_INTERVAL_MS = 1000

_T = TypeVar("_T")


class WatermarkKind(Enum):
    """Name the ways watermarks come about."""

    NONE = "none"
    MONOTONOUS = "monotonous"
    BOUNDED_OUT_OF_ORDERNESS = "bounded-out-of-orderness"
    GENERATOR = "generator"


class TimestampAssigner(ABC, Generic[IN]):
    """Assign event time to records."""

    @abstractmethod
    def extract_timestamp(self, value: IN, record_timestamp: int) -> int:
        """Return a record's timestamp, in milliseconds since the epoch.

        Args:
            value: The record.
            record_timestamp: The timestamp it had so far; negative when it had none.
        """


@dataclass(frozen=True, slots=True)
class WatermarkAlignment:
    """Say how far a source may be ahead of the others in its group.

    Attributes:
        group: The name that the aligned sources share.
        max_drift_ms: How far ahead of the slowest a source may be before it pauses.
        update_interval_ms: How often the group compares.
    """

    group: str
    max_drift_ms: int
    update_interval_ms: int = _DEFAULT_UPDATE_INTERVAL_MS


@dataclass(frozen=True, slots=True)
class WatermarkStrategy(Generic[IN]):
    """Describe how a stream gets timestamps and watermarks; every ``with_…`` returns a new strategy.

    Attributes:
        kind: How watermarks come about.
        max_out_of_orderness_ms: The bound behind the highest timestamp; 0 unless the kind has a bound.
        timestamp_assigner: Where timestamps come from; ``None`` keeps those the records have.
        idle_timeout_ms: After how long without records the stream counts as idle; ``None`` for never.
        alignment: How far the source may be ahead of others; ``None`` for any distance.
        generator_supplier: Makes the generator of each subtask when the kind is ``GENERATOR``.
    """

    kind: WatermarkKind = WatermarkKind.NONE
    max_out_of_orderness_ms: int = 0
    timestamp_assigner: TimestampAssigner[IN] | None = None
    idle_timeout_ms: int | None = None
    alignment: WatermarkAlignment | None = None
    generator_supplier: Callable[[], WatermarkGenerator[IN]] | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy[object]:
        """Return the strategy for timestamps that never go back."""
        return WatermarkStrategy(WatermarkKind.MONOTONOUS)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration) -> WatermarkStrategy[object]:
        """Return the strategy for timestamps that lag behind the highest one by a bound at most.

        Raises:
            ConfigurationError: The bound is negative.
        """
        bound_ms = duration_to_millis(max_out_of_orderness, "max_out_of_orderness")
        if bound_ms < 0:
            raise ConfigurationError(f"maxOutOfOrderness cannot be negative, got {max_out_of_orderness}.")
        return WatermarkStrategy(WatermarkKind.BOUNDED_OUT_OF_ORDERNESS, max_out_of_orderness_ms=bound_ms)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy[object]:
        """Return the strategy without watermarks, for work in processing time."""
        return WatermarkStrategy(WatermarkKind.NONE)

    @staticmethod
    def for_generator(supplier: Callable[[], WatermarkGenerator[_T]]) -> WatermarkStrategy[_T]:
        """Return the strategy that uses a custom generator.

        Args:
            supplier: Makes a generator, such as the generator's class; called once for each subtask.
        """
        if not callable(supplier):
            raise TypeError(
                f"for_generator() takes a function that makes a generator, got {supplier!r}; "
                "give the class, or wrap the generator: lambda: generator."
            )
        return WatermarkStrategy(WatermarkKind.GENERATOR, generator_supplier=supplier)

    def with_timestamp_assigner(self, timestamp_assigner: TimestampAssigner[_T]) -> WatermarkStrategy[_T]:
        """Return this strategy with timestamps from the assigner."""
        if not callable(getattr(timestamp_assigner, "extract_timestamp", None)):
            raise TypeError(
                f"with_timestamp_assigner() takes a TimestampAssigner, got {timestamp_assigner!r}; "
                "derive a class from it and define extract_timestamp(value, record_timestamp)."
            )
        strategy: WatermarkStrategy[Any] = self
        return replace(strategy, timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration) -> WatermarkStrategy[IN]:
        """Return this strategy, with the stream idle after so long without records.

        Raises:
            ConfigurationError: The timeout is not above zero.
        """
        timeout_ms = duration_to_millis(idle_timeout, "idle_timeout")
        if timeout_ms <= 0:
            raise ConfigurationError(f"idleTimeout must be greater than zero, got {idle_timeout}.")
        return replace(self, idle_timeout_ms=timeout_ms)

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration,
        update_interval: Duration | None = None,
    ) -> WatermarkStrategy[IN]:
        """Return this strategy, with a group in which Flink holds sources back that are ahead; here none is held back.

        Args:
            watermark_group: The name that the aligned sources share.
            max_allowed_watermark_drift: How far ahead a source may be before it pauses.
            update_interval: How often the group compares; one second if not given.
        """
        drift_ms = duration_to_millis(max_allowed_watermark_drift, "max_allowed_watermark_drift")
        interval_ms = _DEFAULT_UPDATE_INTERVAL_MS
        if update_interval is not None:
            interval_ms = duration_to_millis(update_interval, "update_interval")
        return replace(self, alignment=WatermarkAlignment(watermark_group, drift_ms, interval_ms))


class AssignerWithPeriodicWatermarksWrapper:
    """Refuse to be made: it wraps a Java object, and there is none here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "AssignerWithPeriodicWatermarksWrapper wraps a Java assigner, which Rekindle cannot run; "
            "use WatermarkStrategy.for_generator() with a WatermarkGenerator instead."
        )
