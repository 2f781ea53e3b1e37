"""How commands write times, durations and sizes for people."""

from __future__ import annotations

from datetime import datetime

NOTHING = "-"

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def moment(milliseconds: int | None) -> str:
    """Write a time since 1970 as the local time of day."""
    if milliseconds is None or milliseconds < 0:
        return NOTHING
    return datetime.fromtimestamp(milliseconds / 1000).strftime("%Y-%m-%d %H:%M:%S")


def duration(milliseconds: float | None) -> str:
    """Write a duration with the two units that matter."""
    if milliseconds is None or milliseconds < 0:
        return NOTHING
    if milliseconds < 1000:
        return f"{round(milliseconds)} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"


def size(count: float | None) -> str:
    """Write a number of bytes."""
    if count is None or count < 0:
        return NOTHING
    unit = 0
    while count >= 1024 and unit < len(_UNITS) - 1:
        count /= 1024
        unit += 1
    return f"{count:.1f} {_UNITS[unit]}" if unit else f"{round(count)} B"


def number(count: int | None) -> str:
    """Write a number that may not be known."""
    return NOTHING if count is None else str(count)
