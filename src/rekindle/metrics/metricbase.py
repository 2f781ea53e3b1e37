"""The interfaces of metrics. A function asks for them in ``open``: ``runtime_context.get_metrics_group()``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]


class MetricGroup(ABC):
    """Hold metrics by name, and other groups."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Return a group within this one; the same name always gives the same group.

        Args:
            name: The name of the group, or, with ``extra``, a key.
            extra: The value of the key.
        """

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """Return a counter; the same name always gives the same one."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """Register a function that gives a value when the metrics are read."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """Return a meter; the same name always gives the same one.

        Args:
            name: Its name.
            time_span_in_seconds: Over how long its rate is an average.
        """

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """Return a distribution; the same name always gives the same one."""


class Metric(ABC):  # noqa: B024 - as in PyFlink, it only says what its subclasses are
    """Stand for anything that is measured."""


class Counter(Metric, ABC):
    """Count up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Count up."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Count down."""

    @abstractmethod
    def get_count(self) -> int:
        """Return the count."""


class Meter(Metric, ABC):
    """Measure how often something happens."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Note that it happened ``value`` times."""

    @abstractmethod
    def get_count(self) -> int:
        """Return how often it happened so far."""


class Distribution(Metric, ABC):
    """Measure how values are distributed: their number, sum, least, greatest and mean."""

    @abstractmethod
    def update(self, value: Any) -> None:
        """Note a value."""
