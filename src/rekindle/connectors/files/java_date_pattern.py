"""Format times by the pattern letters of Java's ``DateTimeFormatter``, for the names of date-time buckets.

Numbers and English names only: what depends on a locale (weeks, localized days) raises when a pattern is
read. Time zones are read here too, as Java writes them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rekindle.exceptions import ConfigurationError

_TOKEN = re.compile(r"(?P<letters>([A-Za-z])\2*)|'(?P<quoted>(?:[^']|'')*)'|(?P<literal>[^A-Za-z'\[\]{}#]+)")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2}))?")

_MOST_LETTERS = {"S": 9, "a": 1}
_MOST_LETTERS |= dict.fromkeys("yu", 9) | dict.fromkeys("MLEQ", 4) | dict.fromkeys("DXxZ", 3)
_MOST_LETTERS |= dict.fromkeys("dHhKkms", 2)

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")

# Java's short ids that the time zone database does not have itself.
_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


class JavaDatePattern:
    """Format times by a pattern such as ``yyyy-MM-dd--HH``."""

    def __init__(self, pattern: str) -> None:
        """Read a pattern.

        Args:
            pattern: Letters as in Java's ``DateTimeFormatter``: y u M L d D H h K k m s S a E Q X x Z, and
                text in single quotes.

        Raises:
            ConfigurationError: The pattern has a letter that is not among these, or one too often.
        """
        self._fields: list[tuple[str, int]] = []  # a letter and how often, or a literal text and 0
        position = 0
        while position < len(pattern):
            match = _TOKEN.match(pattern, position)
            if match is None:
                raise _unusable(pattern, f"{pattern[position]!r} at position {position} has no meaning there")
            self._fields.append(_field(pattern, match))
            position = match.end()

    def format(self, moment: datetime) -> str:
        """Format a time that knows its zone."""
        return "".join([_text(name, count, moment) if count else name for name, count in self._fields])


def time_zone(timezone_id: str | None) -> tzinfo | None:
    """Read a time zone as Java does: ``Europe/Berlin``, ``GMT-08:00``, ``PST``; None is that of the machine.

    Raises:
        ConfigurationError: There is no such zone.
    """
    if timezone_id is None:
        return None
    if timezone_id == "Z":
        return UTC
    offset = _OFFSET.fullmatch(timezone_id)
    try:
        if offset is not None:
            amount = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"] or 0))
            return timezone(-amount if offset["sign"] == "-" else amount)
        return ZoneInfo(_SHORT_IDS.get(timezone_id, timezone_id))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationError(
            f"timezone_id {timezone_id!r} is not a time zone; write it like 'Europe/Berlin' or 'GMT-08:00'"
        ) from error


def _field(pattern: str, match: re.Match[str]) -> tuple[str, int]:
    if letters := match["letters"]:
        letter, count = letters[0], len(letters)
        most = _MOST_LETTERS.get(letter)
        if most is None:
            raise _unusable(pattern, f"the letter {letter!r} is not supported")
        if count > most:
            raise _unusable(pattern, f"{letter!r} occurs {count} times in a row, at most {most} are supported")
        return letter, count
    if (quoted := match["quoted"]) is not None:
        return quoted.replace("''", "'") or "'", 0
    return match["literal"], 0


def _text(letter: str, count: int, moment: datetime) -> str:
    if letter in "yu":
        return f"{moment.year % 100:02d}" if count == 2 else f"{moment.year:0{count}d}"
    if letter in "ML":
        return _name_or_number(moment.month, count, _MONTHS)
    if letter == "E":
        name = _DAYS[moment.weekday()]
        return name if count == 4 else name[:3]
    if letter == "Q":
        quarter = (moment.month + 2) // 3
        return f"Q{quarter}" if count == 3 else _name_or_number(quarter, count, _QUARTERS)
    if letter == "a":
        return "AM" if moment.hour < 12 else "PM"
    if letter == "S":
        return f"{moment.microsecond:06d}000"[:count]
    if letter in "XxZ":
        return _zone_offset(letter, count, moment)
    return f"{_number(letter, moment):0{count}d}"


def _name_or_number(number: int, count: int, names: tuple[str, ...]) -> str:
    if count <= 2:
        return f"{number:0{count}d}"
    name = names[number - 1]
    return name if count == 4 else name[:3]


def _number(letter: str, moment: datetime) -> int:
    match letter:
        case "d":
            return moment.day
        case "D":
            return moment.timetuple().tm_yday
        case "H":
            return moment.hour
        case "k":
            return moment.hour or 24
        case "K":
            return moment.hour % 12
        case "h":
            return moment.hour % 12 or 12
        case "m":
            return moment.minute
        case _:
            return moment.second


def _zone_offset(letter: str, count: int, moment: datetime) -> str:
    minutes = (moment.utcoffset() or timedelta()) // timedelta(minutes=1)
    if letter == "X" and minutes == 0:
        return "Z"
    hours, rest = divmod(abs(minutes), 60)
    sign = "-" if minutes < 0 else "+"
    if count == 1 and letter != "Z":
        return f"{sign}{hours:02d}{rest:02d}" if rest else f"{sign}{hours:02d}"
    return f"{sign}{hours:02d}{':' if count == 3 and letter != 'Z' else ''}{rest:02d}"


def _unusable(pattern: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"date pattern {pattern!r} cannot be used: {reason}. Use these letters of Java's DateTimeFormatter: "
        "y u M L d D H h K k m s S a E Q X x Z, and put other text in single quotes"
    )
