"""How a file sink turns a chunk of records into bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from rekindle.common.java_format import java_string
from rekindle.common.serialization import _SimpleStringEncoder
from rekindle.common.type_information import TypeInformation

# Charsets in which a text is the bytes of its pieces, one after the other: no byte order mark.
_JOINABLE_CHARSETS = ("utf-8", "ascii", "iso8859-1")


class RowEncoder(Protocol):
    """Turn a record into the bytes of its line; ``Encoder`` is one."""

    def encode(self, value: Any) -> bytes:
        """Encode one record, with what separates it from the next."""
        ...


def chunk_encoding(encoder: RowEncoder, type_info: TypeInformation | None = None) -> Callable[[list[Any]], bytes]:
    """Make the function that encodes a whole chunk as its records would be encoded one by one.

    For the simple string encoder all records become one text first: 50 ns a short record instead of 240.

    Args:
        encoder: Encodes one record.
        type_info: The type of the records, None if they have none; the simple string encoder writes them as Java does.
    """
    if type(encoder) is _SimpleStringEncoder and encoder._charset in _JOINABLE_CHARSETS:
        charset = encoder._charset
        shown = str if type_info is None else partial(java_string, type_info)

        def encode_lines(values: list[Any]) -> bytes:
            return "\n".join([*map(shown, values), ""]).encode(charset)

        return encode_lines

    encode: Callable[[Any], bytes] = encoder.encode
    if type(encoder) is _SimpleStringEncoder:
        encode = partial(encoder.encode, type_info=type_info)

    def encode_each(values: list[Any]) -> bytes:
        return b"".join(map(encode, values))

    return encode_each
