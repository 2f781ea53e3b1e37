"""State moves between backends of all kinds, by checkpoint and by savepoint."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rekindle.datastream.state import ListStateDescriptor
from rekindle.testing import BackendUnderTest, heap_backends, rocksdb_backends

from .driver import KINDS, START, TTL, contents, fill, filled, restored, started, ttl

KEYS = [*range(12), None, "x", ("t", 1)]
NUMBERS = {key: number for number, key in enumerate(KEYS)}
EVERY_BACKEND = [*heap_backends(), *rocksdb_backends((0, 3))]


@pytest.fixture(params=EVERY_BACKEND, ids=lambda backend: f"from {backend.name}")
def source(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    """Yield the kind that state comes from."""
    yield request.param
    request.param.close()


@pytest.fixture(params=EVERY_BACKEND, ids=lambda backend: f"to {backend.name}")
def target(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    """Yield the kind that state goes to."""
    yield request.param
    request.param.close()


class TestOtherBackend:
    def test_every_kind_of_state_moves(self, source: BackendUnderTest, target: BackendUnderTest) -> None:
        before = started(source)
        fill(before, NUMBERS)
        for snapshot in (before.checkpoint(), before.savepoint()):
            after = before.restored(snapshot, into=target)
            assert contents(after, KEYS) == filled(NUMBERS)
            fill(after, {"new": 1})
            back = after.restored(after.checkpoint(), into=source)
            assert contents(back, [*KEYS, "new"]) == filled({**NUMBERS, "new": 1})

    def test_a_chain_of_checkpoints_moves(self, source: BackendUnderTest, target: BackendUnderTest) -> None:
        before = started(source)
        fill(before, NUMBERS)
        before.checkpoint()
        for before.key in (0, 1, None):
            for kind in KINDS:
                before.open(kind.descriptor()).clear()
        fill(before, {1: 50, "new": 51})
        before.checkpoint()
        numbers = {**{key: number for key, number in NUMBERS.items() if key not in (0, None)}, 1: 50, "new": 51}
        assert contents(before.restored(before.checkpoint(), into=target), [*KEYS, "new"]) == filled(numbers)

    def test_time_to_live_moves(self, source: BackendUnderTest, target: BackendUnderTest) -> None:
        before = started(source)
        fill(before, NUMBERS, ttl())
        before.clock.advance(60)
        for snapshot in (before.checkpoint(), before.savepoint()):
            before.clock.set(START + 60)
            after = before.restored(snapshot, into=target)
            before.clock.set(START + TTL - 1)
            assert contents(after, KEYS, ttl()) == filled(NUMBERS)
            before.clock.set(START + TTL)
            assert contents(after, KEYS, ttl()) == {}

    def test_namespaces_move(self, source: BackendUnderTest, target: BackendUnderTest) -> None:
        before = started(source)
        namespaced = before.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for before.key in KEYS:
            for window in ((0, 10), (10, 20)):
                namespaced.use(window).add_all([repr(before.key), window])
        after = before.restored(before.checkpoint(), into=target)
        namespaced = after.backend.get_or_create_namespaced(ListStateDescriptor("l"))
        for after.key in KEYS:
            for window in ((0, 10), (10, 20)):
                assert list(namespaced.use(window).get()) == [repr(after.key), window]

    def test_moving_and_rescaling_at_once(self, source: BackendUnderTest, target: BackendUnderTest) -> None:
        before = started(source)
        fill(before, NUMBERS)
        snapshot = before.checkpoint()
        thirds = [restored(target, [snapshot], before.clock, subtask, 3) for subtask in range(3)]
        snapshots = [part.checkpoint() for part in thirds]
        halves = [restored(source, snapshots, before.clock, subtask, 2) for subtask in range(2)]
        held = [contents(part, KEYS) for part in halves]
        for kind in KINDS:
            parts = [part.get(kind.name, {}) for part in held]
            assert {**parts[0], **parts[1]} == filled(NUMBERS)[kind.name]
            assert sum(map(len, parts)) == len(KEYS)
