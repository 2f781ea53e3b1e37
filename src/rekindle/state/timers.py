"""Timers in memory, of one keyed operator in one subtask: a heap per time domain, each timer kept once."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from rekindle.base.milliseconds import milliseconds
from rekindle.state.blocks import TIMERS, KeyGroupBlock
from rekindle.state.key_hash import key_group_of
from rekindle.state.read_back import check_key_group, reading_back
from rekindle.state.state_evolution import evolved
from rekindle.state.state_owner import StateOwner
from rekindle.state.state_serializers import UNUSED, StateSerializers, StoredSerializers
from rekindle.state.timer_heap import Entry
from rekindle.state.timer_store import TimerStore
from rekindle.types.type_serializer import TypeSerializer

_SLACK = 64  # deleted timers stay in the heap until they are due, or until there are more of them than of the others


class Timers(msgspec.Struct, frozen=True, array_like=True):
    """Hold the timers of a block."""

    keys: bytes
    timestamps: list[int]


class TimerQueue(TimerStore):
    """Keep the timers of one time domain as Python objects."""

    __slots__ = ("_heap", "_live", "_owner", "_pop", "_push", "_remove", "_sequence")

    def __init__(self, name: str, owner: StateOwner) -> None:
        super().__init__(name)
        self._owner = owner
        self._heap: list[Entry] = []
        order = owner.timer_heap()
        self._push, self._pop, self._remove = order.push, order.pop, order.remove
        self._live: dict[tuple[Any, int], int] = {}  # the timers, by their sequence number in the heap
        self._sequence = itertools.count()  # keys need no ordering

    def register(self, key: Any, timestamp: int) -> None:
        if type(timestamp) is not int or not -0x8000000000000000 <= timestamp <= 0x7FFFFFFFFFFFFFFF:
            timestamp = self.checked(timestamp)
        timer = (key, timestamp)
        if timer not in self._live:
            self._live[timer] = number = next(self._sequence)
            self._push(self._heap, (timestamp, number, key))

    def delete(self, key: Any, timestamp: int) -> None:
        if type(timestamp) is not int or not -0x8000000000000000 <= timestamp <= 0x7FFFFFFFFFFFFFFF:
            timestamp = self.checked(timestamp)
        number = self._live.pop((key, timestamp), None)
        if number is None:
            return
        if self._remove is not None and self._remove(self._heap, (timestamp, number, key)):
            return
        if len(self._heap) > 2 * len(self._live) + _SLACK:
            self._heap = [entry for entry in self._heap if self._is_live(*entry)]
            heapq.heapify(self._heap)

    def pop_due(self, until: int) -> tuple[Any, int] | None:
        while self._heap and self._heap[0][0] <= until:
            timestamp, number, key = self._pop(self._heap)
            if self._is_live(timestamp, number, key):
                del self._live[key, timestamp]
                return key, timestamp
        return None

    def next_timestamp(self) -> int | None:
        while self._heap:
            if self._is_live(*self._heap[0]):
                return self._heap[0][0]
            self._pop(self._heap)
        return None

    def latest_timestamp(self) -> int | None:
        return max((timestamp for _, timestamp in self._live), default=None)

    def clear(self) -> None:
        self._heap.clear()
        self._live.clear()

    def __len__(self) -> int:
        return len(self._live)

    def may_hold_any(self) -> bool:
        return bool(self._live)

    def in_order(self) -> list[tuple[Any, int]]:
        """Return all timers, each as :meth:`pop_due` gives it, by time."""
        live = sorted((e for e in self._heap if self._is_live(*e)), key=lambda entry: entry[:2])
        return [(key, timestamp) for timestamp, _, key in live]

    def of_key(self, key: Any) -> list[tuple[Any, int]]:
        """Return the timers of one key, each as :meth:`pop_due` gives it, by time."""
        live = [entry for entry in self._live.items() if self._state_key(entry[0][0]) == key]
        return [timer for timer, _ in sorted(live, key=lambda entry: (entry[0][1], entry[1]))]

    def snapshot_blocks(self, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        return self.blocks(self.in_order(), max_parallelism)

    def blocks_of(self, key: Any, max_parallelism: int) -> Iterator[KeyGroupBlock]:
        return self.blocks(self.of_key(key), max_parallelism)

    def blocks(self, ordered: Iterable[tuple[Any, int]], max_parallelism: int) -> Iterator[KeyGroupBlock]:
        groups: dict[int, list[tuple[Any, int]]] = {}
        for key, timestamp in ordered:
            groups.setdefault(key_group_of(self._state_key(key), max_parallelism), []).append((key, timestamp))
        if not groups:
            return
        stored = self.serializers().stored_for_timers(self._owner.state(self.name))
        for key_group, timers in groups.items():
            data = self._encode([key for key, _ in timers], [timestamp for _, timestamp in timers])
            yield KeyGroupBlock(self.name, TIMERS, key_group, len(timers), data, serializers=stored)

    def timers_in(
        self, blocks: Iterable[KeyGroupBlock], max_parallelism: int | None = None
    ) -> Iterator[tuple[Any, int]]:
        for block in blocks:
            assert block.serializers is not None
            keys, timestamps = self._decode(block.data, block.serializers)
            if max_parallelism is not None and keys:
                check_key_group(self._state_key(keys[0]), block, max_parallelism, self._owner.state(self.name))
            yield from zip(keys, timestamps, strict=True)

    def read_back(self, block: KeyGroupBlock, max_parallelism: int) -> None:
        name = self._owner.state(self.name)
        with reading_back(name):
            assert block.serializers is not None
            keys, _ = self._decode(block.data, block.serializers)
            check_key_group(self._state_key(keys[0]), block, max_parallelism, name)

    # --- how timers become bytes; a queue whose timers carry more than a key does it in its own way ---

    def _state_key(self, key: Any) -> Any:
        """Return the key of the state that a timer belongs to."""
        return key

    def serializers(self) -> StateSerializers:
        """Return the serializers of the timers; that of values is of no use."""
        return StateSerializers(self._owner.key_serializer, UNUSED, UNUSED, UNUSED)

    def _encode(self, keys: list[Any], timestamps: list[int]) -> bytes:
        return msgspec.msgpack.encode(Timers(self._owner.key_serializer.all_to_bytes(keys), timestamps))

    def _decode(self, data: bytes, stored: StoredSerializers) -> tuple[list[Any], list[int]]:
        timers = msgspec.msgpack.decode(data, type=Timers)
        return self._key_reader(stored).all_from_bytes(timers.keys), timers.timestamps

    def _key_reader(self, stored: StoredSerializers) -> TypeSerializer[Any]:
        name = self._owner.state(self.name)
        return evolved(stored.key, self._owner.key_serializer, name, "key", may_migrate=False).reader

    def checked(self, timestamp: Any) -> int:
        """Return a timestamp as an integer of 64 bits; raise as :meth:`register` does if it is none."""
        return milliseconds(timestamp, f"the time of a timer of operator {self._owner.name!r}")

    def _is_live(self, timestamp: int, number: int, key: Any) -> bool:
        """Return whether an entry of the heap is a timer, not one that was deleted."""
        return self._live.get((key, timestamp)) == number
