"""State that was restored as blocks and that nobody has asked for yet.

It stays as it was written until a program asks for it: only then is it known which types it should have. What nobody
asks for goes into the next snapshot as it is, so that nothing is lost with a program that does not need it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rekindle.exceptions import SerializationError, StateRestoreError
from rekindle.state.block_decoding import BlockDecoder
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.key_hash import key_group_of
from rekindle.state.shapes.state_shape import StateShape
from rekindle.state.state_evolution import StateName, other_keys
from rekindle.state.state_serializers import (
    EvolvedSerializers,
    StateSerializers,
    StoredSerializers,
    evolved_serializers,
)


class RestoredStates:
    """Hold blocks by the name of their state."""

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: dict[str, list[KeyGroupBlock]] = {}

    def add(self, blocks: Iterable[KeyGroupBlock]) -> None:
        """Add blocks, in the order in which they were written."""
        for block in blocks:
            self._blocks.setdefault(block.state, []).append(block)

    def of(self, name: str) -> list[KeyGroupBlock]:
        """Return the blocks of a state that a program asks for. They stay here until they are claimed."""
        return self._blocks.get(name, [])

    def claim(self, name: str) -> None:
        """Let go of the blocks of a state: the program that asked for it can take them over."""
        self._blocks.pop(name, None)

    def unclaimed(self) -> list[KeyGroupBlock]:
        """Return the blocks of all states that nobody has asked for."""
        return [block for blocks in self._blocks.values() for block in blocks]

    def names(self) -> list[str]:
        """Name the states that nobody has asked for."""
        return list(self._blocks)


def merged_entries(
    blocks: Iterable[KeyGroupBlock], decoders: Mapping[StoredSerializers, BlockDecoder], shape: StateShape, now: int
) -> tuple[dict[Any, Any], bool]:
    """Read the blocks of one state in one key group, changes on top of what they change.

    Args:
        blocks: The blocks, in the order in which they were written.
        decoders: What reads a block, by the serializers that wrote it.
        shape: What the state keeps for a key.
        now: The time of last access of entries that have none where others have one.

    Returns:
        The entries, and whether they carry times of last access.

    Raises:
        SerializationError: A block is not what its serializers write.
    """
    blocks = list(blocks)
    ttl = any(block.ttl for block in blocks)
    entries: dict[Any, Any] = {}
    for block in blocks:
        assert block.serializers is not None
        decoder = decoders[block.serializers]
        accessed_at = now if ttl and not block.ttl else None
        if block.delta:
            decoder.apply_delta(block, entries, accessed_at)
            continue
        keys, values = decoder.whole(block)
        if accessed_at is not None:
            values = [shape.with_last_access(value, now) for value in values]
        entries.update(zip(keys, values, strict=True))
    return entries, ttl


class ClaimedBlocks:
    """Read the blocks of a state that a program asks for, whatever they were written with.

    Attributes:
        writer: The serializers with which the state is written from now on.
    """

    __slots__ = ("_blocks", "_decoders", "_keys_changed", "_max_parallelism", "_name", "_now", "_spec", "writer")

    def __init__(
        self,
        blocks: list[KeyGroupBlock],
        spec: StateSpec,
        serializers: StateSerializers,
        name: StateName,
        now: Callable[[], int],
        max_parallelism: int,
    ) -> None:
        """Look at the blocks.

        Args:
            blocks: The blocks, in the order in which they were written.
            spec: The state as the program asks for it.
            serializers: The serializers that the program gives it.
            name: The state, for messages.
            now: Tells the time of last access of entries that have none.
            max_parallelism: The number of key groups.

        Raises:
            StateRestoreError: It is another state than that of the program.
            StateMigrationException: It cannot follow the program's types.
        """
        self._blocks = blocks
        self._spec = spec
        self._name = name
        self._now = now
        self._max_parallelism = max_parallelism
        self._keys_changed = False
        self.writer = serializers
        self._decoders: dict[StoredSerializers, BlockDecoder] = {}
        for block in blocks:
            check_same_state(name, block.spec, spec)
            assert block.serializers is not None
            if block.serializers not in self._decoders:
                evolved: EvolvedSerializers = evolved_serializers(block.serializers, self.writer, name)
                self.writer = evolved.writer
                self._keys_changed |= evolved.keys_changed
                self._decoders[block.serializers] = BlockDecoder(evolved.reader)

    def by_key_group(self) -> Iterator[dict[Any, Any]]:
        """Yield the entries of one key group after the other."""
        groups: dict[int, list[KeyGroupBlock]] = {}
        for block in self._blocks:
            groups.setdefault(block.key_group, []).append(block)
        self._blocks = []
        for key_group in list(groups):
            entries = self._entries(groups.pop(key_group))
            self._check_keys(entries, key_group)
            yield entries

    def entries(self) -> dict[Any, Any]:
        """Return all entries."""
        return dict(itertools.chain.from_iterable(entries.items() for entries in self.by_key_group()))

    def _check_keys(self, entries: dict[Any, Any], key_group: int) -> None:
        """Refuse keys that are looked for elsewhere now: one of each key group, or all if their type changed at all."""
        for scope_key in entries if self._keys_changed else itertools.islice(entries, 1):
            key = scope_key[0] if self._spec.namespaced else scope_key
            if key_group_of(key, self._max_parallelism) != key_group:
                raise other_keys(self._name, repr(key))

    def _entries(self, blocks: list[KeyGroupBlock]) -> dict[Any, Any]:
        shape, now = self._spec.kind.shape, self._now()
        try:
            entries, ttl = merged_entries(blocks, self._decoders, shape, now)
        except SerializationError as error:
            raise StateRestoreError(f"{self._name} cannot be restored: {error}") from error
        if ttl and not self._spec.ttl:
            return {key: shape.split(value)[0] for key, value in entries.items()}
        if self._spec.ttl and not ttl:
            return {key: shape.with_last_access(value, now) for key, value in entries.items()}
        return entries


def check_same_state(name: StateName, restored: StateSpec, wanted: StateSpec) -> None:
    """Raise unless state that was restored can be taken over as what the program asks for."""
    if restored.kind is not wanted.kind:
        raise StateRestoreError(
            f"{name} is a {restored.kind} state in the snapshot and a {wanted.kind} state in the program; give the new "
            "state another name"
        )
    if restored.namespaced != wanted.namespaced:
        raise StateRestoreError(
            f"{name} belongs to {_owner(restored)} in the snapshot and to {_owner(wanted)} in the program; give the "
            "new state another name"
        )


def _owner(spec: StateSpec) -> str:
    return "a key and a window" if spec.namespaced else "a key"
