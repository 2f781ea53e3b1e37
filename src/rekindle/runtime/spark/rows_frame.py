"""Files of rows as a DataFrame, and Spark's schemas as Arrow's."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType


def rows_frame(session: SparkSession, files: Sequence[str], schema: pa.Schema) -> DataFrame:
    """Open Parquet files as a DataFrame.

    Args:
        session: The session.
        files: The files, by path or URI; none: the DataFrame has no rows.
        schema: Their columns.
    """
    columns = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    if not files:
        return session.createDataFrame([], columns)
    return session.read.schema(columns).parquet(*map(spark_path, files))


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the columns of a DataFrame as Arrow has them.

    Raises:
        TypeError: Arrow has no such type.
        PySparkException: The same, as Spark puts it.
    """
    return to_arrow_schema(schema)


def spark_path(path: str) -> str:
    """Return a path as Spark takes it: pyarrow and Hadoop name the same file systems differently."""
    if "://" not in path:
        return f"file://{path}"
    path = path.partition("?")[0]  # options of pyarrow's
    return f"s3a{path[2:]}" if path.startswith("s3://") else path
