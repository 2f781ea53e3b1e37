"""What serializers of single values have in common: no state, no parts, one snapshot class each."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from rekindle.serialization.encodings.msgpack_serializer import MsgpackSerializer
from rekindle.serialization.snapshots.simple_snapshot import SimpleTypeSerializerSnapshot
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot

T = TypeVar("T")


class ScalarSerializer(MsgpackSerializer[T]):
    """Serialize single values. All serializers of one class are equal.

    Attributes:
        type_name: What the type is called, for people.
        zero: The value that a field has which nobody gave one.
    """

    type_name: ClassVar[str]
    zero: ClassVar[Any] = None
    packs = True
    always_readable = True

    _snapshot_class: ClassVar[type[TypeSerializerSnapshot[Any]]]

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
