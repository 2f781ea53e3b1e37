"""The backends that the contract is checked against."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest

from rekindle.state.rocksdb.settings import DEFAULT_CACHE_ENTRIES
from rekindle.testing import BackendUnderTest, heap_backends, rocksdb_backends
from support.seeds import NAMED

from .driver import Keyed, started

MEMORY = "/dev/shm"


@pytest.fixture(scope="package", autouse=True)
def _temporary_directories_in_memory() -> Iterator[None]:
    """Make databases where there is no disk to wait for: there are thousands of them."""
    usual = tempfile.tempdir
    if os.path.isdir(MEMORY) and os.access(MEMORY, os.W_OK):
        tempfile.tempdir = MEMORY
    yield
    tempfile.tempdir = usual


# No cache, one that is always full, the usual one; a drawn seed tries more sizes, as the random histories always do.
ROCKSDB = rocksdb_backends() if NAMED else rocksdb_backends((0, 1, DEFAULT_CACHE_ENTRIES))


@pytest.fixture(params=[*heap_backends(), *ROCKSDB], ids=lambda under_test: under_test.name)
def under_test(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    """Yield one kind of backend after the other; close those that were made."""
    chosen: BackendUnderTest = request.param
    yield chosen
    chosen.close()


@pytest.fixture
def keyed(under_test: BackendUnderTest) -> Keyed:
    """Return an empty backend that keeps all key groups."""
    return started(under_test)
