"""Files of text that Spark is to read: described in the program, opened once there is a session."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class TextFiles:
    """Describe files of text.

    Attributes:
        paths: Files, directories with all that is below them, or patterns.
        as_bytes: Whether lines are given as bytes, because they are not UTF-8.
        monitored: Whether files that are added later are read, too.
    """

    paths: tuple[str, ...]
    as_bytes: bool = False
    monitored: bool = False

    def load(self, session: SparkSession) -> DataFrame:
        """Let Spark find the files."""
        from pyspark.sql import DataFrame
        from pyspark.sql import functions as F  # noqa: N812 - the customary name

        if self.monitored:
            reader = session.readStream.option("recursiveFileLookup", True)
            lines = reduce(DataFrame.unionAll, [reader.text(path) for path in self.paths])
        else:
            lines = session.read.option("recursiveFileLookup", True).text(list(self.paths))
        return lines.select(F.col("value").cast("binary")) if self.as_bytes else lines
