"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by``: reductions by one field, of keyed streams and of windows."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Sequence
from operator import add, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Generic

from rekindle.base.type_variables import T_co
from rekindle.columns.folds import FieldReduction
from rekindle.contracts.functions.basic_functions import ReduceFunction
from rekindle.exceptions import InvalidProgramError
from rekindle.types.basic_typeinfo import BasicTypeInfo
from rekindle.types.class_typeinfo import PojoTypeInfo
from rekindle.types.composite_typeinfo import RowTypeInfo, TupleTypeInfo
from rekindle.types.native_typeinfo import NamedTupleTypeInfo
from rekindle.types.row import Row, row_from
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.type_information import TypeInformation

if TYPE_CHECKING:
    from rekindle.datastream.data_stream import DataStream

Position = int | str
"""A field of a record: its place, or its name."""


class FieldReductions(Generic[T_co]):
    """Give a stream that can be reduced the reductions by one field.

    A field is named by its place or by its name; a record that is one value is its own field 0.
    """

    @abstractmethod
    def reduce(self, func: Any, /) -> DataStream[T_co]:
        """Combine records."""

    @abstractmethod
    def _record_type(self) -> TypeInformation | None:
        """Return the type of the records, as far as it is known."""

    def sum(self, position_to_sum: Position = 0) -> DataStream[T_co]:
        """Add up a field; the other fields stay those of the first record.

        Args:
            position_to_sum: The place or the name of the field. A record that is one value is its own field 0.

        Raises:
            InvalidProgramError: Records of the stream's type have no such field.
        """
        return self._reduced(FieldAggregate("sum", position_to_sum, add))

    def min(self, position_to_min: Position = 0) -> DataStream[T_co]:
        """Keep the least value of a field; the other fields stay those of the first record."""
        return self._reduced(FieldAggregate("min", position_to_min, min))

    def max(self, position_to_max: Position = 0) -> DataStream[T_co]:
        """Keep the greatest value of a field; the other fields stay those of the first record."""
        return self._reduced(FieldAggregate("max", position_to_max, max))

    def min_by(self, position_to_min_by: Position = 0, first: bool = True) -> DataStream[T_co]:
        """Keep the record with the least value of a field; of several the first, or else the last."""
        return self._reduced(FieldChoice("min_by", position_to_min_by, lt if first else le))

    def max_by(self, position_to_max_by: Position = 0, first: bool = True) -> DataStream[T_co]:
        """Keep the record with the greatest value of a field; of several the first, or else the last."""
        return self._reduced(FieldChoice("max_by", position_to_max_by, gt if first else ge))

    def _reduced(self, function: _FieldReduction) -> DataStream[T_co]:
        function.field.check_type(self._record_type())
        return self.reduce(function)


class _FieldReduction(ReduceFunction[Any]):
    """Reduce records by one field of theirs."""

    def __init__(self, method: str, position: Position) -> None:
        self.field = _Field(method, position)

    def check_record(self, record: Any) -> None:
        """Raise if a record has no such field; operators call it before they have two records to reduce."""
        self.field.of(record)


class FieldAggregate(_FieldReduction):
    """Combine one field of two records; the others stay those of the first."""

    def __init__(self, method: str, position: Position, combine: Callable[[Any, Any], Any]) -> None:
        super().__init__(method, position)
        self._combine = combine
        self.field_reduction = FieldReduction(method, position)

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the first record with the field combined."""
        field = self.field
        return field.replaced(value1, self._combine(field.of(value1), field.of(value2)))


class FieldChoice(_FieldReduction):
    """Keep the record whose field is better, by a comparison that says which of two that are equally good is kept."""

    def __init__(self, method: str, position: Position, better: Callable[[Any, Any], Any]) -> None:
        super().__init__(method, position)
        self._better = better
        self.field_reduction = FieldReduction(method, position, better in (lt, gt))

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return one of the two records."""
        return value2 if self._better(self.field.of(value2), self.field.of(value1)) else value1


