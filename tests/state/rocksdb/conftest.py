"""Backends in temporary directories, which must be gone when they are closed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.state.rocksdb.backend import RocksDBKeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.state_owner import StateOwner
from rekindle.testing import ManualClock

CACHE_SIZES = (0, 1, 2, 3, 1000)
ALL = KeyGroupRange(0, 15)
MAX_PARALLELISM = 16
MakeBackend = Callable[..., RocksDBKeyedStateBackend]


@pytest.fixture(params=CACHE_SIZES, ids=lambda size: f"cache-{size}")
def cache_entries(request: pytest.FixtureRequest) -> int:
    """Run a test with caches of all sizes that matter."""
    size: int = request.param
    return size


@pytest.fixture
def clock() -> ManualClock:
    """Return the clock that backends go by."""
    return ManualClock(1_000_000)


@pytest.fixture
def make_backend(tmp_path: Path, clock: ManualClock) -> Iterator[MakeBackend]:
    """Make backends; afterwards close them all, and fail if they leave files behind."""
    made: list[RocksDBKeyedStateBackend] = []

    def make(
        cache_entries: int = 1000, key_groups: KeyGroupRange = ALL, incremental: bool = False, **settings: Any
    ) -> RocksDBKeyedStateBackend:
        directory = str(tmp_path / f"rocksdb-{len(made)}")
        chosen = RocksDBSettings(cache_entries=cache_entries, **settings)
        backend = RocksDBKeyedStateBackend(
            StateOwner("count"), key_groups, MAX_PARALLELISM, clock.now, directory, chosen, incremental
        )
        made.append(backend)
        return backend

    yield make
    for backend in made:
        backend.close()
    assert not [name for name in os.listdir(tmp_path) if name.startswith("rocksdb-")]


@pytest.fixture
def backend(make_backend: MakeBackend, cache_entries: int) -> RocksDBKeyedStateBackend:
    """Return a backend, with caches of all sizes that matter."""
    return make_backend(cache_entries)
