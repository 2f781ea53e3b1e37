"""Values that programs put where they do not belong, or that cannot be written, or not be read back."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np


class RefusesPickling:
    """Raise when it is pickled."""

    def __reduce__(self) -> Any:
        raise RuntimeError("this one is not to be pickled")


class RefusesUnpickling:
    """Raise when it is unpickled; equal to its like, so that it can be a key."""

    def __reduce__(self) -> Any:
        return _refuse, ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RefusesUnpickling)

    def __hash__(self) -> int:
        return 7


def _refuse() -> Any:
    raise RuntimeError("this one is not to be unpickled")


class NeedsTwoArguments(Exception):  # noqa: N818
    """Be pickled without complaint, and not be made again: so are many exceptions."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__(first)


@dataclass(frozen=True)
class Refusing:
    """Raise when a field is set by unpickling, but not when it is made."""

    number: int

    def __setstate__(self, state: Any) -> None:
        raise RuntimeError("this one is not to be unpickled")


def local_object() -> Any:
    """Return an instance of a class that nobody finds by its name."""

    class Local:
        def __eq__(self, other: object) -> bool:
            return type(self).__qualname__ == type(other).__qualname__

        def __hash__(self) -> int:
            return 7

    return Local()


def endless_list() -> list[Any]:
    """Return a list that holds itself."""
    endless: list[Any] = [1]
    endless.append(endless)
    return endless


ODD: dict[str, Any] = {
    "float": 1.5,
    "whole float": 5_400_000.0,
    "not a number": math.nan,
    "infinity": -math.inf,
    "true": True,
    "text": "seven",
    "empty text": "",
    "none": None,
    "2**63": 1 << 63,
    "-2**63": -(1 << 63),
    "2**64": 1 << 64,
    "2**70": 1 << 70,
    "huge": 10**400,
    "half a surrogate pair": "\ud800",
    "bytes": b"\x00\xff",
    "bytearray": bytearray(b"seven"),
    "memoryview": memoryview(b"seven"),
    "numpy integer": np.int64(7),
    "numpy unsigned": np.uint64((1 << 64) - 1),
    "numpy float": np.float32(1.5),
    "numpy bool": np.bool_(True),
    "numpy text": np.str_("seven"),
    "numpy array": np.arange(3),
    "decimal": Decimal("1.10"),
    "complex": 1 + 2j,
    "tuple": (1, "a", None),
    "list": [1, [2.5]],
    "dict": {"a": 1, 2: b"b"},
    "set": {1, 2},
    "class": dict,
    "lambda": lambda: 7,
    "local object": local_object(),
    "endless list": endless_list(),
    "refuses pickling": RefusesPickling(),
    "refuses unpickling": RefusesUnpickling(),
    "refuses unpickling inside": [("deep", {"down": RefusesUnpickling()})],
    "needs two arguments": NeedsTwoArguments(1, 2),
    "refusing dataclass": Refusing(7),
    "generator": (number for number in range(3)),
}

UNREADABLE = ["refuses unpickling", "refuses unpickling inside", "needs two arguments", "refusing dataclass"]
"""Those that can be written and not be read."""


def alike(one: Any, other: Any) -> bool:
    """Return whether two values are equal, where what is no number equals its like, and lists may hold themselves."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and bool(np.array_equal(one, other))
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if "..." in repr(one):  # it holds itself
        return repr(one) == repr(other)
    if type(one) is type(other) and isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if type(one) is dict and type(other) is dict:
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    return bool(one == other)
