"""Serializers whose elements become bytes by msgpack, in C.

Each says what its elements look like to msgpack (*packed*) and how to get there and back; where an element looks to
msgpack as it does to Python, nothing has to be done. Serializers of lists, maps, tuples and classes are made of others,
and are as fast as those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from rekindle.exceptions import SerializationError
from rekindle.serialization.encodings.plain_check import holder_of
from rekindle.types.type_serializer import BytesSerializer, TypeSerializer

T = TypeVar("T")
_convert = msgspec.convert


def _as_text(element: Any) -> str:
    """Return what is a string in all but class; msgpack takes ``str`` itself only."""
    if isinstance(element, str):
        return str.__str__(element)
    raise TypeError(f"there is a {type(element).__name__} in it")


encode = msgspec.msgpack.Encoder(enc_hook=_as_text).encode


class MsgpackSerializer(BytesSerializer[T]):
    """Serialize elements through a packed form that msgpack knows: None, bool, int of 64 bits, float, str, bytes, list,
    tuple, dict.

    Subclasses set the attributes in their constructor and then call ``super().__init__()``.

    Attributes:
        packed_type: The type of the packed form, for msgspec to decode and to check.
        packs: Whether :meth:`pack` does anything, if only to check.
        unpacks: Whether :meth:`unpack` does anything.
        plain_type: A type such that whatever ``msgspec.convert`` takes for it is an element, and what it gives is the
            packed form. It makes checking fast; other elements go through :meth:`pack`. None where there is none.
    """

    packed_type: Any
    packs: bool = False
    unpacks: bool = False
    plain_type: Any = None

    def __init__(self) -> None:
        self._plain = self._all_plain = None
        if self.plain_type is not None:
            self._plain = holder_of(self.plain_type)
            self._all_plain = holder_of(list[self.plain_type])  # type: ignore[name-defined]
        self._decode = msgspec.msgpack.Decoder(self.packed_type).decode
        self._decode_all = msgspec.msgpack.Decoder(list[self.packed_type]).decode  # type: ignore[name-defined]

    def pack(self, element: Any) -> Any:
        """Turn an element into its packed form.

        Raises:
            SerializationError: It does not match this type.
        """
        return element

    def unpack(self, packed: Any) -> Any:
        """Turn the packed form into an element."""
        return packed

    def pack_all(self, elements: Sequence[Any]) -> list[Any]:
        """Pack many elements; may give the same list back where nothing is to be done."""
        if self._all_plain is not None:
            try:
                packed: list[Any] = _convert((elements,), self._all_plain).value
                return packed
            except msgspec.ValidationError:
                pass  # Some have to be packed, or are refused: look at each.
        if self.packs:
            return list(map(self.pack, elements))
        return elements if type(elements) is list else list(elements)

    def unpack_all(self, packed: list[Any]) -> list[Any]:
        """Unpack many elements."""
        return list(map(self.unpack, packed)) if self.unpacks else packed

    def to_bytes(self, element: T) -> bytes:
        """Return an element as bytes."""
        try:
            return encode(self.pack(element) if self.packs else element)
        except (TypeError, OverflowError, UnicodeError, RecursionError) as error:
            raise self._refused(element, error) from error

    def from_bytes(self, data: bytes | memoryview) -> T:
        """Return the element that these bytes were made of."""
        try:
            element: T = self.unpack(self._decode(data)) if self.unpacks else self._decode(data)
            return element
        except (msgspec.MsgspecError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise self._damaged(data, error) from error

    def all_to_bytes(self, elements: Sequence[T]) -> bytes:
        """Return many elements as bytes."""
        try:
            return encode(self.pack_all(elements))
        except (TypeError, OverflowError, UnicodeError, RecursionError) as error:
            raise self._refused(self._first_refused(elements), error) from error

    def all_from_bytes(self, data: bytes | memoryview) -> list[T]:
        """Return the elements that these bytes were made of."""
        try:
            return self.unpack_all(self._decode_all(data))
        except (msgspec.MsgspecError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise self._damaged(data, error) from error

    def converted(self, elements: list[T]) -> list[T]:
        """Return elements as they are after a way through bytes."""
        return self.unpack_all(self.pack_all(elements)) if self.packs or self.unpacks else elements

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity() == getattr(other, "_identity", lambda: None)()

    def __hash__(self) -> int:
        return hash((type(self), self._identity()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._identity()

    def _identity(self) -> tuple[Any, ...]:
        """Return the arguments of the constructor: what makes two serializers of this class equal, and how to copy one.

        They must be hashable.
        """
        return ()

    def _name(self) -> str:
        """Name the type for people."""
        return self.snapshot_configuration().describe()

    def _refused(self, element: Any, error: Exception) -> SerializationError:
        return SerializationError(f"{shown(element)} is not of type {self._name()}: {error}")

    def _damaged(self, data: bytes | memoryview, error: Exception) -> SerializationError:
        return SerializationError(f"{len(data)} bytes cannot be read as {self._name()}: {error}")

    def _first_refused(self, elements: Sequence[Any]) -> Any:
        for element in elements:
            try:
                encode(self.pack(element))
            except (TypeError, OverflowError, UnicodeError, RecursionError):
                return element
        return elements


class EmbeddedSerializer(MsgpackSerializer[T]):
    """Make any serializer part of one that goes through msgpack: its elements are packed as their bytes."""

    packed_type = bytes
    packs = unpacks = True

    def __init__(self, inner: TypeSerializer[T]) -> None:
        self.inner = inner
        self.always_readable = inner.always_readable
        self.pack = inner.to_bytes  # type: ignore[method-assign]
        self.unpack = inner.from_bytes  # type: ignore[method-assign, assignment]
        super().__init__()

    def _identity(self) -> tuple[Any, ...]:
        return (self.inner,)

    def _name(self) -> str:
        return repr(self.inner)

    def __repr__(self) -> str:
        return repr(self.inner)


def as_msgpack(serializer: TypeSerializer[T]) -> MsgpackSerializer[T]:
    """Return a serializer as one that can be part of another that goes through msgpack."""
    return serializer if isinstance(serializer, MsgpackSerializer) else EmbeddedSerializer(serializer)


def shown(element: Any) -> str:
    """Show an element and its class to people, shortened."""
    text = repr(element)
    return f"{text[:80]}… ({type(element).__name__})" if len(text) > 80 else f"{text} ({type(element).__name__})"
