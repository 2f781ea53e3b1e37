"""Maps whose entries stand one by one."""

import enum
import random
from decimal import Decimal

import pytest

from rekindle.datastream.state import MapStateDescriptor
from rekindle.exceptions import StateAccessError
from support.seeds import SEED


class Color(enum.StrEnum):
    RED = "red"


@pytest.fixture
def entries(backend):
    backend.key = "a"
    return backend.get_or_create(MapStateDescriptor("m"))


def test_a_map_is_a_map_whatever_the_cache_holds(backend, entries):
    expected = {key: {} for key in range(3)}
    choice = random.Random(SEED)
    for step in range(2000):
        backend.key = choice.randrange(3)
        map_key = choice.choice(["x", "y", 1, (2, "z"), None])
        match choice.randrange(8):
            case 0 | 1:
                entries.put(map_key, step)
                expected[backend.key][map_key] = step
            case 2:
                entries.remove(map_key)
                expected[backend.key].pop(map_key, None)
            case 3:
                entries.put_all({map_key: None, "w": step})
                expected[backend.key].update({map_key: None, "w": step})
            case 4:
                assert dict(entries.items()) == expected[backend.key]
            case 5:
                assert entries.is_empty() == (not expected[backend.key])
            case 6 if choice.random() < 0.2:
                entries.clear()
                expected[backend.key].clear()
        assert entries.get(map_key) == expected[backend.key].get(map_key)
        assert entries.contains(map_key) == (map_key in expected[backend.key])
    assert set(backend.keys("m")) == {key for key, mapping in expected.items() if mapping}


def test_a_map_may_be_changed_while_it_is_walked_through(entries):
    entries.put_all({number: number for number in range(500)})
    seen = []
    for key, value in entries.items():
        seen.append((key, value))
        entries.remove(key)
        entries.put(key + 1000, value)
        entries.put((key + 1) % 500, "changed")
    assert sorted(seen) == [(number, number) for number in range(500)]
    assert sorted(key for key in entries if key >= 500) == list(range(1000, 1500))


def test_a_map_may_be_cleared_while_it_is_walked_through(entries):
    entries.put_all({number: number for number in range(100)})
    seen = 0
    for _ in entries:
        entries.clear()
        seen += 1
    assert seen == 100
    assert entries.is_empty()


def test_a_walk_goes_on_when_the_current_key_changes(backend, entries):
    entries.put_all({"x": 1, "y": 2})
    walk = entries.items()
    backend.key = "b"
    assert dict(walk) == {"x": 1, "y": 2}


def test_a_walk_outlives_the_backend(make_backend):
    backend = make_backend()
    backend.key = "a"
    entries = backend.get_or_create(MapStateDescriptor("m"))
    entries.put_all({"x": 1, "y": 2})
    walk = entries.values()
    backend.close()
    assert sorted(walk) == [1, 2]


@pytest.mark.parametrize("key", [True, 1.0, Decimal("0.5"), Color.RED, ("a", False)], ids=repr)
def test_keys_come_back_as_what_they_were_not_as_what_they_equal(backend, entries, key):
    entries.put(key, "value")
    (found,) = entries.keys()
    assert found == key
    assert repr(found) == repr(key)
    assert list(entries.items()) == [(found, "value")]


def test_a_key_that_is_equal_replaces_the_entry(entries):
    entries.put(1, "one")
    entries.put(True, "true")
    assert list(entries.values()) == ["true"]
    assert entries.get(1.0) == "true"


def test_maps_of_different_keys_do_not_mix(backend, entries):
    for key in ("", "a", "aa", b"a", ("a",), None):
        backend.key = key
        entries.put("k", key)
    for key in ("", "a", "aa", b"a", ("a",), None):
        backend.key = key
        assert dict(entries.items()) == {"k": key}
        entries.clear()
        assert entries.is_empty()
    assert list(backend.keys("m")) == []


def test_an_unhashable_key_is_refused(entries):
    for use in (lambda: entries.get([1]), lambda: entries.put([1], 1), lambda: entries.contains([1])):
        with pytest.raises(TypeError, match="hashable"):
            use()
    assert entries.is_empty()


def test_there_must_be_a_key(backend):
    entries = backend.get_or_create(MapStateDescriptor("m"))
    uses = (lambda: entries.get(1), lambda: entries.put(1, 1), entries.items, entries.clear, entries.is_empty)
    for use in uses:
        with pytest.raises(StateAccessError):
            use()
