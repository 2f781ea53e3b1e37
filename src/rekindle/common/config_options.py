"""The counterpart of ``pyflink.common.config_options``."""

from __future__ import annotations

from rekindle.config.config_options import (
    ConfigOption,
    ConfigOptions,
)

__all__ = ["ConfigOption", "ConfigOptions"]
