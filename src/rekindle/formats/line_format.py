"""Show records as lines of text, for sinks that write text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.formats.java_format import as_user_code_sees_it, java_string, unwrapped
from rekindle.formats.json_format import has_fields, json_text
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import MapTypeInfo, RowTypeInfo, TupleTypeInfo

__all__ = ["Line", "java_line", "json_line"]

Line = Callable[[TypeInformation | None, Any], str]
"""Give the text of a record; the type is None for a stream without one."""


def json_line(type_info: TypeInformation | None, value: Any) -> str:
    """Return a record with fields as JSON, anything else as its text: strings as they are, other types as in Java."""
    kind: type = type(value)
    if kind is str or not has_fields(kind):
        return java_string(type_info, value)
    return json_text(value if type_info is None else as_user_code_sees_it(type_info, value))


def java_line(type_info: TypeInformation | None, value: Any) -> str:
    """Return a record as Java's ``toString()`` does, where PyFlink has its type; else as :func:`json_line` does."""
    if isinstance(unwrapped(type_info), RowTypeInfo | TupleTypeInfo | MapTypeInfo):
        return java_string(type_info, value)
    return json_line(type_info, value)
