"""Read configuration values: durations, memory sizes, ports, numbers, switches, choices.

Every function takes the value as it stands in a file or in a program, and the key it belongs to. What
cannot be read raises ``ConfigurationError`` with both. Which keys there are is told by ``options``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from typing import TypeVar, overload

from rekindle.base.time import Duration, Time, duration_to_millis
from rekindle.exceptions import ConfigurationError

__all__ = [
    "parse_bool",
    "parse_duration_ms",
    "parse_enum",
    "parse_float",
    "parse_int",
    "parse_memory_size",
    "parse_port_range",
    "parse_string",
]

E = TypeVar("E", bound=Enum)

_DURATION_UNITS = {
    "days": (("d", "day", "days"), 86_400_000_000_000),
    "hours": (("h", "hour", "hours"), 3_600_000_000_000),
    "minutes": (("min", "m", "minute", "minutes"), 60_000_000_000),
    "seconds": (("s", "sec", "secs", "second", "seconds"), 1_000_000_000),
    "milliseconds": (("ms", "milli", "millis", "millisecond", "milliseconds"), 1_000_000),
    # Two characters look like µ: the micro sign and the Greek letter mu.
    "microseconds": (("\u00b5s", "\u03bcs", "micro", "micros", "microsecond", "microseconds"), 1_000),
    "nanoseconds": (("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
}
_NANOS_OF_UNIT = {label: nanos for labels, nanos in _DURATION_UNITS.values() for label in labels}

_MEMORY_UNITS = {
    "": 1,
    **dict.fromkeys(("b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}

_NUMBER_AND_UNIT = re.compile(r"([0-9]+)\s*(\S*)")
_ISO_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?S)?)?",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_ISO_UNITS = ("days", "hours", "minutes", "seconds")
_DURATION_HINT = "a duration reads like '10 s', '5 min', '500 ms', '1 h' or '1 d', and a bare number is milliseconds"
_MAX_PORT = 65_535


def parse_duration_ms(value: object, key: str | None = None) -> int:
    """Return a duration in milliseconds.

    Args:
        value: Text such as ``"10 s"``, ``"5 min"``, ``"500"`` (milliseconds) or ISO-8601's ``"PT1M"``; or an
            integer of milliseconds, a ``Duration``, a ``Time``, a ``timedelta``.
        key: The key the value belongs to.

    Raises:
        ConfigurationError: It is not a duration, or a negative one.
    """
    if isinstance(value, int | Duration | Time | timedelta) and not isinstance(value, bool):
        millis = duration_to_millis(value, key or "duration")
        if millis < 0:
            raise _unusable(value, key, "a duration cannot be negative")
        return millis
    if not isinstance(value, str):
        raise _unusable(value, key, _DURATION_HINT)
    text = value.strip()
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is not None:
        nanos = _NANOS_OF_UNIT.get(match[2].lower() or "ms")
        if nanos is None:
            raise _unusable(value, key, f"{match[2]!r} is not a unit of time; {_DURATION_HINT}")
        return int(match[1]) * nanos // 1_000_000
    iso = _ISO_DURATION.fullmatch(text)
    if iso is not None and len(text) > 2 and text[-1] not in "Tt":
        total = sum(int(iso[unit] or 0) * _DURATION_UNITS[unit][1] for unit in _ISO_UNITS)
        total += int((iso["fraction"] or "").ljust(9, "0"))
        return total // 1_000_000
    raise _unusable(value, key, _DURATION_HINT)


def parse_memory_size(value: object, key: str | None = None) -> int:
    """Return a memory size in bytes.

    Args:
        value: Text such as ``"64 mb"`` or ``"1024"`` (bytes), or an integer of bytes. Units are powers
            of 1024.
        key: The key the value belongs to.

    Raises:
        ConfigurationError: It is not a memory size.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _NUMBER_AND_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    factor = _MEMORY_UNITS.get(match[2].lower()) if match is not None else None
    if match is None or factor is None:
        raise _unusable(value, key, "a memory size reads like '1024', '20 kb', '64 mb', '2 g' or '1 t'")
    return int(match[1]) * factor


