"""The base of all type information, and what all kinds of it check."""

from __future__ import annotations

from typing import Any, Generic

from rekindle.base.type_variables import T_co

__all__ = ["TypeInformation", "require_type"]


class TypeInformation(Generic[T_co]):
    """Describe a type of records or state, so that a fitting serializer can be chosen.

    Type information is an immutable value: equal when it describes the same type, hashable, picklable.
    """

    def need_conversion(self) -> bool:
        """Return whether values have another form inside than in user code."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """Return the internal form of a value from user code."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """Return the user's form of an internal value."""
        return obj


def require_type(type_info: object, place: str) -> TypeInformation:
    """Return the argument if it is type information.

    Args:
        type_info: What somebody gave as a type.
        place: Where it was given; named in the error.

    Raises:
        TypeError: It is something else, such as ``Types.INT`` without its parentheses.
    """
    if isinstance(type_info, TypeInformation):
        return type_info
    hint = (
        "add the parentheses, as in Types.INT()"
        if callable(type_info)
        else "take one from Types, or give a class or an annotation"
    )
    raise TypeError(f"{place} must be type information, got {type_info!r}; {hint}.")
