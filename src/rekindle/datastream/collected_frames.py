"""The result of a bounded program as a DataFrame: the commits of a sink, each in a directory of its own.

The rows never come to the driver: slots write them to files, and Spark copies these, reads them and filters them.
"""

from __future__ import annotations

import atexit
import uuid
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from rekindle.base.scratch_directory import ScratchDirectory
from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.contracts.table_commit import TableCommit
from rekindle.exceptions import CheckpointError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@cache
def _scratch() -> str:
    """Return a directory on this machine that is gone after the driver, the same for all results."""
    scratch = ScratchDirectory()
    atexit.register(scratch.close)
    return scratch.path


class CollectedFrames:
    """Keep the rows of a stream for a DataFrame, until the driver ends.

    Args:
        session: Reads them.
        schema: Their columns.
        directory: Where they go, on all machines; None: to a directory on this one.
    """

    def __init__(self, session: SparkSession, schema: pa.Schema, directory: str | None) -> None:
        self._session = session
        self._schema = schema
        self._root = checkpoint_files(_scratch() if directory is None else directory)
        self._name = f"frame-{uuid.uuid4().hex}"
        self._commits: dict[str, str] = {}
        if directory is not None:
            atexit.register(self._remove)

    def write(self, frame: DataFrame, commit: TableCommit) -> None:
        """Keep the rows of a commit."""
        from rekindle.runtime.spark.rows_frame import spark_path

        target = self._root.describe(paths.join(self._name, commit.name))
        frame.write.mode("overwrite").parquet(spark_path(target))
        self._commits[commit.name] = target
        self._session = frame.sparkSession  # another one, if Spark was lost and started anew

    def frame(self) -> Any:
        """Return all rows."""
        from rekindle.runtime.spark.rows_frame import rows_frame

        return rows_frame(self._session, [*self._commits.values()], self._schema)

    def _remove(self) -> None:
        with suppress(CheckpointError):
            self._root.delete(self._name)