class _Field:
    """Find a field in a record: an element of a tuple or list, a field of a row or class, or the record itself."""

    def __init__(self, method: str, position: Position) -> None:
        if not isinstance(position, int | str):
            raise TypeError(
                f"{method} takes the place of a field, an int, or its name, a str, and was given a "
                f"{type(position).__name__}"
            )
        self._method = method
        self._position = position

    def of(self, record: Any) -> Any:
        position = self._position
        try:
            if isinstance(record, tuple | list):
                return record[_place(record, position)]
            if isinstance(record, Row):
                return record[position]
            if isinstance(position, str):
                return getattr(record, position)
        except (IndexError, AttributeError, ValueError, KeyError) as error:
            raise InvalidProgramError(
                f"{self._method}({position!r}) was asked for a field that the record {record!r} does not have"
                f"{_those_there_are(_names(record))}"
            ) from error
        if position != 0:
            raise InvalidProgramError(
                f"{self._method}({position!r}) was asked for a field of {record!r}, which is one value: leave the "
                "position out"
            )
        return record

    def check_type(self, type_info: TypeInformation | None) -> None:
        """Raise if records of a type, where that is known, have no such field."""
        position, names = self._position, _names_in(type_info)
        length = len(names)
        if isinstance(type_info, TupleTypeInfo):
            length = len(type_info.get_field_types())
            missing = isinstance(position, int) and not -length <= position < length
        elif isinstance(type_info, BasicTypeInfo):
            missing = position != 0
        elif isinstance(position, str):
            missing = bool(names) and position not in names
        else:
            missing = bool(names) and not isinstance(type_info, PojoTypeInfo) and not -length <= position < length
        if missing:
            raise InvalidProgramError(
                f"{self._method}({position!r}) was asked for a field that records of type {type_info} do not have"
                f"{_those_there_are(names)}"
            )

    def replaced(self, record: Any, field: Any) -> Any:
        """Return a record with another value of the field."""
        position = self._position
        if isinstance(record, Row):
            row = row_from(list(record), record._fields)
            row.set_row_kind(record.get_row_kind())
            row[position] = field
            return row
        if isinstance(record, tuple | list):
            values = list(record)
            values[_place(record, position)] = field
            return values if isinstance(record, list) else tuple.__new__(type(record), values)
        if isinstance(position, str):
            return _with_attribute(record, position, field)
        return field


def _place(record: tuple[Any, ...] | list[Any], position: Position) -> int:
    """Return the place of a field; rows of a DataFrame and named tuples know their fields by name."""
    if isinstance(position, int):
        return position
    names: Any = getattr(record, "__fields__", None) or getattr(record, "_fields", ())
    return list(names).index(position)


def _with_attribute(record: Any, name: str, value: Any) -> Any:
    if dataclasses.is_dataclass(record):
        return dataclasses.replace(record, **{name: value})  # type: ignore[type-var]
    raise InvalidProgramError(
        f"a field of {record!r} cannot be replaced: give tuples, lists, rows or instances of dataclasses"
    )


def _names(record: Any) -> Sequence[str]:
    """Return the names of a record's fields; none where it has no names."""
    if dataclasses.is_dataclass(record):
        return [each.name for each in dataclasses.fields(record)]
    names = getattr(record, "__fields__", None) or getattr(record, "_fields", None)
    return names or getattr(record, "__struct_fields__", None) or ()


def _names_in(type_info: TypeInformation | None) -> Sequence[str]:
    """Return the names of the fields that records of a type have; none where they have no names."""
    match type_info:
        case SparkRowTypeInfo():
            return type_info.names
        case RowTypeInfo():
            return type_info.get_field_names() if type_info._field_names else ()
        case NamedTupleTypeInfo():
            names: tuple[str, ...] = type_info.cls._fields  # type: ignore[attr-defined]
            return names
        case PojoTypeInfo() if dataclasses.is_dataclass(type_info.cls):
            return [each.name for each in dataclasses.fields(type_info.cls)]
    return ()


def _those_there_are(names: Sequence[str]) -> str:
    return f"; it has {', '.join(map(repr, names))}" if names else ""
