"""Read a list that stands in one configuration value.

Takes the part of YAML that such values use: ``[a, 'b c', 3]`` and lines of ``- a``, with plain scalars.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["parse_list"]

_FLOW_ELEMENT = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,'"\[\]{}][^,\[\]{}]*?)\s*(?:,|$)""")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def parse_list(value: str, standard_yaml: bool = True) -> list[Any]:
    """Return the elements of a list written as YAML or with semicolons between.

    Args:
        value: The text; empty text is an empty list.
        standard_yaml: False takes semicolons only.
    """
    if not value:
        return []
    if standard_yaml:
        text = value.strip()
        elements = _flow_list(text) if text.startswith("[") else _block_list(text)
        if elements is not None:
            return elements
    return value.split(";")


def _flow_list(text: str) -> list[Any] | None:
    if not text.endswith("]"):
        return None
    body = text[1:-1].strip()
    elements = []
    position = 0
    while position < len(body):
        match = _FLOW_ELEMENT.match(body, position)
        if match is None:
            return None
        elements.append(_scalar(match[1]))
        position = match.end()
    return elements


def _block_list(text: str) -> list[Any] | None:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not all(line == "-" or line.startswith("- ") for line in lines):
        return None
    return [_scalar(line[1:].strip()) for line in lines]


def _scalar(text: str) -> Any:
    if len(text) >= 2 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if re.fullmatch(r"[+-]?[0-9]+", text):
        return int(text)
    if re.fullmatch(r"[+-]?[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?", text):
        return float(text)
    return text
