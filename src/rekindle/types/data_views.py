"""The streams that serializers write to and read from: bytes, with Java's ways of writing simple values."""

from __future__ import annotations

import struct
from io import BytesIO

from rekindle.exceptions import SerializationError

__all__ = ["DataInputView", "DataOutputView"]

_BYTE, _SHORT, _INT, _LONG = (struct.Struct(f">{code}") for code in "bhiq")
_FLOAT, _DOUBLE = struct.Struct(">f"), struct.Struct(">d")


class DataOutputView(BytesIO):
    """Write simple values: big-endian, as Java's DataOutput does; text and bytes with their length before them."""

    def write_boolean(self, value: bool) -> None:
        """Write a boolean."""
        self.write(b"\1" if value else b"\0")

    def write_byte(self, value: int) -> None:
        """Write an integer of 8 bits."""
        self._pack(_BYTE, value)

    def write_short(self, value: int) -> None:
        """Write an integer of 16 bits."""
        self._pack(_SHORT, value)

    def write_int(self, value: int) -> None:
        """Write an integer of 32 bits."""
        self._pack(_INT, value)

    def write_long(self, value: int) -> None:
        """Write an integer of 64 bits."""
        self._pack(_LONG, value)

    def write_float(self, value: float) -> None:
        """Write a floating point number of 32 bits."""
        self._pack(_FLOAT, value)

    def write_double(self, value: float) -> None:
        """Write a floating point number of 64 bits."""
        self._pack(_DOUBLE, value)

    def write_utf(self, value: str) -> None:
        """Write text of any length."""
        self.write_sized(value.encode("utf-8", "surrogatepass"))

    def write_sized(self, value: bytes) -> None:
        """Write bytes, and their number before them."""
        self._pack(_INT, len(value))
        self.write(value)

    def _pack(self, form: struct.Struct, value: float) -> None:
        try:
            self.write(form.pack(value))
        except (struct.error, OverflowError) as error:
            raise SerializationError(f"{value!r} cannot be written as {form.size} bytes: {error}") from error


class DataInputView(BytesIO):
    """Read what a DataOutputView wrote; the end of the stream raises SerializationError."""

    def read_boolean(self) -> bool:
        """Read a boolean."""
        return self.read_fully(1) != b"\0"

    def read_byte(self) -> int:
        """Read an integer of 8 bits."""
        return int(self._unpack(_BYTE))

    def read_short(self) -> int:
        """Read an integer of 16 bits."""
        return int(self._unpack(_SHORT))

    def read_int(self) -> int:
        """Read an integer of 32 bits."""
        return int(self._unpack(_INT))

    def read_long(self) -> int:
        """Read an integer of 64 bits."""
        return int(self._unpack(_LONG))

    def read_float(self) -> float:
        """Read a floating point number of 32 bits."""
        return self._unpack(_FLOAT)

    def read_double(self) -> float:
        """Read a floating point number of 64 bits."""
        return self._unpack(_DOUBLE)

    def read_utf(self) -> str:
        """Read text."""
        try:
            return self.read_sized().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise SerializationError(f"bytes in the stream are not text: {error}") from error

    def read_sized(self) -> bytes:
        """Read bytes that were written with their number before them."""
        size = self.read_int()
        if size < 0:
            raise SerializationError(f"the stream says that {size} bytes follow")
        return self.read_fully(size)

    def read_fully(self, size: int) -> bytes:
        """Read exactly this many bytes."""
        data = self.read(size)
        if len(data) != size:
            raise SerializationError(f"the stream ended after {len(data)} bytes where {size} were expected")
        return data

    def _unpack(self, form: struct.Struct) -> float:
        value: float = form.unpack(self.read_fully(form.size))[0]
        return value
