"""What a slot tells of its metrics when it is asked. Nothing here runs unless somebody asks."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

import msgspec

from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.wire import messages as m

log = logging.getLogger(__name__)

MAX_METRICS = 2_000
_MAX_TEXT = 200
_LONG = 1 << 63


def metrics_report(request: int, operators: list[m.OperatorNumbers], values: list[MetricValue]) -> m.MetricsReport:
    """Put together the answer to a question."""
    told = []
    for value in values[:MAX_METRICS]:
        try:
            told.append(_plain_metric(value))
        except BaseException:
            log.warning("metric %r of operator %r cannot be reported", value.name, value.operator, exc_info=True)
    named = [msgspec.structs.replace(each, uid=_text(each.uid), operator=_text(each.operator)) for each in operators]
    return m.MetricsReport(request, named, told, len(values) - len(told))


def _plain_metric(metric: MetricValue) -> MetricValue:
    """Make a metric one that can be sent, whatever functions have named and measured."""
    return replace(
        metric,
        uid=_text(metric.uid),
        operator=_text(metric.operator),
        groups=tuple(map(_text, metric.groups)),
        variables={_text(key): _text(value) for key, value in metric.variables.items()},
        name=_text(metric.name),
        values=_plain_values(metric.values),
    )


def _text(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def _plain_values(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    """Make a value that a message can carry: gauges may give anything."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()  # a number of numpy's
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_LONG <= value < _LONG else float(min(max(value, -(10**308)), 10**308))
    if isinstance(value, float):
        return float(value)
    if not isinstance(value, str):
        try:
            number = float(value)  # a Decimal, a Fraction
        except (TypeError, ValueError, OverflowError):
            value = str(value)
        else:
            return number if math.isfinite(number) else str(value)
    return _text(value[:_MAX_TEXT])
