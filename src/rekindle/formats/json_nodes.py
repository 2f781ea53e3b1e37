"""JSON as Python values, read as leniently as Flink's parser does.

What follows the first value of a message is ignored, and a field that is there twice has its last value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import msgspec

from rekindle.formats.java_format import java_double

Node = Any
"""A dict, a list, a str, an int, a float or a Decimal, a bool, or None."""

Parse = Callable[[bytes], Node]


def node_parser(exact_decimals: bool) -> Parse:
    """Return what parses messages.

    Args:
        exact_decimals: Take numbers with a fraction as decimals, not as floats.
    """
    decode = msgspec.json.Decoder(float_hook=Decimal if exact_decimals else None).decode
    decode_slowly = json.JSONDecoder(
        parse_float=Decimal if exact_decimals else None, parse_constant=_refuse_constant
    ).raw_decode

    def parse(message: bytes) -> Node:
        try:
            return decode(message)
        except msgspec.DecodeError:  # it may have more after the first value, or odd escapes
            return _encodable(decode_slowly(bytes(message).decode("utf-8").lstrip(" \t\r\n"))[0])

    return parse


def node_text(node: Node) -> str:
    """Return a single value as text, as Java shows it; empty for an object or a list."""
    match node:
        case str():
            return node
        case bool():
            return "true" if node else "false"
        case float():
            return java_double(node)
        case dict() | list():
            return ""
    return str(plain_decimal(node))


def node_json(node: Node) -> str:
    """Return an object or a list as JSON without spaces; other values as text."""
    if isinstance(node, dict):
        return "{" + ",".join(f"{_quoted(name)}:{_inner_json(value)}" for name, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ",".join(map(_inner_json, node)) + "]"
    return node_text(node)


def plain_decimal(node: Node) -> Node:
    """Return a decimal without zeros at its end, as Flink's parser does; anything else as it is."""
    if not isinstance(node, Decimal):
        return node
    sign, digits, exponent = node.as_tuple()
    if not any(digits):
        return Decimal(0)
    zeros = next(zeros for zeros, digit in enumerate(reversed(digits)) if digit)
    return Decimal((sign, digits[: len(digits) - zeros], int(exponent) + zeros))


def _encodable(node: Node) -> Node:
    """Return a value with ``?`` for each half of a pair of surrogates that lacks the other, as Java encodes it."""
    match node:
        case str():
            return node.encode("utf-8", "replace").decode("utf-8")
        case dict():
            return {_encodable(name): _encodable(value) for name, value in node.items()}
        case list():
            return [_encodable(value) for value in node]
    return node


def _inner_json(node: Node) -> str:
    if node is None:
        return "null"
    return _quoted(node) if isinstance(node, str) else node_json(node)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
