"""``sum``, ``min``, ``max``, ``min_by`` and ``max_by``: reductions by one field, of keyed streams and of windows."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from operator import add, ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from rekindle.columns.folds import FieldReduction
from rekindle.contracts.functions.basic_functions import ReduceFunction
from rekindle.exceptions import InvalidProgramError
from rekindle.types.row import Row, row_from

if TYPE_CHECKING:
    from rekindle.datastream.data_stream import DataStream

Position = int | str
"""A field of a record: its place, or its name."""


class FieldReductions:
    """Give a stream that can be reduced the reductions by one field.

    A field is named by its place or by its name; a record that is one value is its own field 0.
    """

    @abstractmethod
    def reduce(self, func: Any, /) -> DataStream:
        """Combine records."""

    def sum(self, position_to_sum: Position = 0) -> DataStream:
        """Add up a field; the other fields stay those of the first record.

        Args:
            position_to_sum: The place or the name of the field. A record that is one value is its own field 0.
        """
        return self.reduce(FieldAggregate("sum", position_to_sum, add))

    def min(self, position_to_min: Position = 0) -> DataStream:
        """Keep the least value of a field; the other fields stay those of the first record."""
        return self.reduce(FieldAggregate("min", position_to_min, min))

    def max(self, position_to_max: Position = 0) -> DataStream:
        """Keep the greatest value of a field; the other fields stay those of the first record."""
        return self.reduce(FieldAggregate("max", position_to_max, max))

    def min_by(self, position_to_min_by: Position = 0, first: bool = True) -> DataStream:
        """Keep the record with the least value of a field; of several the first, or else the last."""
        return self.reduce(FieldChoice("min_by", position_to_min_by, lt if first else le))

    def max_by(self, position_to_max_by: Position = 0, first: bool = True) -> DataStream:
        """Keep the record with the greatest value of a field; of several the first, or else the last."""
        return self.reduce(FieldChoice("max_by", position_to_max_by, gt if first else ge))


class FieldAggregate(ReduceFunction):
    """Combine one field of two records; the others stay those of the first."""

    def __init__(self, method: str, position: Position, combine: Callable[[Any, Any], Any]) -> None:
        self._field = _Field(method, position)
        self._combine = combine
        self.field_reduction = FieldReduction(method, position)

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the first record with the field combined."""
        field = self._field
        return field.replaced(value1, self._combine(field.of(value1), field.of(value2)))


class FieldChoice(ReduceFunction):
    """Keep the record whose field is better, by a comparison that says which of two that are equally good is kept."""

    def __init__(self, method: str, position: Position, better: Callable[[Any, Any], Any]) -> None:
        self._field = _Field(method, position)
        self._better = better
        self.field_reduction = FieldReduction(method, position, better in (lt, gt))

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return one of the two records."""
        return value2 if self._better(self._field.of(value2), self._field.of(value1)) else value1


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
            ) from error
        if position != 0:
            raise InvalidProgramError(
                f"{self._method}({position!r}) was asked for a field of {record!r}, which is one value: leave the "
                "position out"
            )
        return record

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
