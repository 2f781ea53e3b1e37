"""Files of any format, as Spark reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from rekindle.formats.avro_files import AvroSchema, read_avro
from rekindle.formats.record_forms import RecordForm
from rekindle.formats.spark_arrow import arrow_of_spark
from rekindle.graph.transformations.sources import DescribedFrame
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

EMPTY = "\0"
_BINARY_FILES = "path string, modificationTime timestamp, length long, content binary"


@dataclass(frozen=True, slots=True)
class FileFormat:
    """What is in files, and what their rows become.

    Attributes:
        name: The name that Spark has for the format.
        schema: The schema of rows; None: Spark finds it out.
        options: Options of Spark's reader.
        form: What rows become; None: they stay Spark's.
        type_info: The type of the records, if it is known.
        separators: What is between the elements of columns that are arrays in CSV files, by their names.
        marks_empty: Whether Spark is told to read an empty text in quotes as :data:`EMPTY`; to it, it is a missing one.
        avro: The schema that records of Avro files are read with; None: that of each file.
    """

    name: str
    schema: StructType | None = None
    options: dict[str, Any] = field(default_factory=dict)
    form: RecordForm | None = None
    type_info: TypeInformation | None = None
    separators: dict[str, str] = field(default_factory=dict)
    marks_empty: bool = False
    avro: AvroSchema | None = None


@dataclass(frozen=True, slots=True)
class SparkFiles(DescribedFrame):
    """Files that Spark finds and reads.

    Attributes:
        paths: Files, directories with all that is below them, or patterns.
        format: What is in them.
        monitored: Whether files that are added later are read, too.
    """

    paths: tuple[str, ...]
    format: FileFormat
    monitored: bool = False

    @property
    def schema(self) -> StructType | None:
        """Return the schema of rows, if it is known before Spark opens the files."""
        return self.format.schema

    @property
    def streaming(self) -> bool:
        """Return whether the files are read some at a time, with a position between two times."""
        return self.monitored or any(name.lower() in _PACES for name in self.format.options)

    def open(self, session: SparkSession) -> DataFrame:
        """Let Spark find the files; return their rows."""
        if self.format.name == "avro":
            return self._of_avro(session)
        schema = self.format.schema
        rows = self._read(session, self.format.name, _as_read(schema, self.format.separators))
        return (
            rows if schema is None or not self.format.marks_empty else _restored(rows, schema, self.format.separators)
        )

    def _of_avro(self, session: SparkSession) -> DataFrame:
        """Let Spark find the files, and Python read them: Spark's own reader of Avro is a package of its own."""
        schema = self.format.schema
        assert schema is not None  # or it would have been refused
        files = self._read(session, "binaryFile", _BINARY_FILES).select("path", "content")
        return files.mapInArrow(partial(_avro_rows, self.format.avro, arrow_of_spark(schema)), schema)

    def _read(self, session: SparkSession, name: str, schema: Any) -> DataFrame:
        from pyspark.sql import DataFrame

        options = {"recursiveFileLookup": True, **self.format.options}
        reader = (session.readStream if self.streaming else session.read).format(name).options(**options)
        if schema is not None:
            reader = reader.schema(schema)
        if self.streaming:
            return reduce(DataFrame.unionAll, [reader.load(path) for path in self.paths])
        return reader.load(list(self.paths))  # type: ignore[arg-type]  # a stream is loaded from one path


_PACES = ("maxfilespertrigger", "maxbytespertrigger")


def _as_read(schema: StructType | None, separators: dict[str, str]) -> StructType | None:
    """Return the schema that Spark's reader is given: arrays in CSV files are text to it."""
    if schema is None or not separators:
        return schema
    from pyspark.sql.types import StringType, StructField, StructType

    return StructType(
        [StructField(each.name, StringType()) if each.name in separators else each for each in schema.fields]
    )


def _restored(rows: DataFrame, schema: StructType, separators: dict[str, str]) -> DataFrame:
    """Return rows with arrays, and with empty texts that are not missing."""
    from pyspark.sql import functions as F  # noqa: N812 - the customary name
    from pyspark.sql.types import StringType

    columns = []
    for each in schema.fields:
        column = text = F.col(f"`{each.name}`")
        if each.name in separators:
            column = F.split(text, re.escape(separators[each.name])).cast(each.dataType)
            column = F.when(text == EMPTY, F.array().cast(each.dataType)).otherwise(column)
        elif isinstance(each.dataType, StringType):
            column = F.when(text == EMPTY, F.lit("")).otherwise(text)
        columns.append(column.alias(each.name))
    return rows.select(*columns)


def _avro_rows(
    avro: AvroSchema | None, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Read files of Avro, in a task of Spark."""
    import io

    from rekindle.exceptions import SerializationError
    from rekindle.formats.arrow_columns import arrow_table

    names = schema.names
    for batch in batches:
        for path, content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            try:
                for records in read_avro(io.BytesIO(content), avro):
                    wanted = [{name: record.get(name) for name in names} for record in records]
                    yield from arrow_table(wanted, schema).to_batches()
            except Exception as error:  # whatever it is, it has to name the file
                raise SerializationError(f"the Avro file {path} cannot be read: {error}") from error
