"""What a row of columns becomes: a row of PyFlink's kind, a dict, or an instance of a class of the program."""

from __future__ import annotations

import typing
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from rekindle.formats.row_schemas import class_annotations, is_record_class, without_none
from rekindle.types.row import Row, row_from

__all__ = ["ClassForm", "DictForm", "RecordForm", "RowForm", "record_form"]

Conversion = Callable[[Any], Any]


class RecordForm(ABC):
    """Turn rows into records. It travels to the slots by pickle."""

    @abstractmethod
    def records(self, rows: Iterable[Any]) -> list[Any]:
        """Return the records of rows, which are tuples with the names of their fields."""


class RowForm(RecordForm):
    """Make rows of PyFlink's kind, with the names of their fields; rows inside of them are such rows, too."""

    def records(self, rows: Iterable[Any]) -> list[Any]:
        """Return the records."""
        found: list[Row] = []
        names: list[str] | None = None
        for row in rows:
            names = names or list(row.__fields__)
            found.append(row_from(list(map(_as_row, row)), names))
        return found


class DictForm(RecordForm):
    """Make dicts; rows inside of them are dicts, too."""

    def records(self, rows: Iterable[Any]) -> list[Any]:
        """Return the records."""
        return [_as_dict(row) for row in rows]


class ClassForm(RecordForm):
    """Make instances of a dataclass, a ``msgspec.Struct`` or a ``NamedTuple``, by calling it with the fields in order.

    Attributes:
        cls: The class.
    """

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def records(self, rows: Iterable[Any]) -> list[Any]:
        """Return the records."""
        make = _instance_maker(self.cls)
        return list(map(make, rows))


def record_form(record_class: Any) -> RecordForm:
    """Return the form that a program asks for by a class.

    Raises:
        TypeError: Rows cannot become instances of it.
    """
    if record_class is dict:
        return DictForm()
    if record_class is Row:
        return RowForm()
    if is_record_class(record_class):
        return ClassForm(record_class)
    raise TypeError(
        f"record_class is {record_class!r}, and rows become instances of a dataclass, a msgspec.Struct or a "
        "NamedTuple, rekindle.common.Row, or dict; omit it for Spark's rows"
    )


def _as_row(value: Any) -> Any:
    if hasattr(value, "__fields__"):
        return row_from(list(map(_as_row, value)), list(value.__fields__))
    if isinstance(value, list):
        return list(map(_as_row, value))
    if isinstance(value, dict):
        return {key: _as_row(item) for key, item in value.items()}
    return value


def _as_dict(value: Any) -> Any:
    if hasattr(value, "__fields__"):
        return dict(zip(value.__fields__, map(_as_dict, value), strict=True))
    if isinstance(value, list):
        return list(map(_as_dict, value))
    if isinstance(value, dict):
        return {key: _as_dict(item) for key, item in value.items()}
    return value


def _instance_maker(cls: type) -> Conversion:
    """Return what makes an instance of a tuple with its fields, in their order."""
    conversions = [_conversion(annotation) for annotation in class_annotations(cls).values()]
    if not any(conversions):
        return lambda row: cls(*row)
    places = [(place, conversion) for place, conversion in enumerate(conversions) if conversion is not None]

    def make(row: Any) -> Any:
        values = list(row)
        for place, conversion in places:
            if values[place] is not None:
                values[place] = conversion(values[place])
        return cls(*values)

    return make


def _conversion(annotation: Any) -> Conversion | None:
    """Return what a value of a column becomes; None: it stays as it is."""
    annotation = without_none(annotation)
    if is_record_class(annotation):
        return _instance_maker(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum | uuid.UUID):
        return annotation
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (list, set, frozenset, tuple) and arguments:
        element = _conversion(arguments[0])
        if element is None:
            return None if origin is list else origin
        return lambda values: origin(None if value is None else element(value) for value in values)
    if origin is dict:
        item = _conversion(arguments[1])
        if item is not None:
            return lambda values: {key: None if value is None else item(value) for key, value in values.items()}
    return None
