"""How a file sink turns a chunk of records into bytes, if each record is a line, or other bytes of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol

from rekindle.formats.bulk_writer import BulkWriter, BulkWriterFactory, Opener
from rekindle.formats.json_format import has_fields
from rekindle.formats.schemas import LineEncoder
from rekindle.runtime.at_work import at_record
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import Types

# Charsets in which a text is the bytes of its pieces, one after the other: no byte order mark.
_JOINABLE_CHARSETS = ("utf-8", "ascii", "iso8859-1")
_COPIED_BYTES = 1 << 20


class RowEncoder(Protocol):
    """Turn a record into the bytes of its line; ``Encoder`` is one."""

    def encode(self, value: Any) -> bytes:
        """Encode one record, with what separates it from the next."""
        ...


class EncodedRows(BulkWriterFactory):
    """The format of ``FileSink.for_row_format``: the bytes of one record after the other.

    Attributes:
        encoder: Turns records into bytes.
    """

    def __init__(self, encoder: RowEncoder) -> None:
        self.encoder = encoder

    def create(self, type_info: TypeInformation | None = None) -> BulkWriter:
        """Return the writer of a new file."""
        return _RowWriter(chunk_encoding(self.encoder, type_info))

    def merged(self, files: Iterable[Opener]) -> Iterator[bytes]:
        """Return the bytes of all files, one after the other."""
        return concatenated(files)


class _RowWriter(BulkWriter):
    def __init__(self, encode: Callable[[list[Any]], bytes]) -> None:
        self._encode = encode

    def add(self, values: list[Any]) -> bytes:
        return self._encode(values)

    def finish(self) -> bytes:
        return b""


def concatenated(files: Iterable[Opener], delimiter: bytes = b"") -> Iterator[bytes]:
    """Return the bytes of all files, with a delimiter between two of them."""
    for place, opened in enumerate(files):
        if place and delimiter:
            yield delimiter
        with opened() as stream:
            while data := stream.read(_COPIED_BYTES):
                yield data


def chunk_encoding(encoder: RowEncoder, type_info: TypeInformation | None = None) -> Callable[[list[Any]], bytes]:
    """Make the function that encodes a whole chunk as its records would be encoded one by one.

    Lines become one text first, and those without fields by a call of Python's ``str``: a tenth of the time.

    Args:
        encoder: Encodes one record.
        type_info: The type of the records, None if they have none; lines depend on it.
    """
    if type(encoder) is LineEncoder and encoder.charset in _JOINABLE_CHARSETS:
        charset, line = encoder.charset, partial(encoder.line, type_info)
        untyped, strings = type_info is None, type_info == Types.STRING()

        def encode_lines(values: list[Any]) -> bytes:
            kinds = set(map(type, values))
            by_str = (untyped and not any(map(has_fields, kinds))) or (strings and kinds == {str})
            return "\n".join([*map(str if by_str else line, values), ""]).encode(charset)

        return encode_lines

    encode: Callable[[Any], bytes] = encoder.encode
    if type(encoder) is LineEncoder:
        encode = partial(encoder.encode, type_info=type_info)

    @at_record(remaining="remaining")
    def encode_each(values: list[Any]) -> bytes:
        remaining = iter(values)
        return b"".join(map(encode, remaining))

    return encode_each
