"""Records as Arrow batches, and Arrow batches as records."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from rekindle.columns.python_values import column_values
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.columns.table_rows import TableRows
from rekindle.exceptions import InvalidProgramError
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.composite_typeinfo import RowTypeInfo, TupleTypeInfo
from rekindle.types.row import Row
from rekindle.types.type_information import TypeInformation

_ARROW = {
    BasicType.STRING: pa.string(),
    BasicType.BOOLEAN: pa.bool_(),
    BasicType.BYTE: pa.int8(),
    BasicType.SHORT: pa.int16(),
    BasicType.INT: pa.int32(),
    BasicType.LONG: pa.int64(),
    BasicType.FLOAT: pa.float32(),
    BasicType.DOUBLE: pa.float64(),
}
_DECIMAL = pa.decimal128(38, 18)


def arrow_type(type_info: TypeInformation | None) -> pa.DataType | None:
    """Return the form that values of a type have in Arrow; None where they have none that is known."""
    if isinstance(type_info, BasicTypeInfo):
        return _ARROW.get(type_info.basic_type)
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        parts = [arrow_type(part) for part in type_info.get_field_types()]
        if all(part is not None for part in parts):
            return pa.struct([(f"f{place}", part) for place, part in enumerate(parts)])
    return None


def as_array(values: Sequence[Any], kind: pa.DataType | None) -> pa.Array:
    """Return Python's values as an array; tuples and rows become structs."""
    if kind is not None and pa.types.is_struct(kind):
        mask = pa.array([value is None for value in values], pa.bool_())
        filled = [(None,) * kind.num_fields if value is None else tuple(value) for value in values]
        columns = list(zip(*filled, strict=True)) if filled else [()] * kind.num_fields
        fields = [kind.field(place) for place in range(kind.num_fields)]
        parts = [as_array(part, field.type) for part, field in zip(columns, fields, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    return found_array(values) if kind is None else pa.array(values, kind)


def found_array(values: Sequence[Any]) -> pa.Array:
    """Return Python's values as an array of the type that they have.

    Decimals have the one that Spark gives them, if they fit into it: else the longest of a batch would decide.
    """
    array = pa.array(values)
    if pa.types.is_decimal(array.type):
        with suppress(pa.ArrowInvalid):
            return pa.array(values, _DECIMAL)
    return array


def as_values(array: pa.Array | Sequence[Any]) -> list[Any]:
    """Return the values of an array as Python's; structs become tuples."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not isinstance(array, pa.Array):
        return list(array)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not pa.types.is_struct(array.type):
        return column_values(array)
    parts = [as_values(part) for part in array.flatten()]
    valid = array.is_valid().to_pylist()
    rows = zip(*parts, strict=True) if parts else iter([()] * len(array))
    return [row if there else None for row, there in zip(rows, valid, strict=True)]


def inferred(column: pa.Array) -> pa.Array | None:
    """Return a column with the type that Arrow finds for its values as Python's; None: only the values can tell."""
    kind = column.type
    if column.null_count == len(column):
        return pa.nulls(len(column))
    if pa.types.is_signed_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column.cast(pa.float64())
    return column if pa.types.is_boolean(kind) or pa.types.is_string(kind) else None


def record_batch(
    fields: Sequence[pa.Array], shape: Shape, type_info: TypeInformation | None, schema: pa.Schema | None
) -> pa.RecordBatch | None:
    """Return columns of records as the batch that :func:`batch_of` makes of the records.

    Returns:
        The batch; None: it must be made of the records.
    """
    if schema is not None:
        types: list[pa.DataType | None] = list(schema.types)
    elif isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        types = [arrow_type(each) for each in type_info.get_field_types()]
    else:
        types = [arrow_type(type_info)] if shape.kind is ShapeKind.VALUE else [None] * len(shape)
    arrays = [
        inferred(field) if kind is None else field if field.type == kind else field.cast(kind)
        for field, kind in zip(fields, types, strict=True)
    ]
    if any(array is None for array in arrays):
        return None
    return pa.RecordBatch.from_arrays(arrays, names=_names(shape))


def batch_of(records: list[Any], type_info: TypeInformation | None, schema: pa.Schema | None) -> pa.RecordBatch:
    """Return records as a batch: rows by their names, tuples by place, others as one column.

    Args:
        records: The records.
        type_info: Their type; None: it was not declared.
        schema: What their columns are if they are rows of a DataFrame, as they were read; None: they are not.

    Raises:
        InvalidProgramError: They have no form in Arrow.
    """
    if schema is not None:
        return TableRows(schema).batch(records)
    first = records[0]
    names = getattr(first, "__fields__", None) or getattr(first, "_fields", None)
    try:
        if isinstance(first, tuple | Row) and len(first):
            types = type_info.get_field_types() if isinstance(type_info, TupleTypeInfo | RowTypeInfo) else None
            kinds = [None] * len(first) if types is None else [arrow_type(each) for each in types]
            columns = zip(*map(tuple, records), strict=True)
            arrays = [as_array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
            return pa.RecordBatch.from_arrays(arrays, names=list(names or _names(Shape.tuple(len(first)))))
        return pa.RecordBatch.from_arrays([as_array(records, arrow_type(type_info))], names=["value"])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidProgramError(
            f"records of process_batches have no common form in Arrow: {error}. Map them to tuples, rows or numbers "
            "whose fields have one type each"
        ) from error


def rows_of(batch: pa.RecordBatch | pa.Table) -> list[Any]:
    """Return the rows of an Arrow batch as records like a DataFrame's: ``row.name``, ``row["name"]``, ``row[0]``.

    For functions that see records one by one and have their results in Arrow: ``yield from rows_of(batch)``.

    Args:
        batch: An Arrow record batch, or a table.
    """
    if not isinstance(batch, pa.RecordBatch | pa.Table):
        raise TypeError(f"rows_of takes an Arrow record batch or table, and was given a {type(batch).__name__}")
    names = tuple(batch.schema.names)
    return Shape.row(names).records([column_values(column) for column in batch.columns])


def _names(shape: Shape) -> list[str]:
    if shape.kind is ShapeKind.ROW:
        return list(shape.names)
    return ["value"] if shape.kind is ShapeKind.VALUE else [f"f{place}" for place in range(len(shape))]
