"""The cache in front of RocksDB: bounded, written back in one go, and never to be seen."""

import random

import pytest

from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.state.rocksdb.cache import WriteBackCache
from rekindle.state.rocksdb.database import BatchWriter, walk
from support.seeds import SEED


def cache_of(backend, name) -> WriteBackCache:
    return backend._caches[name]


def in_rocksdb(backend, name):
    """Count the entries that RocksDB has."""
    return sum(1 for _ in walk(backend._tables[name].column, b""))


def cached(backend, name):
    cache = cache_of(backend, name)
    return sum(cache._weight(cells) for cells in (cache.dirty, cache.clean, cache.old))


def test_values_are_as_written_last_whatever_the_cache_holds(backend):
    state = backend.get_or_create(ValueStateDescriptor("v", default_value=0))
    expected = {}
    choice = random.Random(SEED)
    for step in range(2000):
        backend.key = choice.randrange(12)
        assert state.value() == expected.get(backend.key, 0)
        if choice.random() < 0.6:
            state.update(step)
            expected[backend.key] = step
        elif choice.random() < 0.5:
            state.clear()
            expected.pop(backend.key, None)
    for key in range(12):
        backend.key = key
        assert state.value() == expected.get(key, 0)
    assert set(backend.keys("v")) == set(expected)


def test_a_cache_is_bounded(make_backend, cache_entries):
    backend = make_backend(cache_entries)
    value = backend.get_or_create(ValueStateDescriptor("v"))
    entries = backend.get_or_create(MapStateDescriptor("m"))
    elements = backend.get_or_create(ListStateDescriptor("l"))
    for step in range(3 * max(cache_entries, 20)):
        backend.key = step
        value.value()
        value.update(step)
        entries.get("a")
        entries.put("b", step)
        elements.add(step)
        elements.get()
    for name in ("v", "m", "l"):
        assert cached(backend, name) <= 2 * cache_entries + (3 if cache_entries else 0)


def test_without_a_cache_every_write_is_in_rocksdb_at_once(make_backend):
    backend = make_backend(0)
    backend.key = 1
    backend.get_or_create(ValueStateDescriptor("v")).update(1)
    backend.get_or_create(MapStateDescriptor("m")).put_all({1: 1, 2: 2})
    backend.get_or_create(ListStateDescriptor("l")).add_all([1, 2, 3])
    assert [in_rocksdb(backend, name) for name in "vml"] == [1, 2, 3]
    backend.get_or_create(ValueStateDescriptor("v")).clear()
    backend.get_or_create(MapStateDescriptor("m")).remove(1)
    backend.get_or_create(ListStateDescriptor("l")).update([4])
    assert [in_rocksdb(backend, name) for name in "vml"] == [0, 1, 1]


def test_entries_that_are_written_again_and_again_reach_rocksdb_once(make_backend):
    backend = make_backend(1000)
    state = backend.get_or_create(ValueStateDescriptor("v"))
    writes = []
    cache = cache_of(backend, "v")
    table_write = cache.table.write
    cache.table = _Spy(cache.table, lambda changes: writes.append(1) or table_write(changes))
    for step in range(20_000):
        backend.key = step % 400
        state.value()
        state.update(step)
    assert not writes
    cache.flush()
    assert len(writes) == 1
    assert in_rocksdb(backend, "v") == 400


class _Spy:
    def __init__(self, table, write):
        self._table = table
        self.write = write

    def __getattr__(self, name):
        return getattr(self._table, name)


def test_what_does_not_fit_is_written_in_batches(make_backend):
    backend = make_backend(1000)
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for step in range(5000):
        backend.key = step
        state.update(step)
    assert in_rocksdb(backend, "v") == 5000
    backend.key = 5000
    state.update(1)
    assert in_rocksdb(backend, "v") == 5000


def test_an_updated_object_that_was_changed_in_place_is_kept(backend):
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for key in range(6):
        backend.key = key
        state.update([key])
    for key in range(6):
        backend.key = key
        numbers = state.value()
        numbers.append("more")
        state.update(numbers)
    for key in range(6):
        backend.key = key
        assert state.value() == [key, "more"]


def test_what_a_value_cannot_be_pickled_for_names_the_state(make_backend):
    backend = make_backend(0)
    backend.key = 1
    with pytest.raises(Exception, match="pickle") as caught:
        backend.get_or_create(ValueStateDescriptor("greeting")).update(lambda: "hello")
    assert any("'greeting'" in note for note in caught.value.__notes__)


def test_equal_keys_share_an_entry_in_cache_and_database(backend):
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for key in (1, 1.0, True):
        backend.key = key
        state.update((state.value() or 0) + 1)
    backend.key = 2  # pushes 1 out of the smallest caches
    state.update(0)
    backend.key = 1
    assert state.value() == 3
    assert sorted(backend.keys("v")) == [1, 2]


def test_a_cache_of_large_entries_holds_fewer(make_backend):
    backend = make_backend(65_536)
    value = backend.get_or_create(ValueStateDescriptor("v"))
    entries = backend.get_or_create(MapStateDescriptor("m"))
    elements = backend.get_or_create(ListStateDescriptor("l"))
    large = 1_000_000
    for step in range(600):
        backend.key = step % 50
        value.update(bytes([step % 256]) * large)
        entries.put(step, bytes([step % 256]) * large)
        elements.add(bytes([step % 256]) * large)
        assert max(cached(backend, name) for name in ("v", "m", "l")) <= 330  # 64 MB, and as many again
    for key in range(50):
        backend.key = key
        assert value.value() == bytes([(key + 550) % 256]) * large
        assert sorted(entries.keys()) == list(range(key, 600, 50))
        assert [element[0] for element in elements.get()] == [step % 256 for step in range(key, 600, 50)]


def test_entries_that_become_large_are_noticed(make_backend):
    backend = make_backend(65_536)
    value = backend.get_or_create(ValueStateDescriptor("v"))
    for step in range(20_000):
        backend.key = step
        value.update(step)
    assert cached(backend, "v") == 20_000, "small ones all fit"
    for step in range(5_000):
        backend.key = step
        value.update(bytes(100_000))
    assert cached(backend, "v") < 5_000


def test_batches_are_written_by_their_bytes(make_backend, monkeypatch):
    backend = make_backend(65_536)
    value = backend.get_or_create(ValueStateDescriptor("v"))
    sizes = []
    real = BatchWriter._check

    def noting(self):
        sizes.append(self._batch.size_in_bytes())
        real(self)

    monkeypatch.setattr(BatchWriter, "_check", noting)
    for key in range(60):
        backend.key = key
        value.update(bytes(1_000_000))
    cache_of(backend, "v").flush()
    assert sizes
    assert max(sizes) < 10_000_000
