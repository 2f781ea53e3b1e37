"""Rows: records with fields by position and, when they have names, by name.

Rows are made once per record on several paths, so a row is three slots and ``row_from`` skips ``__init__``:
with three fields it takes two thirds of the time of ``Row(*values)`` and a fifth of ``Row(**values)``'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind", "row_from"]


class RowKind(Enum):
    """Say what a row does to a changing table."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _SHORT_NAMES[self.value]


_SHORT_NAMES = ("+I", "-U", "+U", "-D")
_INSERT = RowKind.INSERT


class Row:
    """Hold the values of a record, and the names of its fields if they have any.

    ``Row(city="Oslo", visits=3)`` has names: ``row.city``, ``row["city"]``, ``"city" in row``.
    ``Row("Oslo", 3)`` has none: ``row[0]``, ``"Oslo" in row``.
    A row without names makes named rows when it is called: ``Visit = Row("city", "visits")``, and then
    ``Visit("Oslo", 3)``.
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: Sequence[Any] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("Can not use both args and kwargs to create Row")
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of the given kind."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the values by field name.

        Args:
            recursive: Turn rows inside into dicts as well, also those in lists and dicts.

        Raises:
            TypeError: The row has no field names.
        """
        if self._fields is None:
            raise TypeError("Cannot convert a Row without field names into a dict; give it names first.")
        values = [_rows_to_dicts(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return what the row does to a changing table."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Say what the row does to a changing table."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str] | None) -> None:
        """Give the fields names, or take them away with ``None``."""
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """Return the values of these fields; all values when the row has no names.

        Raises:
            ValueError: The row has no field of one of the names.
        """
        fields = self._fields
        if fields is None or names == fields:
            return self._values
        missing = [name for name in names if name not in fields]
        if missing:
            raise ValueError(f"Field names {missing} not exist in {list(fields)}.")
        return [self._values[fields.index(name)] for name in names]

    def __call__(self, *args: Any) -> Row:
        """Return a row with these values, whose field names are this row's values."""
        if len(args) > len(self._values):
            raise ValueError(f"Can not create Row with fields {self}, expected {len(self)} values but got {args}")
        row = row_from(list(args), self._values)
        row._row_kind = self._row_kind
        return row

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | slice):
            return self._values[item]
        if self._fields is None:
            raise AttributeError(f"The row has no field {item!r}: {_described_fields(self)}.")
        return self._values[self._index(item)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, int | slice):
            self._values[key] = value
        elif self._fields is None:
            raise KeyError(key)
        else:
            self._values[self._index(key)] = value

    def _index(self, name: Any) -> int:
        fields = self._fields or ()
        try:
            return fields.index(name)
        except ValueError:
            raise ValueError(f"The row has no field {name!r}: {_described_fields(self)}.") from None

    def __getattr__(self, item: str) -> Any:
        if not item.startswith("_"):
            try:
                return self._values[self._fields.index(item)]  # type: ignore[union-attr]
            except (AttributeError, ValueError, IndexError):
                pass
        message = f"The row has no field {item!r}: {_described_fields(self)}."
        raise AttributeError(message, name=item, obj=self)

    def __contains__(self, item: Any) -> bool:
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return False
        if type(self) is not type(other) or self._row_kind is not other._row_kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None:
            return False
        # The same fields in another order are the same row.
        if sorted(self._fields) != sorted(other._fields):
            return False
        return self._in_name_order() == other._in_name_order()

    def __hash__(self) -> int:
        if self._fields is None:
            return hash(tuple(self._values))
        # Equal rows may have their fields in different orders, so the order must not matter here.
        return hash(tuple(sorted(map(hash, self._values))))

    def _in_name_order(self) -> list[Any]:
        fields = self._fields or ()
        return [self._values[fields.index(name)] for name in sorted(fields)]

    def __reduce__(self) -> tuple[Callable[..., Row], tuple[Any, ...]]:
        if self._row_kind is not _INSERT:
            return _unpickled_row, (tuple(self._values), self._fields, self._row_kind.value)
        if self._fields is not None:
            return _unpickled_row, (tuple(self._values), self._fields)
        return _unpickled_row, (tuple(self._values),)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        named = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in named)})"


def row_from(values: list[Any], fields: Sequence[str] | None = None) -> Row:
    """Return an INSERT row around a list of values, as fast as Python can.

    Args:
        values: The row's values; the list becomes the row's own.
        fields: The fields' names; the same object may be given to many rows.
    """
    row = _new_row(Row)
    row._values = values
    row._fields = fields
    row._row_kind = _INSERT
    return row


_new_row = Row.__new__


def _unpickled_row(values: tuple[Any, ...], fields: Sequence[str] | None = None, kind: int = 0) -> Row:
    row = row_from(list(values), fields)
    if kind:
        row._row_kind = RowKind(kind)
    return row


def _described_fields(row: Row) -> str:
    fields = getattr(row, "_fields", None)
    return "its fields have no names" if fields is None else f"its fields are {list(fields)}"


def _rows_to_dicts(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_rows_to_dicts(element) for element in value]
    if isinstance(value, dict):
        return {key: _rows_to_dicts(element) for key, element in value.items()}
    return value
