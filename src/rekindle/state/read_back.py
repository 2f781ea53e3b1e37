"""Reads back what was just written of a state: no checkpoint may complete that cannot be restored.

Encoders check less than decoders do, and objects of the user's classes may be pickled and not unpickled. So blocks are
read once, by the way a restore of the same program takes, before anybody counts on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rekindle.exceptions import RekindleError, SerializationError
from rekindle.state.block_decoding import BlockDecoder
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.key_hash import key_group_of
from rekindle.state.state_evolution import StateName, other_keys
from rekindle.state.state_serializers import (
    StateSerializers,
    StoredSerializers,
    evolved_serializers,
    restored_key_serializers,
)


class BlockReadBack:
    """Read back the blocks of one state."""

    __slots__ = ("_decoders", "_max_parallelism", "_name", "_serializers")

    def __init__(self, serializers: StateSerializers, name: StateName, max_parallelism: int) -> None:
        """Prepare for blocks.

        Args:
            serializers: Those of the program, by which the state is written.
            name: The state.
            max_parallelism: The number of key groups.
        """
        self._serializers = serializers
        self._name = name
        self._max_parallelism = max_parallelism
        self._decoders: dict[StoredSerializers, BlockDecoder] = {}

    def check(self, block: KeyGroupBlock) -> None:
        """Read a block.

        Raises:
            SerializationError: It cannot be read.
        """
        with reading_back(self._name):
            assert block.serializers is not None
            decoder = self._decoders.get(block.serializers)
            if decoder is None:
                evolved = evolved_serializers(block.serializers, self._serializers, self._name)
                decoder = self._decoders[block.serializers] = BlockDecoder(evolved.reader)
            keys = decoder.keys_of(block)
            if keys:
                first = keys[0][0] if block.namespaced else keys[0]
                check_key_group(first, block, self._max_parallelism, self._name)


def read_keys_back(block: KeyGroupBlock) -> None:
    """Read back the keys of a whole block, whose values were read back when they were serialized, one by one.

    Raises:
        SerializationError: They cannot be read.
    """
    assert block.serializers is not None
    BlockDecoder(restored_key_serializers(block.serializers)).read_keys(block)


def check_key_group(key: object, block: KeyGroupBlock, max_parallelism: int, name: StateName) -> None:
    """Refuse a key that a restore would look for elsewhere."""
    if key_group_of(key, max_parallelism) != block.key_group:
        raise other_keys(name, f"a {type(key).__name__}")


@contextmanager
def reading_back(name: StateName) -> Iterator[None]:
    """Turn whatever is raised by what was written into an error that says what it was."""
    try:
        yield
    except Exception as error:
        reason = str(error) if isinstance(error, RekindleError) else f"{type(error).__name__}: {error}"
        raise SerializationError(
            f"{name} cannot be part of a snapshot: what was written of it cannot be read back: {reason}"
        ) from error
