"""Stand-ins for classes of the user that are not here: state can be looked at without the program that wrote it.

They are only used where somebody allows it. A job that restores state never does: it needs its classes.
"""

from __future__ import annotations

import dataclasses
import io
import pickle
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import lru_cache
from typing import Any

import msgspec

from rekindle.serialization.snapshots.moved_modules import current_module

_ALLOWED: ContextVar[bool] = ContextVar("stand-ins for missing classes allowed", default=False)
_MARK = "__rekindle_stand_in__"
_MADE: dict[tuple[str, str], type] = {}


@contextmanager
def stand_ins_for_missing_classes() -> Iterator[None]:
    """Let stand-ins take the place of classes that are not found meanwhile."""
    token = _ALLOWED.set(True)
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def stand_ins_allowed() -> bool:
    """Return whether stand-ins may be used."""
    return _ALLOWED.get()


def is_stand_in(cls: type) -> bool:
    """Return whether a class was made here."""
    return _MARK in cls.__dict__


def made_stand_in(module: str, qualified: str) -> type | None:
    """Return the stand-in that was made for a class last; None: none was, or none is allowed."""
    return _MADE.get((module, qualified)) if stand_ins_allowed() else None


# --- classes whose fields are known from the snapshot of their serializer ---


@lru_cache(maxsize=1024)
def dataclass_stand_in(module: str, qualified: str, fields: tuple[str, ...]) -> type:
    """Make a dataclass with these fields."""
    made = dataclasses.make_dataclass(_last(qualified), [(name, Any) for name in fields], frozen=True)
    return _marked(made, module, qualified)


@lru_cache(maxsize=1024)
def struct_stand_in(module: str, qualified: str, fields: tuple[str, ...]) -> type:
    """Make a ``msgspec.Struct`` with these fields."""
    made = msgspec.defstruct(_last(qualified), [(name, Any) for name in fields], frozen=True)
    return _marked(made, module, qualified)


@lru_cache(maxsize=1024)
def named_tuple_stand_in(module: str, qualified: str, fields: tuple[str, ...]) -> type:
    """Make a named tuple with these fields."""
    made: Any = namedtuple(_last(qualified), fields, rename=True)  # type: ignore[misc]
    return _marked(made, module, qualified)


@lru_cache(maxsize=1024)
def enum_stand_in(module: str, qualified: str, members: tuple[str, ...]) -> type:
    """Make an enum with these members; what their values were is not known."""
    return _marked(Enum(_last(qualified), {name: name for name in members}), module, qualified)  # type: ignore[arg-type]


def _last(qualified: str) -> str:
    return qualified.rpartition(".")[2]


def _marked(cls: type, module: str, qualified: str) -> type:
    cls.__module__, cls.__qualname__ = module, qualified
    setattr(cls, _MARK, True)
    _MADE[module, qualified] = cls
    return cls


# --- classes of which a pickle says what it says ---


class PickledStandIn:
    """Hold what a pickle says of an object whose class is not here.

    Attributes:
        arguments: What the object was made of.
        state: What was set afterwards: its attributes, as a rule.
        items: What was appended, or set by key, where it is a kind of list or dict.
    """

    class_name = ""
    arguments: tuple[Any, ...]
    state: Any
    items: list[Any]

    def __new__(cls, *arguments: Any, **named: Any) -> PickledStandIn:
        self = object.__new__(cls)
        self.arguments = (*arguments, *named.items())
        self.state = None
        self.items = []
        return self

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def append(self, item: Any) -> None:
        """Take an element of a list."""
        self.items.append(item)

    def extend(self, items: Any) -> None:
        """Take elements of a list."""
        self.items.extend(items)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items.append((key, value))

    def fields(self) -> dict[str, Any]:
        """Return the attributes, as far as they can be told."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2 and isinstance(state[1], dict):  # of a class with slots
            return {**(state[0] or {}), **state[1]}
        return dict(state) if isinstance(state, dict) else {}

    def __repr__(self) -> str:
        shown = [repr(argument) for argument in self.arguments]
        fields = self.fields()
        shown += [f"{name}={value!r}" for name, value in fields.items()]
        if self.state is not None and not fields:
            shown.append(repr(self.state))
        shown += [repr(item) for item in self.items]
        return f"{self.class_name}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledStandIn) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(self.class_name)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return super().find_class(current_module(module), name)
        except (ImportError, AttributeError):
            return _pickled_stand_in(module, name)


@lru_cache(maxsize=1024)
def _pickled_stand_in(module: str, name: str) -> type:
    made = type(_last(name), (PickledStandIn,), {"class_name": f"{module}.{name}"})
    return _marked(made, module, name)


def loads_with_stand_ins(data: bytes | memoryview) -> Any:
    """Read a pickle; objects whose classes are not here become :class:`PickledStandIn`."""
    return _Unpickler(io.BytesIO(data)).load()
