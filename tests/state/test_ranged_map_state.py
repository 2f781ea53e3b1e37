"""Ranges of maps with integer keys: what a dict gives, in every backend, whatever is cached or removed."""

from __future__ import annotations

import random

import pytest

from rekindle.common import Types
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import MapStateDescriptor
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.state_primitives import RangedMapState
from rekindle.testing.backends import BackendUnderTest
from support.seeds import seeds

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
RANGES = [(-1, 1), (0, 0), (-9, -2), (3, 9), (-30, 30), (5, 4), (LOWEST, HIGHEST), (LOWEST * 2, -3), (7, HIGHEST * 2)]


@pytest.mark.parametrize("cache_entries", [None, 100, 8, 0])
@pytest.mark.parametrize("seed", seeds(4))
def test_a_range_is_that_of_a_dict(cache_entries: int | None, seed: int) -> None:
    rocksdb = None if cache_entries is None else RocksDBSettings(cache_entries=cache_entries)
    kind = BackendUnderTest("backend", BackendSettings(rocksdb=rocksdb))
    choice = random.Random(seed)
    model: dict[str, dict[int, int]] = {"a": {}, "b": {}, "none": {}}
    try:
        backend = kind.create(KeyGroupRange(0, 127), 128, lambda: 0)
        state = backend.get_or_create(MapStateDescriptor("map", Types.LONG(), Types.LONG()))
        assert isinstance(state, RangedMapState)
        for step in range(200):
            backend.key = choice.choice("ab")
            key = choice.choice([choice.randrange(-12, 12), LOWEST, HIGHEST])
            if choice.random() < 0.3:
                state.remove(key)
                model[backend.key].pop(key, None)
            else:
                state.put(key, step)
                model[backend.key][key] = step
            if step % 10 == 0:
                for backend.key, expected in model.items():
                    for first, last in RANGES:
                        found = state.between(first, last)
                        assert found == sorted((k, v) for k, v in expected.items() if first <= k <= last)
    finally:
        kind.close()
