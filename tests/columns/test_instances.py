"""Instances that find, change or carry their attributes in ways of their own: no function of theirs is traced."""

from __future__ import annotations

import functools
import types
from typing import Any

import pytest

from rekindle.columns.not_traceable import NotTraceable, naming
from rekindle.columns.purity import traceable, traceable_callable
from rekindle.columns.shapes import Shape
from rekindle.columns.tracing import Traced, record, trace
from rekindle.contracts.functions import MapFunction

pytestmark = pytest.mark.usefixtures("standing_still")

ROW = Shape.row(["a", "b"])
CALLED: list[str] = []


def method(name: str, function: Any) -> Traced:
    return trace(traceable(function, name), record(ROW))


def side_effect(*given: Any) -> Any:
    CALLED.append("side effect")
    return 1


class Meta(type(MapFunction)):  # type: ignore[misc]
    pass


ODD: dict[str, Any] = {
    "__getattr__": {"__getattr__": side_effect},
    "__setattr__": {"__setattr__": side_effect},
    "__delattr__": {"__delattr__": side_effect},
    "__getattribute__": {"__getattribute__": lambda self, name: object.__getattribute__(self, name)},
    "__new__": {"__new__": lambda kind: object.__new__(kind)},
    "__init_subclass__": {"__init_subclass__": classmethod(side_effect)},
    "__reduce__": {"__reduce__": side_effect},
    "__reduce_ex__": {"__reduce_ex__": side_effect},
    "__getstate__": {"__getstate__": side_effect},
    "__setstate__": {"__setstate__": side_effect},
    "a property": {"used": property(side_effect)},
    "a slot": {"__slots__": ("used",)},
}


@pytest.mark.parametrize("name", ODD)
def test_instances_that_find_or_carry_their_attributes_in_their_own_way_are_not_traced(name: str) -> None:
    class Plain(MapFunction):
        def map(self, row: Any) -> Any:
            return row.a + self.used  # type: ignore[attr-defined]

    plain = Plain()
    vars(plain)["used"] = 1
    kind = type("Odd", (Plain,), {"__module__": __name__, **ODD[name]})
    function = object.__new__(kind)
    if "__slots__" not in vars(kind):
        object.__getattribute__(function, "__dict__")["used"] = 1
    with pytest.raises(NotTraceable, match=r"which has __|pickled in its own way|self\.used|which may change"):
        method("map", function)
    assert CALLED == []


def test_classes_of_another_kind_are_not_traced() -> None:
    class Odd(MapFunction, metaclass=Meta):
        def map(self, row: Any) -> Any:
            return row.a

    with pytest.raises(NotTraceable, match="whose class is of a kind of its own"):
        method("map", Odd())
    with pytest.raises(NotTraceable, match="it is a method of a class"):
        traceable_callable(type("C", (), {"f": classmethod(lambda kind, row: row.a)}).f)  # type: ignore[attr-defined]


def test_naming_a_function_runs_nothing_of_it() -> None:
    class Sly:
        def __getattr__(self, name: str) -> Any:
            CALLED.append(name)
            raise AttributeError(name)

        @property
        def map(self) -> Any:
            CALLED.append("map")
            return None

    for part in ("map", "get_key", ""):
        with pytest.raises(NotTraceable), naming(Sly(), part):
            raise NotTraceable("it does")
    assert CALLED == []


def test_a_method_that_is_no_function_is_not_traced() -> None:
    part = functools.partial(lambda rate, owner, row: row.a * rate, 3)
    with pytest.raises(NotTraceable, match="it is a partial, whose code cannot be read"):
        traceable_callable(types.MethodType(part, types.SimpleNamespace()))


def test_a_class_that_says_itself_what_it_holds_is_not_asked() -> None:
    class Held(MapFunction):
        __dict__ = property(side_effect)  # type: ignore[assignment]

        def map(self, row: Any) -> Any:
            return row.a

    with pytest.raises(NotTraceable, match="it belongs to a Held, which has __dict__"):
        method("map", Held())
    assert CALLED == []


def test_what_pretends_to_be_a_function_is_none() -> None:
    class Wrapper:
        def __init__(self, wrapped: Any) -> None:
            self.wrapped = wrapped

        __class__ = property(lambda self: type(self.wrapped))  # type: ignore[assignment]

        def __getattr__(self, name: str) -> Any:
            return getattr(vars(self)["wrapped"], name)

    with pytest.raises(NotTraceable, match="it is a Wrapper, whose code cannot be read"):
        traceable_callable(Wrapper(lambda row: row.a))
