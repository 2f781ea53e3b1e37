"""What becomes of state when its type is replaced by another one."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot


class UndeclaredTypeSnapshot(TypeSerializerSnapshot[Any]):
    """Remember values whose type the program has not declared; it may do so later.

    Attributes:
        hinted: Whether the type is only hinted at: without the hint, values would be pickled.
    """

    hinted: ClassVar[bool] = False

    @abstractmethod
    def becoming(self, new: TypeSerializerSnapshot[Any]) -> TypeSerializerSchemaCompatibility:
        """Return what becomes of the state when it has another type."""


def type_changed(
    old: TypeSerializerSnapshot[Any], new: TypeSerializerSnapshot[Any]
) -> TypeSerializerSchemaCompatibility:
    """Return what becomes of state whose type has become another: it is incompatible, if it had a declared type."""
    return old.becoming(new) if isinstance(old, UndeclaredTypeSnapshot) else incompatible_types(old, new)


def incompatible_types(
    old: TypeSerializerSnapshot[Any], new: TypeSerializerSnapshot[Any], *why: str
) -> TypeSerializerSchemaCompatibility:
    """Say that one type cannot become another."""
    return TypeSerializerSchemaCompatibility.incompatible(
        f"the type was {old.describe()} and is {new.describe()} now", *why
    )
