"""Formats of files that a program names, as Spark reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rekindle.connectors.files.spark_files import EMPTY, FileFormat
from rekindle.formats.avro_files import AvroSchema
from rekindle.formats.csv_schema import CsvSchema
from rekindle.formats.record_forms import DictForm, RowForm, record_form
from rekindle.formats.row_schemas import is_record_class, spark_schema
from rekindle.types.annotations import as_type_info
from rekindle.types.class_typeinfo import AvroTypeInfo
from rekindle.types.composite_typeinfo import RowTypeInfo
from rekindle.types.typeinfo import Types

_PARSED = ("csv", "json", "xml")
"""Formats of text, whose records may be malformed."""


def file_format(name: str, schema: Any, record_class: Any, options: Mapping[str, Any]) -> FileFormat:
    """Return the format of ``FileSource.for_format``."""
    if not isinstance(name, str) or not name:
        raise TypeError(f"for_format takes the name of a format, such as 'parquet', and was given {name!r}")
    name = name.lower()
    if name == "text":
        raise ValueError("files of text are read by for_record_stream_format(StreamFormat.text_line_format(), …)")
    if schema is None and record_class is not None and is_record_class(record_class):
        schema = record_class
    avro = None
    if name == "avro":
        is_avro = isinstance(schema, dict) or (isinstance(schema, str) and schema.lstrip().startswith("{"))
        schema = AvroSchema(schema) if is_avro else schema
        avro = schema if isinstance(schema, AvroSchema) else None
    if name in _PARSED:
        options = {"mode": "FAILFAST", **options}
    return FileFormat(
        name,
        None if schema is None else spark_schema(schema),
        dict(options),
        None if record_class is None else record_form(record_class),
        as_type_info(record_class, "record_class") if is_record_class(record_class) else None,
        avro=avro,
    )


def csv_file_format(schema: CsvSchema) -> FileFormat:
    """Return the format of CSV files with a schema of their own; records are rows of PyFlink's kind."""
    options: dict[str, Any] = {
        "sep": schema.column_separator,
        "quote": schema.quote_char or "",
        "escape": schema.escape_char or schema.quote_char or "",
        "nullValue": schema.null_value,
        "emptyValue": EMPTY,
        "header": schema.header,
        "mode": "FAILFAST",
        "multiLine": True,
    }
    if schema.comments:
        options["comment"] = "#"
    return FileFormat(
        "csv",
        spark_schema(schema),
        options,
        RowForm(),
        Types.ROW_NAMED(schema.names, [column.kind for column in schema.columns]),
        {column.name: schema.separator_of(column) for column in schema.columns if column.is_array},
        marks_empty=True,
    )


def parquet_file_format(schema: Any) -> FileFormat:
    """Return the format of Parquet files whose records are rows of PyFlink's kind."""
    type_info = schema if isinstance(schema, RowTypeInfo) else None
    return FileFormat("parquet", spark_schema(schema), {}, RowForm(), type_info)


def avro_parquet_file_format(schema: AvroSchema) -> FileFormat:
    """Return the format of Parquet files whose records are dicts of an Avro schema."""
    return FileFormat("parquet", spark_schema(schema), {}, DictForm(), AvroTypeInfo(schema.schema))
