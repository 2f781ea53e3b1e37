"""What is particular to the backend as a whole."""

import enum
import os

import pytest

from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import StateAccessError
from rekindle.state.snapshots import SnapshotRequest

from .test_snapshots import KEYS, fill, open_files_below


class Level(enum.IntEnum):
    LOW = 1


def test_closing_removes_all_files_and_may_be_done_twice(make_backend):
    backend = make_backend()
    fill(backend)
    backend.snapshot(SnapshotRequest(1))
    assert os.path.exists(backend._directory)
    backend.close()
    assert not os.path.exists(backend._directory)
    backend.close()


def test_closing_frees_all_files(make_backend):
    backend = make_backend()
    fill(backend)
    backend.snapshot(SnapshotRequest(1)).release()
    list(backend.keys("v"))
    backend.close()
    assert not open_files_below(backend._directory)


def test_keys_are_listed_once_each_whatever_they_have(backend):
    fill(backend)
    for name in "vlmw":
        assert len(list(backend.keys(name))) == len(KEYS)
    assert list(backend.keys("unknown")) == []


def test_keys_are_listed_as_what_they_were(backend):
    state = backend.get_or_create(ValueStateDescriptor("v"))
    windowed = backend.get_or_create_namespaced(MapStateDescriptor("w"))
    for key in (Level.LOW, 2.0, "a"):
        backend.key = key
        state.update("x")
        windowed.use(1.0).put(True, "x")
    for name in ("v", "w"):
        assert sorted(map(repr, backend.keys(name))) == sorted(map(repr, (Level.LOW, 2.0, "a")))


def test_state_may_be_changed_while_its_keys_are_listed(backend):
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for key in range(50):
        backend.key = key
        state.update(key)
    seen = []
    for key in backend.keys("v"):
        seen.append(key)
        backend.key = key
        state.clear()
        backend.key = key + 1000
        state.update(1)
    assert sorted(seen) == list(range(50))
    assert sorted(backend.keys("v")) == list(range(1000, 1050))


def test_states_with_any_name_are_kept_apart(backend):
    names = ["default", "state-0", "", "\0", "a/b", "ü", "\ud800", "x" * 500]
    backend.key = 1
    for name in names[:2] + names[3:]:
        backend.get_or_create(ValueStateDescriptor(name)).update(name)
    for name in names[:2] + names[3:]:
        assert backend.get_or_create(ValueStateDescriptor(name)).value() == name
    assert backend.state_names() == sorted(names[:2] + names[3:])


def test_namespaces_are_kept_apart_and_merged(backend):
    windows = backend.get_or_create_namespaced(ListStateDescriptor("w"))
    backend.key = "a"
    windows.use((0, 10)).add(1)
    windows.use((5, 15)).add_all([2, 3])
    windows.merge((0, 15), [(0, 10), (5, 15)])
    assert windows.use((0, 15)).get() == [1, 2, 3]
    assert windows.use((0, 10)).get() == []
    backend.key = "b"
    assert windows.use((0, 15)).get() == []


@pytest.mark.parametrize("namespaced", [False, True])
def test_there_must_be_a_key(backend, namespaced):
    if namespaced:
        state = backend.get_or_create_namespaced(ValueStateDescriptor("v")).use("window")
    else:
        state = backend.get_or_create(ValueStateDescriptor("v"))
    for use in (state.value, state.clear, lambda: state.update(1)):
        with pytest.raises(StateAccessError):
            use()
    assert list(backend.keys("v")) == []


def test_values_of_any_size_are_kept(backend):
    state = backend.get_or_create(ValueStateDescriptor("v"))
    for key in range(3):
        backend.key = ("k" * 70_000, key)
        state.update(bytes([key]) * 3_000_000)
    for key in range(3):
        backend.key = ("k" * 70_000, key)
        assert state.value() == bytes([key]) * 3_000_000
    assert len(list(backend.keys("v"))) == 3
