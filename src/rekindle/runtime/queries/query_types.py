"""How keys and values of a state travel: by the serializers of their types, or as plain data; never as pickles.

Both sides name a type by a fingerprint of its serializer. So a client that has another type in mind is told so, rather
than given garbage. A type without a declaration, or one with something undeclared inside, is written as plain data.
"""

from __future__ import annotations

import decimal
import hashlib
from dataclasses import dataclass
from typing import Any

from rekindle.exceptions import SerializationError, WrongStateTypeError
from rekindle.runtime.queries.plain_data import PLAIN
from rekindle.runtime.queries.protocol import QueriedValue
from rekindle.serialization.composites.nullable_serializer import NullableSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializerSnapshot
from rekindle.serialization.snapshots.stored_snapshot import snapshot_to_bytes
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer, HintedSerializerSnapshot
from rekindle.serialization.untyped.inferred_key_serializer import InferredKeySerializer, InferredKeySerializerSnapshot
from rekindle.state.kinds.state_kind import StateKind
from rekindle.state.shapes.state_shape import FlatValues
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.types.type_serializer import TypeSerializer

_FINGERPRINT = 16
_PICKLING = tuple(
    kind.__name__.encode()
    for kind in (PickleSerializerSnapshot, HintedSerializerSnapshot, InferredKeySerializerSnapshot)
)
_MOST_DIGITS = 10_000


@dataclass(frozen=True, slots=True)
class PartType:
    """Say how one part of a state travels: its keys, its values, or the keys of its maps.

    Attributes:
        serializer: Writes and reads it.
        fingerprint: Names the type; empty where there is none, and it travels as plain data.
        description: Names the type for people.
    """

    serializer: TypeSerializer[Any]
    fingerprint: bytes
    description: str

    @staticmethod
    def of(serializer: TypeSerializer[Any]) -> PartType:
        """Find out how what a serializer stores is to travel."""
        while isinstance(serializer, HintedSerializer | InferredKeySerializer):
            serializer = serializer.inner
            if isinstance(serializer, NullableSerializer):
                serializer = serializer.inner
        snapshot = serializer.snapshot_configuration()
        written = snapshot_to_bytes(snapshot)
        # The names of the classes of all nested snapshots are in it.
        if any(name in written for name in _PICKLING):
            return UNDECLARED
        return PartType(serializer, hashlib.blake2b(written, digest_size=_FINGERPRINT).digest(), snapshot.describe())


UNDECLARED = PartType(PLAIN, b"", "not declared")


@dataclass(frozen=True, slots=True)
class QueryTypes:
    """Write and read keys and values of one state for queries."""

    kind: StateKind[Any]
    key: PartType
    value: PartType
    map_key: PartType | None

    @staticmethod
    def of(kind: StateKind[Any], serializers: StateSerializers) -> QueryTypes:
        """Settle them by the serializers of a state."""
        map_key = None if serializers.map_key is UNUSED else PartType.of(serializers.map_key)
        value = PartType.of(serializers.value)
        if map_key is not None and not (map_key.fingerprint and value.fingerprint):
            map_key, value = plain(map_key), plain(value)
        return QueryTypes(kind, PartType.of(serializers.key), value, map_key)

    @staticmethod
    def undeclared(kind: StateKind[Any]) -> QueryTypes:
        """Return what reads a state as plain data, whatever its types are."""
        return QueryTypes(kind, UNDECLARED, UNDECLARED, UNDECLARED if kind.shape.has_map_keys else None)

    @property
    def state_type(self) -> bytes:
        """Return the fingerprint of the state's type; empty: its values travel as plain data."""
        return self.value.fingerprint + (b"" if self.map_key is None else self.map_key.fingerprint)

    @property
    def described(self) -> str:
        """Name the state's type for people."""
        value = self.value.description
        return value if self.map_key is None else f"{self.map_key.description} to {value}"

    def as_plain(self) -> QueryTypes:
        """Return what writes the same state as plain data."""
        map_key = None if self.map_key is None else plain(self.map_key)
        return QueryTypes(self.kind, self.key, plain(self.value), map_key)

    def encode(self, value: Any) -> QueriedValue:
        """Write what the state keeps for a key.

        Raises:
            WrongStateTypeError: Nothing but pickle could write it.
        """
        flat = self.kind.shape.flat([value])
        values = flat.values
        nones = [index for index, item in enumerate(values) if item is None]
        if nones:
            values = [item for item in values if item is not None]
        try:
            map_keys = b"" if self.map_key is None else self.map_key.serializer.all_to_bytes(flat.map_keys)
            return QueriedValue(self.value.serializer.all_to_bytes(values), len(flat.values), map_keys, nones)
        except SerializationError as error:
            raise WrongStateTypeError(str(error)) from error

    def decode(self, queried: QueriedValue) -> Any:
        """Read what the state keeps for a key.

        Raises:
            WrongStateTypeError: It is of another type.
        """
        shape = self.kind.shape
        try:
            values = self.value.serializer.all_from_bytes(queried.values)
            for index in queried.nones:
                values.insert(index, None)
            map_keys = [] if self.map_key is None else self.map_key.serializer.all_from_bytes(queried.map_keys)
            (value,) = shape.gathered(FlatValues(values, [queried.count] if shape.several else [], map_keys))
        except (SerializationError, ValueError) as error:
            raise WrongStateTypeError(f"what was read of the state does not fit its type: {error}") from error
        return value


def plain(part: PartType) -> PartType:
    """Return a part as it travels without its type."""
    return PartType(PLAIN, b"", part.description)


def decode_key(part: PartType, data: bytes) -> Any:
    """Read a key that came over the network.

    Raises:
        WrongStateTypeError: These bytes are no key.
    """
    try:
        key = part.serializer.from_bytes(data)
        check_key(key)
        hash(key)
    except (SerializationError, TypeError, RecursionError) as error:
        raise WrongStateTypeError(f"the key cannot be read as {part.description}: {error}") from error
    return key


def check_key(key: Any) -> None:
    """Refuse numbers that a few bytes can name, and whose hash takes hours."""
    if isinstance(key, decimal.Decimal):
        exponent = key.as_tuple().exponent
        if isinstance(exponent, int) and abs(exponent) > _MOST_DIGITS:
            raise TypeError("it is a number of too many digits")
    elif isinstance(key, tuple | frozenset):
        for part in key:
            check_key(part)
