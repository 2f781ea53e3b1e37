"""Lists whose elements stand one by one."""

import pytest

from rekindle.datastream.state import ListStateDescriptor
from rekindle.exceptions import StateAccessError
from rekindle.state.rocksdb.database import walk
from rekindle.state.rocksdb.table import StateTable
from rekindle.testing import take_snapshot


@pytest.fixture
def elements(backend):
    backend.key = "a"
    return backend.get_or_create(ListStateDescriptor("l"))


def flush(backend):
    take_snapshot(backend, 1)


def stored(backend):
    return sum(1 for _ in walk(backend._tables["l"].column, b""))


def test_elements_stay_in_order_across_flushes_and_other_keys(backend, elements):
    for number in range(60):
        backend.key = f"key {number % 3}"
        elements.add(number)
        if number % 7 == 0:
            flush(backend)
        if number % 11 == 0:
            elements.get()
    for remainder in range(3):
        backend.key = f"key {remainder}"
        assert list(elements.get()) == list(range(remainder, 60, 3))


def test_reading_a_list_stops_where_it_ends(backend, elements):
    for number in range(3000):
        backend.key = number % 10
        elements.add(number)
    flush(backend)
    for key in range(10):
        backend.key = key
        backend._caches["l"].forget(key)
        assert elements.get() == list(range(key, 3000, 10))


def test_adding_reads_nothing(backend, elements, monkeypatch):
    elements.add(1)
    flush(backend)
    backend._caches["l"].forget("a")
    with monkeypatch.context() as patched:
        patched.delattr(StateTable, "entries")
        elements.add(2)
        elements.add_all([3, 4])
        flush(backend)
    assert list(elements) == [1, 2, 3, 4]


def test_what_is_replaced_before_and_after_a_flush_is_gone(backend, elements):
    elements.add_all([1, 2])
    elements.update([3])
    elements.add(4)
    assert elements.get() == [3, 4]
    flush(backend)
    elements.add(5)
    elements.update([6, 7])
    elements.add(8)
    flush(backend)
    assert elements.get() == [6, 7, 8]
    elements.clear()
    assert elements.get() == []
    elements.add(9)
    flush(backend)
    assert elements.get() == [9]
    assert stored(backend) == 1


def test_an_empty_update_leaves_an_empty_list(backend, elements):
    elements.add_all([1, 2])
    flush(backend)
    elements.update([])
    assert elements.get() == []
    flush(backend)
    assert elements.get() == []
    assert stored(backend) == 0


def test_a_list_that_comes_and_goes_between_snapshots_does_not_touch_rocksdb(make_backend):
    backend = make_backend(1000)
    elements = backend.get_or_create(ListStateDescriptor("l"))
    backend.key = "a"
    elements.add(1)
    assert elements.get() == [1]
    elements.clear()
    flush(backend)
    assert backend._tables["l"].sequence == 0


def test_what_get_returns_belongs_to_the_caller(backend, elements):
    elements.add(1)
    elements.get().append(2)
    assert elements.get() == [1]
    flush(backend)
    elements.get().append(2)
    assert elements.get() == [1]


def test_none_is_no_element(elements):
    for refused in (lambda: elements.add(None), lambda: elements.add_all([1, None]), lambda: elements.update([None])):
        with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
            refused()
    assert elements.get() == []


def test_there_must_be_a_key(backend):
    elements = backend.get_or_create(ListStateDescriptor("l"))
    for use in (elements.get, elements.clear, lambda: elements.add(1), lambda: elements.update([1])):
        with pytest.raises(StateAccessError):
            use()


def test_a_list_longer_than_the_cache_is_read_whole(backend, elements):
    elements.add_all(list(range(3000)))
    assert elements.get() == list(range(3000))
    elements.add(3000)
    assert elements.get() == list(range(3001))
