"""Functions for ``sink_to_data_frame`` that write each commit once, also when they are called for it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rekindle.contracts.table_commit import TableCommit, TableWriter
from rekindle.exceptions import InvalidProgramError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["delta_writer", "directory_writer"]


def delta_writer(
    path: str | None = None, *, table: str | None = None, options: Mapping[str, Any] | None = None
) -> TableWriter:
    """Append commits to a Delta table, each once.

    Delta notes ``app_id`` and ``version`` with the rows, in one transaction, and skips a version that it has.

    Args:
        path: The directory of the table.
        table: The name of the table in the catalog, instead.
        options: More options of Delta's writer, such as ``{"mergeSchema": True}``.
    """
    if (path is None) == (table is None):
        raise InvalidProgramError("delta_writer takes either the path of a table or, with table=…, its name")

    def write(frame: DataFrame, commit: TableCommit) -> None:
        writer = frame.write.format("delta").mode("append").options(**(options or {}))
        writer = writer.option("txnAppId", commit.app_id).option("txnVersion", commit.version)
        if path is not None:
            writer.save(path)
        else:
            writer.saveAsTable(str(table))

    return write


def directory_writer(path: str, format: str = "parquet", options: Mapping[str, Any] | None = None) -> TableWriter:
    """Write each commit to a directory of its own below a path, over what is there of the same commit.

    ``spark.read.parquet(path)`` reads all of them, with a column ``commit`` that names the commit of a row.

    Args:
        path: The directory of the table.
        format: The format of the files, as Spark calls it.
        options: Options of Spark's writer for that format.
    """

    def write(frame: DataFrame, commit: TableCommit) -> None:
        writer = frame.write.format(format).mode("overwrite").options(**(options or {}))
        writer.save(f"{path.rstrip('/')}/commit={commit.name}")

    return write
