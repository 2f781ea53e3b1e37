"""The counterpart of ``pyflink.common.watermark_strategy``."""

from __future__ import annotations

from rekindle.base.time import Duration as Duration
from rekindle.contracts.time.watermark_strategy import (
    AssignerWithPeriodicWatermarksWrapper,
    TimestampAssigner,
    WatermarkAlignment,
    WatermarkKind,
    WatermarkStrategy,
)

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "TimestampAssigner",
    "WatermarkAlignment",
    "WatermarkKind",
    "WatermarkStrategy",
]
