"""Finds all that a snapshot holds for one key; where the key group can be told, nothing else is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint.metadata import OperatorMetadata
from rekindle.checkpoint.snapshot_file import SnapshotIndex
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.blocks import is_reserved
from rekindle.state.key_hash import key_group_of
from rekindle.state.key_text import keys_meant
from rekindle.state.state_serializers import StoredSerializers
from rekindle.state_processor.contents import Entry, SnapshotContents, Timer
from rekindle.state_processor.stored_types import readable_serializers


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """Hold an entry of the key that was looked for."""

    uid: str
    state: str
    entry: Entry


@dataclass(frozen=True, slots=True)
class FoundTimer:
    """Hold a timer of the key that was looked for."""

    uid: str
    timer: Timer


def find_key(
    contents: SnapshotContents, uid: str, text: str, state: str | None = None
) -> Iterator[FoundEntry | FoundTimer]:
    """Return all that an operator keeps for the key that a text means.

    Args:
        contents: The snapshot.
        uid: The operator.
        text: The key, as somebody typed it.
        state: The only state to look into; None: all, and the timers.

    Raises:
        StateNotFoundError: There is no such operator or state.
    """
    operator = contents.snapshot.operator(uid)
    names = [name for name in operator.keyed_states if not is_reserved(name)]
    if state is not None:
        contents.keyed_operator(uid, state)
        names = [state]
    meant = _meant(contents, operator, text)
    places: list[KeyGroupRange | None] = [KeyGroupRange(group, group) for group in _groups(meant, operator)] or [None]
    for place in places:
        for name in names:
            for entry in contents.entries(uid, name, place):
                if _is_meant(entry.key, meant, text):
                    yield FoundEntry(uid, name, entry)
        for timer in contents.timers(uid, place) if state is None else ():
            if _is_meant(timer.key, meant, text):
                yield FoundTimer(uid, timer)


def _is_meant(key: Any, meant: list[Any], text: str) -> bool:
    return key in meant if meant else text in (str(key), repr(key))


def _groups(meant: list[Any], operator: OperatorMetadata) -> list[int]:
    return sorted({key_group_of(key, operator.max_parallelism) for key in meant})


def _meant(contents: SnapshotContents, operator: OperatorMetadata, text: str) -> list[Any]:
    """Return the keys that a text may mean by the types that the operator's keys have; none: compare them."""
    meant: list[Any] = []
    for stored in _key_types(contents, operator):
        meant += [key for key in keys_meant(text, readable_serializers(stored)[0].key) if key not in meant]
    return meant


def _key_types(contents: SnapshotContents, operator: OperatorMetadata) -> set[StoredSerializers]:
    found: set[StoredSerializers] = set()
    for old in range(operator.parallelism):
        for database in contents.databases(operator.uid, old):
            records = (*database.states.values(), *database.timers.values())
            found |= {StoredSerializers(record.serializers.key) for record in records}
        for index in contents.reader.indexes(old):
            found |= _in_index(index, operator.uid)
    return found


def _in_index(index: SnapshotIndex, uid: str) -> set[StoredSerializers]:
    return {
        StoredSerializers(state.serializers.key)
        for operator in index.operators
        if operator.uid == uid
        for state in operator.keyed
        if state.serializers is not None
    }
