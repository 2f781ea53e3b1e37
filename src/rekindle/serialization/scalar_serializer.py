"""What serializers of single values have in common: no state, no parts, one snapshot class each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from rekindle.serialization.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.serializer_snapshot import TypeSerializerSnapshot
from rekindle.serialization.simple_snapshot import SimpleTypeSerializerSnapshot

T = TypeVar("T")

# From here on msgspec checks a list faster than Python does element by element: it takes 2 µs to set out and then
# 10 ns instead of 60 for an element.
_WORTH_CHECKING_AT_ONCE = 50


class ScalarSerializer(MsgpackSerializer[T]):
    """Serialize single values. All serializers of one class are equal.

    Attributes:
        type_name: What the type is called, for people.
        zero: The value that a field has which nobody gave one.
        plain_type: The type of elements that are packed as they are, such that ``msgspec.convert`` takes these and no
            others; None where there are none, or where it cannot tell.
        plain_check: The same as a Python expression over the name ``{0}``; None where there is none.
    """

    type_name: ClassVar[str]
    zero: ClassVar[Any] = None
    plain_type: ClassVar[Any] = None
    plain_check: ClassVar[str | None] = None
    packs = True

    _snapshot_class: ClassVar[type[TypeSerializerSnapshot[Any]]]

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many elements; a list of plain ones is only looked at, in C."""
        if self.plain_type is not None and len(elements) >= _WORTH_CHECKING_AT_ONCE:
            try:
                return msgspec.convert(elements, list[self.plain_type])  # type: ignore[name-defined]
            except msgspec.ValidationError:
                pass  # Some have to be converted, or refused: look at each.
        return list(map(self.pack, elements))

    def is_immutable_type(self) -> bool:
        """Return True."""
        return True

    def create_instance(self) -> Any:
        """Return the zero of the type."""
        return self.zero

    def snapshot_configuration(self) -> TypeSerializerSnapshot[T]:
        """Return a snapshot that says which type it is."""
        return self._snapshot_class()


class ScalarSerializerSnapshot(SimpleTypeSerializerSnapshot[T]):
    """Remember of which type single values were. Each serializer has a subclass, which names it with ``of``."""

    _serializer_class: ClassVar[type[ScalarSerializer[Any]]]

    def __init_subclass__(cls, of: type[ScalarSerializer[Any]], **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._serializer_class = of
        of._snapshot_class = cls

    def __init__(self) -> None:
        super().__init__(self._serializer_class)

    def describe(self) -> str:
        """Name the type for people."""
        return self._serializer_class.type_name
