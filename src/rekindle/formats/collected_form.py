"""How records of a type look when they come back to the driver.

PyFlink hands a FLOAT to the driver as the text that Java has for it: what is 0.10000000149011612 in a function is 0.1
there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.formats.java_format import java_float
from rekindle.types.native_typeinfo import NullableTypeInfo
from rekindle.types.row import row_from
from rekindle.types.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_ELEMENTS_TYPES = (ListTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo, BasicArrayTypeInfo)

Form = Callable[[Any], Any]


def collected_form(type_info: TypeInformation) -> Form | None:
    """Return the function that turns a record of a type into what the driver sees; None where that is the same."""
    if isinstance(type_info, ExternalTypeInfo):
        return collected_form(type_info.type_info)
    form = _form(type_info)
    return None if form is None else _or_none(form)


def _form(type_info: TypeInformation) -> Form | None:
    if isinstance(type_info, BasicTypeInfo):
        return _shortest if type_info.basic_type is BasicType.FLOAT else None
    if isinstance(type_info, NullableTypeInfo):
        return collected_form(type_info.inner)
    if isinstance(type_info, _ELEMENTS_TYPES):
        element = collected_form(type_info.element_type)
        return None if element is None else lambda values: list(map(element, values))
    if isinstance(type_info, MapTypeInfo):
        key, value = collected_form(type_info.key_type), collected_form(type_info.value_type)
        if key is None and value is None:
            return None
        key, value = key or _same, value or _same
        return lambda entries: {key(k): value(v) for k, v in entries.items()}
    if isinstance(type_info, TupleTypeInfo | RowTypeInfo):
        fields = [collected_form(field_type) for field_type in type_info.get_field_types()]
        if not any(fields):
            return None
        forms = [field or _same for field in fields]
        if isinstance(type_info, TupleTypeInfo):
            return lambda values: tuple(form(value) for form, value in zip(forms, values, strict=True))
        return lambda row: _row(row, forms)
    return None


def _row(row: Any, forms: list[Form]) -> Any:
    collected = row_from([form(value) for form, value in zip(forms, row, strict=True)], row._fields)
    collected.set_row_kind(row.get_row_kind())
    return collected


def _shortest(value: float) -> float:
    return float(java_float(value))


def _or_none(form: Form) -> Form:
    return lambda value: None if value is None else form(value)


def _same(value: Any) -> Any:
    return value