def parse_port_range(value: object, key: str | None = None) -> tuple[int, ...]:
    """Return the ports to try, in the order to try them.

    Args:
        value: ``"9123"``, ``"50100-50200"``, or several of these with commas between; or one integer.
        key: The key the value belongs to.

    Raises:
        ConfigurationError: It is not a port range, or a port is above 65535.
    """
    ports: list[int] = []
    for part in str(value).split(","):
        first, dash, last = part.partition("-")
        start = _parse_port(first, value, key)
        end = _parse_port(last, value, key) if dash else start
        if end < start:
            raise _unusable(value, key, f"the port range {part.strip()} ends before it starts")
        ports.extend(range(start, end + 1))
    return tuple(ports)


def _parse_port(text: str, value: object, key: str | None) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()):
        hint = "ports read like '9123', '50100-50200' or '50100-50200,50300-50400,51234'"
        raise _unusable(value, key, hint)
    if int(text) > _MAX_PORT:
        raise _unusable(value, key, f"port {text} is above {_MAX_PORT}")
    return int(text)


def parse_bool(value: object, key: str | None = None) -> bool:
    """Return a switch, written ``true`` or ``false`` in any case.

    Raises:
        ConfigurationError: It is neither.
    """
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else None
    if text not in ("true", "false"):
        raise _unusable(value, key, "write true or false")
    return text == "true"


def parse_int(value: object, key: str | None = None, *, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return a whole number.

    Args:
        value: Text or an integer.
        key: The key the value belongs to.
        minimum: The smallest number allowed, if there is one.
        maximum: The largest number allowed, if there is one.

    Raises:
        ConfigurationError: It is not a whole number, or outside the bounds.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        number = int(value)
    else:
        raise _unusable(value, key, "write a whole number")
    if minimum is not None and number < minimum:
        raise _unusable(value, key, f"it must be at least {minimum}")
    if maximum is not None and number > maximum:
        raise _unusable(value, key, f"it must be at most {maximum}")
    return number


def parse_float(value: object, key: str | None = None) -> float:
    """Return a number with a fraction.

    Raises:
        ConfigurationError: It is not a number.
    """
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            return float(value)
        except ValueError as error:
            raise _unusable(value, key, "write a number such as 1.5") from error
    raise _unusable(value, key, "write a number such as 1.5")


def parse_string(value: object, key: str | None = None) -> str:
    """Return a value as text, the way Flink writes it (``true``, not ``True``).

    Raises:
        ConfigurationError: It is not a simple value.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise _unusable(value, key, "write text")


@overload
def parse_enum(
    value: object, choices: type[E], key: str | None = None, *, aliases: Mapping[str, str] | None = None
) -> E: ...
@overload
def parse_enum(
    value: object, choices: Sequence[str], key: str | None = None, *, aliases: Mapping[str, str] | None = None
) -> str: ...
def parse_enum(
    value: object,
    choices: type[Enum] | Sequence[str],
    key: str | None = None,
    *,
    aliases: Mapping[str, str] | None = None,
) -> Enum | str:
    """Return the choice that is meant; case, ``-`` and ``_`` make no difference.

    Args:
        value: Text, or a member of ``choices``.
        choices: An enum, whose members' names are the choices; or the choices as text.
        key: The key the value belongs to.
        aliases: Other spellings, each with the choice it stands for.

    Raises:
        ConfigurationError: It is not one of the choices.
    """
    if isinstance(choices, type):
        if isinstance(value, choices):
            return value
        names = [member.name for member in choices]
    else:
        names = list(choices)
    text = value.name if isinstance(value, Enum) else value
    if isinstance(text, str):
        spellings = {_folded(name): name for name in names}
        spellings.update({_folded(alias): name for alias, name in (aliases or {}).items()})
        name = spellings.get(_folded(text))
        if name is not None:
            return choices[name] if isinstance(choices, type) else name
    raise _unusable(value, key, f"choose one of {', '.join(names)}")


def _folded(text: str) -> str:
    return text.strip().lower().replace("-", "_")


def _unusable(value: object, key: str | None, advice: str) -> ConfigurationError:
    place = f" for the configuration key {key!r}" if key else ""
    return ConfigurationError(f"Cannot use {value!r}{place}: {advice}.")
