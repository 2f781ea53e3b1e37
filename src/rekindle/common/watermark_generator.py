"""Generators of watermarks, as programs import them."""

from __future__ import annotations

from rekindle.contracts.time.watermark_generator import (
    WatermarkGenerator,
    WatermarkOutput,
)

__all__ = ["WatermarkGenerator", "WatermarkOutput"]
