"""Spark tables as the end of a stream: what ``DataStream.sink_to_data_frame`` takes. PyFlink has none of it."""

from rekindle.connectors.tables.writers import delta_writer, directory_writer
from rekindle.contracts.table_commit import TableCommit, TableWriter

__all__ = ["TableCommit", "TableWriter", "delta_writer", "directory_writer"]
