"""Values of state for people and for JSON, whatever they are."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from typing import Any

import msgspec

from rekindle.serialization.encodings.stand_ins import PickledStandIn
from rekindle.types.row import Row

_SHOWN = 200  # characters of a value in a table


@dataclasses.dataclass(frozen=True, slots=True)
class RawBytes:
    """Hold a value as it was written: what could read it is not here."""

    data: bytes

    def __repr__(self) -> str:
        shown = self.data[:32].hex()
        return f"<{len(self.data)} bytes: {shown}{'…' if len(self.data) > 32 else ''}>"


def as_text(value: Any, limit: int = _SHOWN) -> str:
    """Show a value on a line, whatever its class does, and however many digits it has."""
    try:
        text = repr(value)
    except BaseException as error:
        text = f"<a value of class {type(value).__name__} whose repr() raises {type(error).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def as_json(value: Any) -> Any:
    """Turn a value into what JSON has; what it has nothing for becomes the text that Python shows."""
    if value is None or (isinstance(value, bool | str) and not isinstance(value, enum.Enum)):
        return value
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else repr(value)
    if isinstance(value, bytes | RawBytes):
        return {"bytes": (value if isinstance(value, bytes) else value.data).hex()}
    if isinstance(value, Row):
        names = value._fields
        return [as_json(part) for part in value] if names is None else _object(zip(names, value, strict=True))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return _object(zip(value._fields, value, strict=True))
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return _object(value.items())
        return [[as_json(key), as_json(part)] for key, part in value.items()]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _object((field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value))
    if isinstance(value, msgspec.Struct):
        return _object((name, getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, PickledStandIn) and value.fields():
        return _object(value.fields().items())
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal | uuid.UUID) else repr(value)


def _object(items: Any) -> dict[str, Any]:
    return {name: as_json(value) for name, value in items}
