"""The counterpart of ``pyflink.datastream.connectors.base``."""

from __future__ import annotations

from rekindle.connectors.delivery_guarantee import DeliveryGuarantee
from rekindle.contracts.connectors import (
    Sink,
    SinkWriter,
    SinkWriterContext,
    Source,
)

__all__ = ["DeliveryGuarantee", "Sink", "SinkWriter", "SinkWriterContext", "Source"]
