"""What one key has can be taken out alone, and be seen before an operator does anything with it."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend
from rekindle.state.state_owner import StateOwner
from rekindle.state.watched_keys import watch_keys
from rekindle.testing import ManualClock

from .driver import ALL_KEY_GROUPS, EVERY_KIND, MAX_PARALLELISM, Keyed, Kind

KEYS: list[Any] = ["a", "aa", 1, (1, 2), "k" * 300, None]
NAMESPACES: list[Any] = [(0, 10), "window", "n" * 300, "n" * 70_000, None]


def on_the_heap(backend: KeyedStateBackend, key: Any) -> HeapKeyedStateBackend:
    """Make a backend that holds what one key has in another, and nothing else."""
    made = HeapKeyedStateBackend(StateOwner("operator", "uid"), ALL_KEY_GROUPS, MAX_PARALLELISM, ManualClock().now)
    made.restore_blocks(list(backend.blocks_of(key)))
    return made


@EVERY_KIND
def test_the_state_of_a_key_is_taken_out_alone(keyed: Keyed, kind: Kind) -> None:
    state: Any = keyed.backend.get_or_create(kind.descriptor())
    for number, key in enumerate(KEYS):
        keyed.key = key
        kind.write(state, number)
    for number, key in enumerate(KEYS):
        alone = on_the_heap(keyed.backend, key)
        found: Any = alone.get_or_create(kind.descriptor())
        assert list(alone.keys(kind.descriptor().get_name())) == [key]
        alone.key = key
        assert kind.read(found) == kind.expected(number)
    assert list(keyed.backend.blocks_of("nothing")) == []


@EVERY_KIND
def test_with_all_its_namespaces(keyed: Keyed, kind: Kind) -> None:
    state = keyed.backend.get_or_create_namespaced(kind.descriptor())
    cells = [(key, namespace) for key in KEYS for namespace in NAMESPACES]
    for number, (keyed.key, namespace) in enumerate(cells):
        kind.write(state.use(namespace), number)
    for key in KEYS:
        alone = on_the_heap(keyed.backend, key)
        found = alone.get_or_create_namespaced(kind.descriptor())
        alone.key = key
        numbers = [number for number, cell in enumerate(cells) if cell[0] == key]
        read = [kind.read(found.use(namespace)) for namespace in NAMESPACES]
        assert read == [kind.expected(number) for number in numbers]


@EVERY_KIND
@pytest.mark.parametrize("watched", [None, {"a", 1}])
def test_a_watched_key_is_seen_before_it_is_changed(keyed: Keyed, kind: Kind, watched: set[Any] | None) -> None:
    state: Any = keyed.backend.get_or_create(kind.descriptor())
    seen: list[tuple[Any, Any]] = []

    def look(key: Any) -> None:
        assert keyed.backend.key == key
        seen.append((key, kind.read(state)))

    watch_keys(keyed.backend, watched, look)
    for number, keyed.backend.key in enumerate(["a", "b", "a", 1]):
        kind.write(state, number)
    keyed.backend.key = NO_KEY
    expected = [("a", kind.unset), ("b", kind.unset), ("a", kind.expected(0)), (1, kind.unset)]
    assert seen == [pair for pair in expected if watched is None or pair[0] in watched]
