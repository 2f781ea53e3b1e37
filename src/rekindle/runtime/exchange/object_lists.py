"""Lists of Python objects as bytes that give back what went in: equal objects of the same types, whatever they are.

How a list is written depends on what is really in it. Numbers, strings and bytes, and tuples, lists, rows and instances
of plain classes that hold nothing else go through msgpack: writing and reading together take half the time of pickle
for strings and rows, three quarters for tuples and four fifths for instances. Everything else is pickled; of tuples and
rows, their columns: a few lists are pickled two to three times faster than many tuples.

Most of the time goes into the look at each value's type. It cannot be left out: msgpack gives back a tuple inside a
tuple as a list, a datetime as a string, and a member of an enum as its value.
"""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from inspect import getattr_static
from itertools import chain, repeat
from keyword import iskeyword
from operator import attrgetter, eq
from typing import Any

import msgspec

from rekindle.serialization.encodings.pickle_serializer import UNPICKLABLE, unpicklable
from rekindle.types.row import Row, RowKind, row_from
from rekindle.types.spark_rows import is_schema_row
from rekindle.types.spark_rows import rows as rows_of_schema

_PLAIN = frozenset({int, str, float, bool, bytes, type(None)})

_encode = msgspec.msgpack.Encoder().encode
_decode_plain = msgspec.msgpack.Decoder(list).decode
_decode_lists = msgspec.msgpack.Decoder(list[list]).decode  # type: ignore[type-arg]
_decode_tuples = msgspec.msgpack.Decoder(list[tuple]).decode  # type: ignore[type-arg]
_decode_rows = msgspec.msgpack.Decoder(tuple[tuple[str, ...], list[tuple]]).decode  # type: ignore[type-arg]
_decode_instances = msgspec.msgpack.Decoder(tuple[bytes, tuple[str, ...], list[tuple]]).decode  # type: ignore[type-arg]
_decode_flink_rows = msgspec.msgpack.Decoder(tuple[list[str] | None, list[list]]).decode  # type: ignore[type-arg]
_dict_of, _values_of, _fields_of, _kind_of = map(attrgetter, ("__dict__", "_values", "_fields", "_row_kind"))


class Form(IntEnum):
    """Name the ways in which a list is written."""

    PICKLED = 0
    PICKLED_TUPLES = 1
    PICKLED_ROWS = 2
    PLAIN = 3
    TUPLES = 4
    LISTS = 5
    ROWS = 6
    INSTANCES = 7
    FLINK_ROWS = 8


Written = tuple[int, bytes]
"""A form, and the bytes."""


def write_objects(objects: list[Any]) -> Written:
    """Turn a list of at least one object into bytes."""
    kinds = set(map(type, objects))
    try:
        if kinds <= _PLAIN:
            return Form.PLAIN, _encode(objects)
        if len(kinds) == 1:
            written = _write_alike(objects, *kinds)
            if written is not None:
                return written
    except (OverflowError, UnicodeError):
        pass  # an integer of more than 64 bits, or half of a surrogate pair: known to pickle only
    try:
        return _write_pickled(objects, kinds)
    except UNPICKLABLE as error:
        raise unpicklable(error) from error


def read_objects(form: int, data: memoryview) -> list[Any]:
    """Turn bytes back into the list."""
    return _READERS[form](data)


def all_plain(values: Any) -> bool:
    """Return whether msgpack gives back each of these values as it is."""
    return _PLAIN.issuperset(map(type, values))


def _write_alike(objects: list[Any], kind: type) -> Written | None:
    if kind is tuple or kind is list:
        if _all_hold_plain(objects):
            return (Form.TUPLES if kind is tuple else Form.LISTS), _encode(objects)
    elif kind is Row:
        values = list(map(_values_of, objects))
        if _all_hold_plain(values) and set(map(_kind_of, objects)) == {RowKind.INSERT}:
            fields = objects[0]._fields
            if type(fields) in (list, type(None)) and all(map(eq, map(_fields_of, objects), repeat(fields))):
                return Form.FLINK_ROWS, _encode((fields, values))
    elif is_schema_row(kind):
        if _all_hold_plain(objects):
            return Form.ROWS, _encode((objects[0].__fields__, objects))
    elif _is_plain_class(kind) and all_plain(vars(objects[0]).values()):
        states = list(map(_dict_of, objects))
        names = set(map(tuple, states))
        rows = list(map(tuple, map(dict.values, states)))
        if len(names) == 1 and {str}.issuperset(map(type, *names)) and _all_hold_plain(rows):
            return Form.INSTANCES, _encode((pickle.dumps(kind, 5), *names, rows))
    return None


