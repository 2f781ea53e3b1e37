"""Annotations with names that only a type checker knows, as a program may have them.

Up to Python 3.13 such a program has ``from __future__ import annotations``; from 3.14 on it needs nothing.
"""

from __future__ import annotations
import __future__

import pickle
import sys
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream.type_hints import returned_type
from rekindle.graph.struct_pickling import dumps
from rekindle.serialization.classes.class_fields import fields_of_dataclass, fields_of_struct

PROGRAM = """
from dataclasses import dataclass
import msgspec

@dataclass
class Point:
    x: int
    unknown: Missing
    several: list[Missing]

class Place(msgspec.Struct):
    x: int
    unknown: Missing

    def doubled(self) -> Missing:
        return 2 * self.x

def counted(value: Missing) -> int:
    return value + 1

def passed(value: Missing) -> Missing:
    return value
"""


@pytest.fixture
def program() -> dict[str, Any]:
    """Return what a script defines."""
    flags = 0 if sys.version_info >= (3, 14) else __future__.annotations.compiler_flag
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(PROGRAM, "program.py", "exec", flags, dont_inherit=True), names)
    return names


def test_a_field_that_says_nothing_spoils_no_other(program: dict[str, Any]) -> None:
    types = {field.name: field.annotation for field in fields_of_dataclass(program["Point"])}
    assert types == {"x": int, "unknown": Any, "several": Any}
    assert {field.name: field.annotation for field in fields_of_struct(program["Place"])} == {"x": int, "unknown": Any}


def test_a_function_tells_what_it_returns_whatever_it_is_given(program: dict[str, Any]) -> None:
    assert returned_type(program["counted"]) == Types.BIG_INT()
    assert returned_type(program["passed"]) is None


@pytest.mark.parametrize("name", ["counted", "passed"])
def test_functions_travel(program: dict[str, Any], name: str) -> None:
    assert pickle.loads(dumps(program[name]))(6) == program[name](6)


def test_structs_travel_with_their_methods(program: dict[str, Any]) -> None:
    place = pickle.loads(dumps(program["Place"]))(4, None)
    assert (place.x, place.unknown, place.doubled()) == (4, None, 8)
