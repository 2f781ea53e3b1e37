"""What is read from RocksDB ahead of a chunk: the same values with fewer reads, and only where it pays."""

import random
from decimal import Decimal

import pytest

from rekindle.common.time import Time
from rekindle.common.typeinfo import Types
from rekindle.datastream.state import (
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.state.rocksdb import value_state
from rekindle.state.rocksdb.layout import Layout
from rekindle.state.rocksdb.table import StateTable
from rekindle.state.snapshots import SnapshotRequest
from rekindle.testing import take_snapshot
from support.seeds import SEED

CHUNK = 200


@pytest.fixture
def single_reads(monkeypatch):
    """Note each key that is read by itself."""
    read, keys = StateTable.read, []

    def noting(table, key):
        keys.append(key)
        return read(table, key)

    monkeypatch.setattr(StateTable, "read", noting)
    return keys


@pytest.fixture
def many_reads(monkeypatch):
    """Note how many keys are read together, each time."""
    read, counts = StateTable.read_many, []

    def noting(table, keys, most_bytes):
        counts.append(len(keys))
        return read(table, keys, most_bytes)

    monkeypatch.setattr(StateTable, "read_many", noting)
    return counts


@pytest.fixture
def eager(monkeypatch):
    """Read ahead whenever a single key was missing."""
    monkeypatch.setattr(value_state, "_FEW", 1)
    monkeypatch.setattr(value_state, "_RARE", 1000)


def filled(backend, keys):
    """Return a state that RocksDB has all of, and the cache nothing."""
    state = backend.get_or_create(ValueStateDescriptor("v", Types.LONG()))
    for backend.key in keys:
        state.update(backend.key)
    forget(backend)
    return state


def forget(backend):
    cache = backend._caches["v"]
    cache.flush()
    cache.clean.clear()
    cache.old.clear()


def read_chunk(backend, state, keys):
    backend.before_chunk(keys)
    values = []
    for backend.key in keys:
        values.append(state.value())
    backend.after_chunk(len(keys))
    return values


def test_keys_that_are_missing_are_read_at_once(make_backend, single_reads, many_reads):
    backend = make_backend(10_000)
    state = filled(backend, range(10 * CHUNK))
    for start in range(0, 10 * CHUNK, CHUNK):
        keys = [*range(start, start + CHUNK), start]
        assert read_chunk(backend, state, keys) == keys
    assert single_reads == list(range(CHUNK))  # by those of the first chunk it was learned that keys are missing
    assert many_reads == [CHUNK] * 9


def test_keys_in_the_cache_are_not_read(make_backend, single_reads, many_reads):
    backend = make_backend(10_000)
    state = filled(backend, range(CHUNK))
    for _ in range(5):
        read_chunk(backend, state, range(CHUNK))
    assert single_reads == list(range(CHUNK))
    assert sum(many_reads) == 0


def test_nothing_is_read_ahead_for_who_only_writes(make_backend, single_reads, many_reads):
    backend = make_backend(10_000)
    state = filled(backend, range(CHUNK))
    for start in range(CHUNK, 20 * CHUNK, CHUNK):
        backend.before_chunk(range(start, start + CHUNK))
        for backend.key in range(start, start + CHUNK):
            state.update(1)
    assert (single_reads, many_reads) == ([], [])


def test_what_nobody_asks_for_is_not_read_for_long(make_backend, many_reads):
    backend = make_backend(100_000)
    state = filled(backend, range(60 * CHUNK))
    for start in range(0, 60 * CHUNK, CHUNK):
        backend.before_chunk(range(start, start + CHUNK))
        for backend.key in range(start, start + CHUNK // 3):
            state.value()
    assert many_reads == [CHUNK]


def test_no_more_is_read_than_there_is_room_for(make_backend, many_reads, monkeypatch):
    backend = make_backend(100)
    state = filled(backend, range(2 * CHUNK))
    assert read_chunk(backend, state, range(CHUNK)) == list(range(CHUNK))
    forget(backend)
    assert read_chunk(backend, state, range(CHUNK, 2 * CHUNK)) == list(range(CHUNK, 2 * CHUNK))
    assert many_reads == [100]
    monkeypatch.setattr(value_state, "_MOST_BYTES_AHEAD", 300)
    ahead = backend._tables["v"].read_many(list(range(CHUNK)), 300)
    assert 16 <= len(ahead) < CHUNK


def test_a_key_that_cannot_be_encoded_fails_where_it_is_asked_for(make_backend, eager):
    class Local:
        """Cannot be pickled: it is not found under its name."""

    backend = make_backend(1000)
    state = filled(backend, range(CHUNK))
    read_chunk(backend, state, range(CHUNK))
    forget(backend)
    stranger = Local()
    backend.before_chunk([1, stranger])
    backend.key = 1
    assert state.value() == 1
    backend.key = stranger
    with pytest.raises(Exception, match="Local"):
        state.value()


@pytest.mark.parametrize("how", ["update", "forget"])
def test_what_was_read_ahead_does_not_outlive_a_write(make_backend, eager, how):
    backend = make_backend(20)
    state = filled(backend, range(CHUNK))
    backend.key = 0
    state.value()
    forget(backend)
    backend.before_chunk([1, 2, 3])
    backend.key = 1
    if how == "update":
        state.update(-1)  # without having been read
    else:
        cache = backend._caches["v"]
        cache.forget(1)
        cache.table.write(iter([(cache.table.layout.place(1)[0], cache.table.codec.encode(-1))]))
    for backend.key in range(100, CHUNK):  # until it is written and no longer in the cache
        state.value()
    backend.key = 1
    assert state.value() == -1


@pytest.mark.parametrize("ttl", [False, True], ids=["forever", "ttl"])
@pytest.mark.parametrize("size", [1, 3, 20, 1000], ids=lambda size: f"cache-{size}")
def test_values_are_as_written_last_whatever_was_read_ahead(make_backend, eager, clock, size, ttl, many_reads):
    backend = make_backend(size)
    value, total = ValueStateDescriptor("v"), ReducingStateDescriptor("r", lambda a, b: a + b)
    if ttl:
        for descriptor in (value, total):
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(10**6)).build())
    values, totals = backend.get_or_create(value), backend.get_or_create(total)
    known_values, known_totals = {}, {}
    choice = random.Random(SEED)
    pool = [*range(-20, 20), 2**70, "a", "b", ("c", 1), 1.5, Decimal(7), True]
    taken = []
    for _ in range(60):
        keys = [choice.choice(pool) for _ in range(30)]
        backend.before_chunk(keys)
        for key in [*keys, choice.choice(pool)]:  # and, as timers do, others
            backend.key = key
            what = choice.random()
            assert values.value() == known_values.get(key)
            if what < 0.4:
                known_values[key] = choice.random()
                values.update(known_values[key])
            elif what < 0.5:
                known_values.pop(key, None)
                values.clear()
            elif what < 0.8:
                totals.add(1)
                known_totals[key] = known_totals.get(key, 0) + 1
            assert totals.get() == known_totals.get(key)
            if what > 0.98:
                backend._caches["v"].flush()
            if what > 0.985:
                taken.append(backend.snapshot(SnapshotRequest(len(taken) + 1)))
                list(taken[-1].blocks())  # nothing is written from now on
        clock.advance(1)
        backend.after_chunk(len(keys))
        for snapshot in taken:
            snapshot.settle()
            snapshot.release()
        taken.clear()
    assert sum(many_reads) > 0
    stored = take_snapshot(backend, 1000, canonical=True).entries()
    assert set(stored["v"]) == set(known_values)
    assert set(stored["r"]) == set(known_totals)


@pytest.mark.parametrize(
    "keys",
    [
        [3, -1, 0, 2**63 - 1, -(2**63), 17, 255, 256],
        [3, 2**63, -1],
        [1, True, "x", (1, "y"), None, 0.5],
        [],
    ],
    ids=["integers", "a large integer", "mixed", "none"],
)
def test_many_keys_are_placed_as_each_of_them(keys):
    layout = Layout(128, namespaced=False)
    expected = sorted((layout.place(key)[0], index) for index, key in enumerate(keys))
    assert layout.in_order(keys) == ([keys[index] for _, index in expected], [prefix for prefix, _ in expected])


def test_namespaced_keys_are_placed_as_each_of_them():
    layout = Layout(128, namespaced=True)
    keys = [(3, 1), (3, 0), (1, 7)]
    ordered, prefixes = layout.in_order(keys)
    assert prefixes == [layout.place(key)[0] for key in ordered] == sorted(layout.place(key)[0] for key in keys)
