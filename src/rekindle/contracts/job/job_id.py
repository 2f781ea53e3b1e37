"""The name of a job that no other job has."""

from __future__ import annotations

import re
import secrets

__all__ = ["JobID"]

_HEX_DIGITS = re.compile(r"[0-9a-f]{32}")


class JobID:
    """Identify a job: 16 random bytes, shown as 32 hexadecimal digits."""

    __slots__ = ("_digits",)

    def __init__(self, hex_string: str | None = None) -> None:
        digits = secrets.token_hex(16) if hex_string is None else hex_string.lower()
        if not _HEX_DIGITS.fullmatch(digits):
            raise ValueError(f"A job id is 32 hexadecimal digits, got {hex_string!r}.")
        self._digits = digits

    @staticmethod
    def generate() -> JobID:
        """Return a new random id."""
        return JobID()

    @staticmethod
    def from_hex_string(hex_string: str) -> JobID:
        """Return the id with these digits.

        Raises:
            ValueError: These are not 32 hexadecimal digits.
        """
        return JobID(hex_string)

    def to_hex_string(self) -> str:
        """Return the digits."""
        return self._digits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._digits == other._digits

    def __hash__(self) -> int:
        return hash((JobID, self._digits))

    def __str__(self) -> str:
        return self._digits

    def __repr__(self) -> str:
        return f"JobID({self._digits!r})"
