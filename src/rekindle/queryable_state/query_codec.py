"""Writes queries by the types that a client gives, and reads the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rekindle.contracts.state import State, StateDescriptor
from rekindle.exceptions import SerializationError, WrongStateTypeError
from rekindle.queryable_state.immutable_states import immutable_state
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.plain_data import PLAIN
from rekindle.runtime.queries.query_types import PartType, QueryTypes
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.key_hash import key_hash
from rekindle.state.kinds.state_kind import kind_named, kind_of
from rekindle.types.annotations import as_type_info
from rekindle.types.type_serializer import TypeSerializer


@dataclass(frozen=True, slots=True)
class QueryCodec:
    """Write and read the queries of one state.

    Attributes:
        key: How its keys travel.
        types: How its values do; None: whatever they are, as plain data.
        descriptor: The state, if it was described.
        key_type: The type of its keys, as it was given.
    """

    key: PartType
    types: QueryTypes | None
    descriptor: StateDescriptor | None
    key_type: Any = None

    @staticmethod
    def of(key_type: Any, descriptor: StateDescriptor | None) -> QueryCodec:
        """Settle how a state is queried.

        Args:
            key_type: The type of the keys; None: they are plain data.
            descriptor: The state; None: whatever it is.
        """
        serializer: TypeSerializer[Any] = PickleSerializer()
        if key_type is not None:
            serializer = serializer_of(as_type_info(key_type, "The type of the key"))
        if descriptor is None:
            return QueryCodec(PartType.of(serializer), None, None, key_type)
        kind = kind_of(descriptor)
        types = QueryTypes.of(kind, kind.serializers(descriptor, serializer))
        return QueryCodec(types.key, types, descriptor, key_type)

    def query(self, job_id: str, name: str, keys: Sequence[Any], consistency: p.Consistency) -> p.Query:
        """Write a query.

        Raises:
            WrongStateTypeError: A key is not of the type.
        """
        return p.Query(
            job_id,
            name,
            [self._key(key) for key in keys],
            consistency,
            p.Form.BYTES,
            self.key.fingerprint,
            b"" if self.types is None else self.types.state_type,
            "" if self.types is None else self.types.kind.name,
        )

    def _key(self, key: Any) -> p.QueriedKey:
        serializer = self.key.serializer
        try:
            if serializer is not PLAIN:
                (key,) = serializer.converted([key])  # as the job sees it
            return p.QueriedKey(serializer.to_bytes(key), key_hash(key))
        except SerializationError as error:
            raise WrongStateTypeError(f"key {key!r}: {error}") from error

    def state(self, result: p.Result, kind: str) -> State:
        """Read a result.

        Raises:
            QueryableStateError: There is no value, or it is of another type.
        """
        if result.value is None:
            raise p.error_of(result.code or p.Code.FAILED, result.message)
        types = QueryTypes.undeclared(kind_named(kind)) if self.types is None else self.types
        return immutable_state(kind, types.decode(result.value), self.descriptor)
