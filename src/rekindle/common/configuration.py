"""The counterpart of ``pyflink.common.configuration``."""

from __future__ import annotations

from rekindle.config.configuration import (
    Configuration,
)

__all__ = ["Configuration"]
