"""What a library writes to as if it were a file, and whose bytes are taken away."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["DrainedBytes"]


class DrainedBytes(io.RawIOBase):
    """Collect what is written until it is taken; it is a file that can only be written from its start to its end."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._written = 0

    def writable(self) -> bool:
        """Return that it can be written."""
        return True

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self._written

    def write(self, data: Any) -> int:
        """Take bytes."""
        part = bytes(data)
        self._parts.append(part)
        self._written += len(part)
        return len(part)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)
