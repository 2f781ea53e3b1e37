"""Files of text, as Spark reads them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from rekindle.graph.transformations.sources import TextFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def load_text_files(files: TextFiles, session: SparkSession) -> DataFrame:
    """Let Spark find the files; return their lines."""
    from pyspark.sql import DataFrame  # programs are described without Spark
    from pyspark.sql import functions as F  # noqa: N812 - the customary name

    if files.monitored:
        reader = session.readStream.option("recursiveFileLookup", True)
        lines = reduce(DataFrame.unionAll, [reader.text(path) for path in files.paths])
    else:
        lines = session.read.option("recursiveFileLookup", True).text(list(files.paths))
    return lines.select(F.col("value").cast("binary")) if files.as_bytes else lines
