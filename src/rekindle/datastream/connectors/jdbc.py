"""The counterpart of ``pyflink.datastream.connectors.jdbc``, with exactly-once sinks and dialects of your own."""

from __future__ import annotations

from rekindle.connectors.jdbc.connection_options import JdbcConnectionOptions
from rekindle.connectors.jdbc.dialect import JdbcDialect
from rekindle.connectors.jdbc.dialects import register_dialect
from rekindle.connectors.jdbc.exactly_once_options import JdbcExactlyOnceOptions
from rekindle.connectors.jdbc.execution_options import JdbcExecutionOptions
from rekindle.connectors.jdbc.jdbc_sink import JdbcSink

__all__ = [
    "JdbcConnectionOptions",
    "JdbcDialect",
    "JdbcExactlyOnceOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "register_dialect",
]