def _all_hold_plain(containers: list[Any]) -> bool:
    # Most often, what is true of one is true of all: the first one saves looking at the others.
    return all_plain(containers[0]) and all_plain(chain.from_iterable(containers))


def _write_pickled(objects: list[Any], kinds: set[type]) -> Written:
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is tuple or is_schema_row(kind):
            widths = set(map(len, objects))
            if len(widths) == 1 and widths != {0}:
                columns = [list(column) for column in zip(*objects, strict=True)]
                if kind is tuple:
                    return Form.PICKLED_TUPLES, pickle.dumps(columns, 5)
                return Form.PICKLED_ROWS, pickle.dumps((columns, tuple(objects[0].__fields__)), 5)
    return Form.PICKLED, pickle.dumps(objects, 5)


def _read_pickled_tuples(data: memoryview) -> list[Any]:
    return list(zip(*pickle.loads(data), strict=True))


def _read_pickled_rows(data: memoryview) -> list[Any]:
    columns, fields = pickle.loads(data)
    return list(rows_of_schema(fields, zip(*columns, strict=True)))


def _read_rows(data: memoryview) -> list[Any]:
    fields, rows = _decode_rows(data)
    return list(rows_of_schema(fields, rows))


def _read_flink_rows(data: memoryview) -> list[Any]:
    fields, rows = _decode_flink_rows(data)
    return [row_from(values, fields) for values in rows]


def _read_instances(data: memoryview) -> list[Any]:
    pickled_class, names, rows = _decode_instances(data)
    return _maker(pickle.loads(pickled_class), names)(rows)


_READERS: tuple[Callable[[memoryview], list[Any]], ...] = (
    pickle.loads,
    _read_pickled_tuples,
    _read_pickled_rows,
    _decode_plain,
    _decode_tuples,
    _decode_lists,
    _read_rows,
    _read_instances,
    _read_flink_rows,
)


@lru_cache(maxsize=256)
def _is_plain_class(kind: Any) -> bool:
    """Return whether pickle would make an instance anew and fill its ``__dict__``, and do nothing else."""
    return (
        kind.__new__ is object.__new__
        and kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not any(hasattr(kind, name) for name in ("__setstate__", "__getnewargs__", "__getnewargs_ex__"))
        and kind.__getattribute__ is object.__getattribute__
        and kind.__dictoffset__ != 0
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and kind not in copyreg.dispatch_table
    )


@lru_cache(maxsize=256)
def _maker(kind: Any, names: tuple[str, ...]) -> Callable[[list[Any]], list[Any]]:
    """Make the function that turns tuples of values into instances, compiled: a third of the time of a general one."""
    settable = names and kind.__setattr__ is object.__setattr__ and all(_is_attribute(kind, name) for name in names)
    if not settable:
        return lambda rows: [_filled(kind, names, row) for row in rows]
    variables = [f"value{position}" for position in range(len(names))]
    lines = [
        "def make(rows):",
        "    instances = []",
        f"    for {', '.join(variables)}, in rows:",
        "        instance = new(kind)",
        *(f"        instance.{name} = {variable}" for name, variable in zip(names, variables, strict=True)),
        "        instances.append(instance)",
        "    return instances",
    ]
    scope: dict[str, Any] = {"new": object.__new__, "kind": kind}
    exec("\n".join(lines), scope)
    made: Callable[[list[Any]], list[Any]] = scope["make"]
    return made


def _is_attribute(kind: type, name: str) -> bool:
    """Return whether ``instance.name = value`` can be written, and fills the instance's ``__dict__``."""
    is_name = name.isidentifier() and not iskeyword(name)
    return is_name and not hasattr(type(getattr_static(kind, name, None)), "__set__")


def _filled(kind: type, names: tuple[str, ...], row: tuple[Any, ...]) -> Any:
    instance: Any = object.__new__(kind)
    vars(instance).update(zip(names, row, strict=True))
    return instance
