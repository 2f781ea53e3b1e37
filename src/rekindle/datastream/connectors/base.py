"""The counterpart of ``pyflink.datastream.connectors.base``."""

from __future__ import annotations

from rekindle.contracts.connectors import (
    Sink,
    SinkWriter,
    SinkWriterContext,
    Source,
)

__all__ = ["Sink", "SinkWriter", "SinkWriterContext", "Source"]
