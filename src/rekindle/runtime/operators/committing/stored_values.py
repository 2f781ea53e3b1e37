"""Values in a committable, with how they were written: a later program may have another type for them."""

from __future__ import annotations

from typing import Any

import msgspec

from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.operator_state.chunk_list import decode_records, encode_records
from rekindle.state.operator_state.stored import DistributionMode, StoredList
from rekindle.state.state_evolution import StateName
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer


class StoredValues(msgspec.Struct, frozen=True):
    """Hold values as bytes.

    Attributes:
        item: The values.
        serializer: The snapshot of the serializer that wrote them.
    """

    item: bytes
    serializer: bytes


class ValueCodec:
    """Write and read the values of one kind that a sink keeps in checkpoints."""

    def __init__(self, type_info: TypeInformation | None, name: StateName) -> None:
        """Choose the serializer.

        Args:
            type_info: The type of the values; None: they are pickled.
            name: What they are, for messages.
        """
        self._serializer: TypeSerializer[Any] = PickleSerializer() if type_info is None else serializer_of(type_info)
        self._name = name

    def encode(self, values: list[Any]) -> StoredValues:
        """Write values, at least one.

        Raises:
            SerializationError: A value does not match its type.
        """
        (part,) = encode_records(values, None, self._serializer, self._name).parts
        return StoredValues(part.items[0], part.serializers[0])

    def decode(self, stored: StoredValues) -> list[Any]:
        """Read values, whatever they were written with.

        Raises:
            StateMigrationException: They cannot follow the program's type.
            StateRestoreError: They are not what their serializer writes.
        """
        items = StoredList.of(DistributionMode.SPLIT, [stored.item], (stored.serializer,))
        return [value for values, _ in decode_records(items, self._serializer, self._name) for value in values]
