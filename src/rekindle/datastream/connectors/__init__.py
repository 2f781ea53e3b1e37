"""Sources and sinks: the counterpart of ``pyflink.datastream.connectors``."""

from rekindle.datastream.connectors.base import Sink, SinkWriter, SinkWriterContext, Source

__all__ = ["Sink", "SinkWriter", "SinkWriterContext", "Source"]
