"""Type information for rows, tuples, arrays, lists and maps: types made of other types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic

from rekindle.base.type_variables import K, T_co, V
from rekindle.types.basic_typeinfo import BasicType, BasicTypeInfo
from rekindle.types.row import Row, RowKind
from rekindle.types.type_information import TypeInformation, require_type

__all__ = [
    "BasicArrayTypeInfo",
    "ExternalTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]


class _FieldsTypeInfo(TypeInformation[T_co]):
    """Hold the types of fields in an order; two kinds of record are made of it."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        name = type(self).__name__
        self._field_types = [
            require_type(field_type, f"Field {position} of {name}") for position, field_type in enumerate(field_types)
        ]

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields, in order."""
        return self._field_types

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def from_internal_type(self, obj: Any) -> Any:
        """Return a tuple of the fields in the user's form; a tuple or list is there already."""
        if obj is None or isinstance(obj, tuple | list):
            return obj
        return tuple(
            field_type.from_internal_type(value) for field_type, value in zip(self._field_types, obj, strict=False)
        )

    def _internal_fields(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(
            field_type.to_internal_type(value) for field_type, value in zip(self._field_types, values, strict=False)
        )

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._field_types == getattr(other, "_field_types", None)

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._field_types)))


class RowTypeInfo(_FieldsTypeInfo[Row]):
    """Describe rows. Names do not count when two row types are compared, as in Flink."""

    def __init__(self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None) -> None:
        super().__init__(field_types)
        self._field_names = None if field_names is None else list(field_names)
        if self._field_names is None:
            return
        if len(self._field_names) != len(self._field_types):
            raise ValueError(
                f"Number of field types and names is different: {len(self._field_types)} types, "
                f"and the names {self._field_names}."
            )
        if len(set(self._field_names)) != len(self._field_names):
            raise ValueError(f"Field names are not unique: {self._field_names}.")

    def get_field_names(self) -> list[str]:
        """Return the names of the fields; f0, f1, … when they were given none."""
        if self._field_names is None:
            return [f"f{position}" for position in range(len(self._field_types))]
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field; -1 when the fields were given no names.

        Raises:
            ValueError: There are names, and this is not one of them.
        """
        if not self._field_names:
            return -1
        if field_name not in self._field_names:
            raise ValueError(f"There is no field {field_name!r} in {self}.")
        return self._field_names.index(field_name)

    def to_internal_type(self, obj: Any) -> Any:
        """Return the row kind's number and then the fields, as one tuple.

        Takes a row, a tuple or list in the order of the fields, a dict, or an object with attributes.
        """
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        return (kind.value, *self._internal_fields(self.values_of(obj)))

    def values_of(self, obj: Any) -> Iterable[Any]:
        """Return the values of a record in the order of the fields.

        Args:
            obj: A row, a tuple or list in the order of the fields, a dict, or an object with attributes.

        Raises:
            ValueError: It is not one of these, or it is a row without one of the fields.
        """
        if isinstance(obj, Row):
            if obj._fields is None or obj._fields == self._field_names:
                return obj
            return [obj[name] for name in self.get_field_names()]
        if isinstance(obj, tuple | list):
            return obj
        if isinstance(obj, dict):
            return [obj.get(name) for name in self.get_field_names()]
        if hasattr(obj, "__dict__"):
            return [getattr(obj, name, None) for name in self.get_field_names()]
        raise ValueError(f"Cannot use {obj!r} as a row of the type {self}; give a Row, a tuple or a dict.")

    def __repr__(self) -> str:
        if self._field_names:
            named = zip(self._field_names, self._field_types, strict=True)
            return f"RowTypeInfo({', '.join(f'{name}: {field_type}' for name, field_type in named)})"
        return f"RowTypeInfo({', '.join(map(str, self._field_types))})"


class TupleTypeInfo(_FieldsTypeInfo[tuple[Any, ...]]):
    """Describe tuples."""

    def to_internal_type(self, obj: Any) -> Any:
        """Return the fields in their internal form, as one tuple."""
        if obj is None:
            return None
        if not isinstance(obj, list | tuple | Row):
            raise ValueError(f"Cannot use {obj!r} as a tuple of the type {self}; give a tuple.")
        return self._internal_fields(obj)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class _ElementsTypeInfo(TypeInformation[T_co]):
    """Hold the one type of all elements."""

    def __init__(self, element_type: TypeInformation) -> None:
        self.element_type = require_type(element_type, f"The element type of {type(self).__name__}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.element_type == getattr(other, "element_type", None)

    def __hash__(self) -> int:
        return hash((type(self), self.element_type))

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.element_type}>"


class _BasicElementsTypeInfo(_ElementsTypeInfo[Any]):
    """Hold an element type out of a few basic ones."""

    _allowed: ClassVar[tuple[BasicType, ...]] = (
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    )

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        if not (isinstance(element_type, BasicTypeInfo) and element_type.basic_type in self._allowed):
            raise TypeError(
                f"Invalid element type {element_type} for {type(self).__name__}; "
                f"it takes {', '.join(basic_type.name for basic_type in self._allowed)}. "
                "For other types use Types.OBJECT_ARRAY or Types.LIST."
            )


class PrimitiveArrayTypeInfo(_BasicElementsTypeInfo):
    """Describe arrays of numbers, booleans or characters without None; of bytes: ``bytes``.

    Attributes:
        element_type: The type of the elements.
    """


class BasicArrayTypeInfo(_BasicElementsTypeInfo):
    """Describe arrays of numbers, booleans, characters or strings, in which elements may be None.

    Attributes:
        element_type: The type of the elements.
    """

    _allowed = (*_BasicElementsTypeInfo._allowed, BasicType.STRING)


class ObjectArrayTypeInfo(_ElementsTypeInfo[Any]):
    """Describe arrays of any type, in which elements may be None.

    Attributes:
        element_type: The type of the elements.
    """


class ListTypeInfo(_ElementsTypeInfo[list[V]], Generic[V]):
    """Describe lists.

    Attributes:
        element_type: The type of the elements.
    """

    @property
    def elem_type(self) -> TypeInformation:
        """Return the type of the elements, under PyFlink's name for it."""
        return self.element_type


class MapTypeInfo(TypeInformation[dict[K, V]], Generic[K, V]):
    """Describe dicts.

    Attributes:
        key_type: The type of the keys.
        value_type: The type of the values.
    """

    def __init__(self, key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]) -> None:
        self.key_type = require_type(key_type_info, "The key type of MapTypeInfo")
        self.value_type = require_type(value_type_info, "The value type of MapTypeInfo")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MapTypeInfo):
            return False
        return self.key_type == other.key_type and self.value_type == other.value_type

    def __hash__(self) -> int:
        return hash((MapTypeInfo, self.key_type, self.value_type))

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type}, {self.value_type}>"


class ExternalTypeInfo(TypeInformation[Any]):
    """Describe a type that came from a table; it behaves as the type inside.

    Attributes:
        type_info: The type inside.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        self.type_info = require_type(type_info, "The type in ExternalTypeInfo")

    def need_conversion(self) -> bool:
        """Return what the type inside says."""
        return self.type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return what the type inside makes of the value."""
        return self.type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """Return what the type inside makes of the value."""
        return self.type_info.from_internal_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExternalTypeInfo) and self.type_info == other.type_info

    def __hash__(self) -> int:
        return hash((ExternalTypeInfo, self.type_info))

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self.type_info}>"
