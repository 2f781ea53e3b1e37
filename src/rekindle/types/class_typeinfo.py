"""Type information that PyFlink has no counterpart of: for classes of the user, Avro records, and any serializer."""

from __future__ import annotations

import dataclasses
import enum
import json
from typing import Any

import msgspec

from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["AvroTypeInfo", "EnumTypeInfo", "PojoTypeInfo", "SerializerTypeInfo"]


class _ClassTypeInfo(TypeInformation):
    """Hold a class of the user."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.cls is getattr(other, "cls", None)

    def __hash__(self) -> int:
        return hash((type(self), self.cls))

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.cls.__module__}.{self.cls.__qualname__}>"


class PojoTypeInfo(_ClassTypeInfo):
    """Describe a dataclass or a ``msgspec.Struct``; its fields may be added, removed and reordered later.

    Attributes:
        cls: The class.
    """

    def __init__(self, cls: type) -> None:
        is_struct = isinstance(cls, type) and issubclass(cls, msgspec.Struct)
        if not (isinstance(cls, type) and (dataclasses.is_dataclass(cls) or is_struct)):
            raise TypeError(f"{cls!r} is neither a dataclass nor a msgspec.Struct")
        super().__init__(cls)


class EnumTypeInfo(_ClassTypeInfo):
    """Describe an ``enum.Enum``; members may be added and reordered later.

    Attributes:
        cls: The class.
    """

    def __init__(self, cls: type) -> None:
        if not (isinstance(cls, type) and issubclass(cls, enum.Enum)):
            raise TypeError(f"{cls!r} is not an enum.Enum")
        super().__init__(cls)


class AvroTypeInfo(TypeInformation):
    """Describe values of an Avro schema; they evolve by Avro's rules.

    Attributes:
        schema: The schema, as JSON gives it.
        cls: The dataclass whose instances records are; None: they are dicts.
    """

    def __init__(self, schema: Any, cls: type | None = None) -> None:
        """Describe the type.

        Args:
            schema: The schema as text, or as JSON gives it: a dict, a list or a name.
            cls: A dataclass whose instances records are; None: they are dicts.
        """
        is_text = isinstance(schema, str) and schema.lstrip().startswith(("{", "[", '"'))
        self.schema: Any = json.loads(schema) if is_text else schema
        if cls is not None and not dataclasses.is_dataclass(cls):
            raise TypeError(
                f"records of an Avro schema must be dicts or instances of a dataclass, but {cls!r} is not one"
            )
        self.cls = cls

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroTypeInfo) and self.schema == other.schema and self.cls is other.cls

    def __hash__(self) -> int:
        return hash((json.dumps(self.schema, sort_keys=True), self.cls))

    def __repr__(self) -> str:
        name = self.schema.get("name", self.schema.get("type")) if isinstance(self.schema, dict) else self.schema
        return f"AvroTypeInfo<{name}>"


class SerializerTypeInfo(TypeInformation):
    """Describe whatever a serializer of the user takes.

    Attributes:
        serializer: The serializer.
    """

    def __init__(self, serializer: TypeSerializer[Any]) -> None:
        if not isinstance(serializer, TypeSerializer):
            raise TypeError(f"{serializer!r} is not a TypeSerializer")
        self.serializer = serializer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SerializerTypeInfo) and self.serializer == other.serializer

    def __hash__(self) -> int:
        return hash((SerializerTypeInfo, self.serializer))

    def __repr__(self) -> str:
        return f"SerializerTypeInfo<{self.serializer!r}>"
