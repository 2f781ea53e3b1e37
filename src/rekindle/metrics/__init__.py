"""What functions count and measure: the counterpart of ``pyflink.metrics``."""

from __future__ import annotations

from rekindle.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
