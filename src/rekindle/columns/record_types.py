"""Which types of records columns may have that are sent as they are. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.columns.kinds import Kind
from rekindle.columns.shapes import Shape, ShapeKind
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.composite_typeinfo import TupleTypeInfo
from rekindle.types.type_information import TypeInformation

BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32}
"""The types of integers that do not take all values of 64 bits."""

_KINDS = {
    BasicType.STRING: Kind.TEXT,
    BasicType.BOOLEAN: Kind.BOOL,
    BasicType.BYTE: Kind.INT,
    BasicType.SHORT: Kind.INT,
    BasicType.INT: Kind.INT,
    BasicType.LONG: Kind.INT,
    BasicType.DOUBLE: Kind.FLOAT,
}


def field_types(type_info: TypeInformation, shape: Shape) -> list[BasicType] | None:
    """Return the types of the fields of records; None where they are not known to stay as they are."""
    if shape.kind is ShapeKind.VALUE:
        given: Sequence[TypeInformation] = [type_info]
    elif shape.kind is ShapeKind.TUPLE and isinstance(type_info, TupleTypeInfo):
        given = list(type_info.get_field_types())
    else:
        return None
    types = [each.basic_type for each in given if isinstance(each, BasicTypeInfo)]
    return types if len(types) == len(given) == len(shape) else None


def fits(type_info: TypeInformation | None, shape: Shape, kinds: Sequence[Kind]) -> bool:
    """Return whether a type takes records of these kinds as they are, unless single values say otherwise."""
    if type_info is None:
        return True
    types = field_types(type_info, shape)
    return types is not None and all(_KINDS.get(kind) is given for kind, given in zip(types, kinds, strict=True))
