"""The serializer of ``msgspec.Struct``."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.classes.class_fields import ClassField, fields_of_struct
from rekindle.serialization.classes.fields_evolution import NamedFieldsSerializerSnapshot
from rekindle.serialization.classes.named_fields_serializer import NamedFieldsSerializer
from rekindle.serialization.encodings.stand_ins import struct_stand_in
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot

__all__ = ["StructSerializer", "StructSerializerSnapshot"]

T = TypeVar("T")


class StructSerializer(NamedFieldsSerializer[T]):
    """Serialize instances of a ``msgspec.Struct``; its fields may be added, removed and reordered later.

    They are stored by position, whatever the options of the class say about tags, other names and maps. An instance
    that is read is made as msgspec makes it, with its ``__post_init__``.
    """

    @staticmethod
    def fields_of(cls: Any) -> list[ClassField]:
        """Return the fields of a struct."""
        if not (isinstance(cls, type) and issubclass(cls, msgspec.Struct)):
            raise SerializationError(f"{cls!r} is not a msgspec.Struct")
        return fields_of_struct(cls)

    def is_frozen(self) -> bool:
        """Return whether the class is frozen."""
        return bool(self.cls.__struct_config__.frozen)  # type: ignore[attr-defined]

    def snapshot(self) -> TypeSerializerSnapshot[T]:
        """Return the snapshot of this serializer."""
        return StructSerializerSnapshot(self)

    def constructor_source(self, variables: dict[str, Any], values: dict[str, str]) -> list[str]:
        """Return lines that call the class."""
        is_plain = not hasattr(self.cls, "__post_init__")
        arguments = ", ".join(f"{name}={value}" for name, value in values.items())
        if is_plain:
            return [f"instance = cls({arguments})"]
        variables["failed"] = self._post_init_failed
        return [
            "try:",
            f"    instance = cls({arguments})",
            "except Exception as error:",
            "    raise failed(error) from error",
        ]

    def _post_init_failed(self, error: Exception) -> SerializationError:
        if isinstance(error, SerializationError | msgspec.MsgspecError):
            return SerializationError(str(error))
        return SerializationError(
            f"an instance of {self.name} cannot be made of its fields, or __post_init__ refuses them: "
            f"{type(error).__name__}: {error}"
        )


class StructSerializerSnapshot(NamedFieldsSerializerSnapshot[T]):
    """Remember a struct."""

    kind = "msgspec.Struct"
    serializer_class = StructSerializer
    make_stand_in = staticmethod(struct_stand_in)

    @staticmethod
    def is_of_kind(cls: type) -> bool:
        """Return whether a class is a struct."""
        return issubclass(cls, msgspec.Struct)
