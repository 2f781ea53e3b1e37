"""The metrics of a slot: what functions count and measure, listed by operator.

Counting touches nothing but a number. Everything else happens when the metrics are read, and once an epoch, when the
counts of meters are noted for their rates. Metrics begin anew with every attempt.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from rekindle.base.clock import Clock
from rekindle.metrics import Counter, Distribution, Meter, Metric, MetricGroup
from rekindle.metrics.rates import RateWindow

log = logging.getLogger(__name__)


class SlotCounter(Counter):
    """Count in the slot."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count

    def values(self, now: int) -> dict[str, Any]:
        """Return what is measured, by name."""
        return {"count": self._count}


class SlotMeter(Meter):
    """Count in the slot, and remember how much it was some time ago."""

    __slots__ = ("_count", "_window")

    def __init__(self, now: int, time_span_in_seconds: int) -> None:
        self._count = 0
        self._window = RateWindow(now, 1, time_span_in_seconds * 1000)

    def mark_event(self, value: int = 1) -> None:
        self._count += value

    def get_count(self) -> int:
        return self._count

    def note(self, now: int) -> None:
        """Remember the count of this moment, at most once a second."""
        self._window.note(now, self._count)

    def values(self, now: int) -> dict[str, Any]:
        """Return what is measured, by name; the rate is per second."""
        (rate,) = self._window.per_second(now, self._count)
        return {"count": self._count, "rate": rate}


class SlotDistribution(Distribution):
    """Sum up values in the slot."""

    __slots__ = ("_count", "_max", "_min", "_sum")

    def __init__(self) -> None:
        self._count = 0
        self._sum: Any = 0
        self._min: Any = None
        self._max: Any = None

    def update(self, value: Any) -> None:
        if self._count == 0:
            self._min = self._max = value
        elif value < self._min:
            self._min = value
        elif value > self._max:
            self._max = value
        self._count += 1
        self._sum += value

    def values(self, now: int) -> dict[str, Any]:
        """Return what is measured, by name; without a value, only the count and the sum are known."""
        mean = self._sum / self._count if self._count else None
        return {"count": self._count, "sum": self._sum, "min": self._min, "max": self._max, "mean": mean}


class SlotGauge(Metric):
    """Ask a function for a value."""

    __slots__ = ("_ask",)

    def __init__(self, ask: Callable[[], Any]) -> None:
        self._ask = ask

    def values(self, now: int) -> dict[str, Any]:
        """Return what the function says."""
        return {"value": self._ask()}


SlotMetric = SlotCounter | SlotMeter | SlotDistribution | SlotGauge
M = TypeVar("M", SlotCounter, SlotMeter, SlotDistribution, SlotGauge)

_KINDS: dict[type[SlotMetric], str] = {
    SlotCounter: "counter",
    SlotMeter: "meter",
    SlotDistribution: "distribution",
    SlotGauge: "gauge",
}


@dataclass(frozen=True, slots=True)
class MetricValue:
    """Tell what one metric says.

    Attributes:
        uid: The operator's uid.
        operator: Its name.
        subtask: Which subtask of it.
        groups: The names of the groups that the metric is in, the outermost first.
        variables: The keys and values among these groups.
        name: The metric's own name.
        kind: "counter", "gauge", "meter" or "distribution".
        values: What it measures: "count" (of all but gauges), "value" (of gauges), "rate" per second (of meters),
            "sum", "min", "max", "mean" (of distributions).
    """

    uid: str
    operator: str
    subtask: int
    groups: tuple[str, ...]
    variables: dict[str, str]
    name: str
    kind: str
    values: dict[str, Any]


class SlotMetricGroup(MetricGroup):
    """Hold the metrics that functions of one operator register."""

    def __init__(self, clock: Clock, groups: tuple[str, ...] = (), variables: dict[str, str] | None = None) -> None:
        self.groups = groups
        self.variables = variables or {}
        self.metrics: dict[str, SlotMetric] = {}
        self._clock = clock
        self._children: dict[tuple[str, str | None], SlotMetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> SlotMetricGroup:
        name, extra = str(name), None if extra is None else str(extra)
        found = self._children.get((name, extra))
        if found is None:
            path = (name,) if extra is None else (name, extra)
            variables = self.variables if extra is None else {**self.variables, name: extra}
            found = self._children[name, extra] = SlotMetricGroup(self._clock, (*self.groups, *path), variables)
        return found

    def counter(self, name: str) -> SlotCounter:
        return self._registered(name, SlotCounter, SlotCounter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        if isinstance(self.metrics.get(name), SlotGauge):
            del self.metrics[name]
        self._registered(name, SlotGauge, lambda: SlotGauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> SlotMeter:
        return self._registered(name, SlotMeter, lambda: SlotMeter(self._clock.now(), time_span_in_seconds))

    def distribution(self, name: str) -> SlotDistribution:
        return self._registered(name, SlotDistribution, SlotDistribution)

    def __iter__(self) -> Iterator[SlotMetricGroup]:
        """Return this group and all within it."""
        yield self
        for child in self._children.values():
            yield from child

    def _registered(self, name: str, kind: type[M], create: Callable[[], M]) -> M:
        known = self.metrics.get(name)
        if isinstance(known, kind):
            return known
        metric = create()
        if known is None:
            self.metrics[name] = metric
        else:
            log.warning(
                "the metric %r of group %s is a %s already; the %s of that name is not listed: give it another name",
                name,
                ".".join(self.groups) or "of the operator",
                _KINDS[type(known)],
                _KINDS[kind],
            )
        return metric


@dataclass(slots=True)
class MetricRegistry:
    """List the metrics of all operators of a slot."""

    clock: Clock
    _operators: list[tuple[str, str, int, SlotMetricGroup]] = field(default_factory=list)

    def group(self, uid: str, operator: str, subtask: int) -> SlotMetricGroup:
        """Make the group of an operator."""
        group = SlotMetricGroup(self.clock)
        self._operators.append((uid, operator, subtask, group))
        return group

    def note_rates(self) -> None:
        """Remember the counts of all meters; called once an epoch."""
        now = self.clock.now()
        for _, _, _, root in self._operators:
            for group in root:
                for metric in group.metrics.values():
                    if isinstance(metric, SlotMeter):
                        metric.note(now)

    def values(self) -> list[MetricValue]:
        """Read all metrics. A gauge whose function fails is left out, with a line in the log."""
        now = self.clock.now()
        found = []
        for uid, operator, subtask, root in self._operators:
            for group in root:
                for name, metric in group.metrics.items():
                    try:
                        values = metric.values(now)
                    except BaseException:
                        log.warning("the gauge %r of operator %r failed", name, operator, exc_info=True)
                        continue
                    kind = _KINDS[type(metric)]
                    found.append(MetricValue(uid, operator, subtask, group.groups, group.variables, name, kind, values))
        return found
