"""Columns of every type with ordinary and with odd values, and what compares results to the bit."""

from __future__ import annotations

import datetime
import decimal
import random
import struct
from typing import Any

import pyarrow as pa

TYPES: dict[str, pa.DataType] = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "decimal": pa.decimal128(20, 4),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "list": pa.list_(pa.int64()),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.string())]),
    "map": pa.map_(pa.string(), pa.int64()),
}
NUMBERS = ("int8", "int16", "int32", "int64", "float32", "float64")

ODD = {
    "plain": None,
    "nulls": "nulls",
    "extremes": "extremes",
    "nan": "nan",
    "negative zero": "negative zero",
    "wide": "wide",
}
"""What is odd about the values of a column."""


def values_of(kind: str, count: int, odd: str, rng: random.Random) -> list[Any]:
    """Draw the values of a column."""
    made = [_value(kind, rng) for _ in range(count)]
    if not made:
        return made
    if odd == "nulls":
        made = [None if rng.random() < 0.2 else value for value in made]
    elif odd == "extremes" and kind.startswith("int"):
        bits = int(kind[3:])
        made = [rng.choice([-(1 << bits - 1), (1 << bits - 1) - 1, value]) for value in made]
    elif odd == "extremes" and kind.startswith("float"):
        made = [rng.choice([float("inf"), float("-inf"), 3e38, value]) for value in made]
    elif odd == "nan" and kind.startswith("float"):
        made[rng.randrange(count)] = float("nan")
    elif odd == "negative zero" and kind.startswith("float"):
        made = [rng.choice([0.0, -0.0, value]) for value in made]
    elif odd == "wide" and kind.startswith("float"):
        made = [value * 10.0 ** rng.randint(-18, 18) for value in made]
    elif odd == "wide" and kind == "int64":
        made = [value << rng.randint(0, 44) for value in made]
    return made


def _value(kind: str, rng: random.Random) -> Any:
    match kind:
        case "int8" | "int16" | "int32" | "int64":
            return rng.randint(-100, 100)
        case "float32" | "float64":
            return rng.randint(-1000, 1000) / 8 if kind == "float32" else rng.gauss(0, 1)
        case "bool":
            return rng.random() < 0.5
        case "string":
            return rng.choice(["", "a", "b", "ä", "zz", "日本"])
        case "binary":
            return rng.choice([b"", b"a", b"\x00\xff"])
        case "decimal":
            return decimal.Decimal(rng.randint(-10_000, 10_000)) / 100
        case "date":
            return datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.randint(0, 99))
        case "timestamp":
            return datetime.datetime(2024, 1, 1) + datetime.timedelta(microseconds=rng.randint(0, 10**9))
        case "list":
            return [rng.randint(0, 9) for _ in range(rng.randint(0, 3))]
        case "struct":
            return {"a": rng.randint(0, 9), "b": rng.choice(["x", "y"])}
        case "map":
            return [("k", rng.randint(0, 9))]
    raise AssertionError(kind)


def exact(value: Any) -> Any:
    """Return something that is equal for two values only if they are the same to the bit, and of one type."""
    if isinstance(value, float):
        return "float", struct.pack(">d", value)
    if isinstance(value, tuple | list):
        return type(value).__name__, getattr(value, "__fields__", None), [exact(part) for part in value]
    if isinstance(value, dict):
        return "dict", [(exact(key), exact(part)) for key, part in value.items()]
    return type(value).__name__, value
