"""A checkpoint is made beside the job: it holds what was there at the barrier, whatever is written meanwhile."""

import random
import threading
from contextlib import contextmanager

import pytest

from rekindle.common.time import Time
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.exceptions import CheckpointError
from rekindle.state.rocksdb.database import Database
from rekindle.testing import PendingSnapshot, take_snapshot
from support.seeds import SEED

from .test_cache import in_rocksdb
from .test_snapshots import open_files_below

VALUE, MAP, LIST = ValueStateDescriptor("v"), MapStateDescriptor("m"), ListStateDescriptor("l")


def write(backend, keys, value):
    for backend.key in keys:
        backend.get_or_create(VALUE).update(value)
        backend.get_or_create(MAP).put("entry", value)
        backend.get_or_create(LIST).update([value])


def held(keys, value):
    return {
        "v": dict.fromkeys(keys, value),
        "m": {key: {"entry": value} for key in keys},
        "l": {key: [value] for key in keys},
    }


def contents(backend, keys):
    found = {"v": {}, "m": {}, "l": {}}
    for backend.key in keys:
        found["v"][backend.key] = backend.get_or_create(VALUE).value()
        found["m"][backend.key] = dict(backend.get_or_create(MAP).items())
        found["l"][backend.key] = backend.get_or_create(LIST).get()
    return found


class Held:
    """Keep a database from being copied, until that is let go."""

    def __init__(self, monkeypatch):
        self.reached, self.go_on = threading.Event(), threading.Event()
        copy = Database.checkpoint

        def checkpoint(database, directory):
            self.reached.set()
            assert self.go_on.wait(60)
            copy(database, directory)

        monkeypatch.setattr(Database, "checkpoint", checkpoint)

    @contextmanager
    def writing(self, pending):
        """Write in another thread, which is at the copy when the block begins."""
        thread = threading.Thread(target=pending.write)
        thread.start()
        assert self.reached.wait(60)
        try:
            yield
        finally:
            self.go_on.set()
            thread.join()


def failing_once(monkeypatch, name):
    """Let a method of databases fail the first time."""
    real, calls = getattr(Database, name), []

    def fail(*args):
        calls.append(args)
        if len(calls) == 1:
            raise OSError("no space left on device")
        return real(*args)

    monkeypatch.setattr(Database, name, fail)


def test_state_is_written_after_the_stop(make_backend):
    backend = make_backend()
    write(backend, range(10), "old")
    pending = PendingSnapshot(backend, 1)
    assert [in_rocksdb(backend, name) for name in "vml"] == [0, 0, 0]
    pending.write()
    assert [in_rocksdb(backend, name) for name in "vml"] == [10, 10, 10]
    assert pending.finish().entries() == held(range(10), "old")


def test_the_backend_goes_on_while_the_copy_is_made(make_backend, monkeypatch):
    backend = make_backend()
    write(backend, range(10), "old")
    pending, copy = PendingSnapshot(backend, 1), Held(monkeypatch)
    with copy.writing(pending):
        for backend.key in range(5):
            assert backend.get_or_create(VALUE).value() == "old"
            assert backend.get_or_create(MAP).get("entry") == "old"
            backend.get_or_create(VALUE).update("new")
            backend.get_or_create(MAP).put("entry", "new")
            backend.get_or_create(LIST).add("new")
        backend.key = 5
        backend.get_or_create(VALUE).clear()
        backend.get_or_create(MAP).remove("entry")
        assert backend.get_or_create(VALUE).value() is None
        assert not backend.get_or_create(MAP).contains("entry")
    assert pending.finish().entries() == held(range(10), "old")
    after = take_snapshot(backend, 2).entries()
    assert after["v"] == dict.fromkeys(range(5), "new") | dict.fromkeys(range(6, 10), "old")
    assert after["m"] == {key: {"entry": value} for key, value in after["v"].items()}
    assert after["l"] == {key: ["old", "new"] if key < 5 else ["old"] for key in range(10)}


def test_a_cache_takes_more_rather_than_wait_but_no_end_of_it(make_backend, monkeypatch):
    backend = make_backend(100)
    values = backend.get_or_create(VALUE)
    for backend.key in range(90):
        values.update("old")
    pending, copy = PendingSnapshot(backend, 1), Held(monkeypatch)
    with copy.writing(pending):
        for backend.key in range(100, 200):
            values.update("new")
        waiting = threading.Timer(0.2, copy.go_on.set)
        waiting.start()
        for backend.key in range(200, 400):
            values.update("new")
        assert copy.go_on.is_set(), "what does not fit waits"
        waiting.join()
    assert pending.finish().entries() == {"v": dict.fromkeys(range(90), "old")}
    assert len(list(backend.keys("v"))) == 390


def test_what_has_to_be_written_first_is_written_by_whoever_needs_it(backend):
    """No other thread is there to do it."""
    write(backend, range(20), "old")
    pending = PendingSnapshot(backend, 1)
    for backend.key in range(20):
        backend.get_or_create(MAP).clear()
    write(backend, range(10), "new")
    assert contents(backend, range(10)) == held(range(10), "new")
    assert pending.finish().entries() == held(range(20), "old")


@pytest.mark.parametrize("name", ["writer", "checkpoint"])
def test_what_could_not_be_written_is_written_later(make_backend, monkeypatch, name):
    backend = make_backend()
    write(backend, range(10), "old")
    pending = PendingSnapshot(backend, 1)
    failing_once(monkeypatch, name)
    pending.write()
    write(backend, range(5), "new")
    with pytest.raises(OSError, match="no space left"):
        pending.finish()
    expected = {state: held(range(5, 10), "old")[state] | new for state, new in held(range(5), "new").items()}
    assert take_snapshot(backend, 2).entries() == expected
    assert contents(backend, range(10)) == expected


@pytest.mark.parametrize("written", [False, True], ids=["not written", "written"])
def test_lists_that_a_checkpoint_did_not_store_are_as_they_were(make_backend, monkeypatch, written):
    """Whether all elements are known or only the last, and whatever became of them since."""
    backend = make_backend()
    elements = backend.get_or_create(LIST)
    for backend.key in range(8):
        elements.add_all([1, 2])
    take_snapshot(backend, 1)
    for backend.key in range(8):
        if backend.key % 2:
            assert elements.get() == [1, 2]
        elements.add(3)
    pending = PendingSnapshot(backend, 2)
    for backend.key in (2, 3):
        elements.add(4)
    for backend.key in (4, 5):
        elements.update([5])
    backend.key = 6
    elements.clear()
    if written:
        failing_once(monkeypatch, "writer")
        pending.write()
    pending.give_up()
    expected = {0: [1, 2, 3], 1: [1, 2, 3], 2: [1, 2, 3, 4], 3: [1, 2, 3, 4], 4: [5], 5: [5], 7: [1, 2, 3]}
    assert take_snapshot(backend, 3).entries() == {"l": expected}
    for backend.key in range(8):
        assert elements.get() == expected.get(backend.key, [])


def test_an_object_that_cannot_be_encoded_is_left_where_it_was(make_backend):
    backend = make_backend()
    write(backend, range(10), "old")
    backend.key = 3
    backend.get_or_create(VALUE).update(lambda: None)
    with pytest.raises(Exception, match="pickle") as caught:
        PendingSnapshot(backend, 1)
    assert any("'v'" in note for note in caught.value.__notes__)
    assert callable(backend.get_or_create(VALUE).value())
    backend.get_or_create(VALUE).update("old")
    assert take_snapshot(backend, 2).entries() == held(range(10), "old")


def test_a_checkpoint_that_is_given_up_loses_nothing(make_backend, clock):
    backend = make_backend()
    descriptor = ValueStateDescriptor("v")
    expiry = StateTtlConfig.new_builder(Time.milliseconds(10)).cleanup_in_rocksdb_compact_filter(1).build()
    descriptor.enable_time_to_live(expiry)
    state = backend.get_or_create(descriptor)
    for backend.key in range(10):
        state.update("old")
    take_snapshot(backend, 1)
    clock.advance(10)
    for backend.key in range(5):
        state.update("new")
    pending = PendingSnapshot(backend, 2)
    backend.after_chunk(100)
    pending.give_up()
    backend.after_chunk(100)
    assert set(take_snapshot(backend, 3).entries()["v"]) == set(range(5)), "only what expired was removed"
    with pytest.raises(CheckpointError, match="abandoned"):
        pending.finish()


def test_closing_in_between_leaves_nothing_open(make_backend):
    backend = make_backend()
    write(backend, range(10), "old")
    pending = PendingSnapshot(backend, 1)
    backend.close()
    assert not open_files_below(backend._directory)
    with pytest.raises(CheckpointError, match="abandoned"):
        pending.finish()


def test_checkpoints_of_random_histories_hold_what_was_there_at_their_barriers(make_backend, cache_entries):
    backend = make_backend(cache_entries)
    choice = random.Random(SEED)
    now = {"v": {}, "m": {}, "l": {}}
    under_way = []
    for number in range(30):
        for _ in range(choice.randrange(60)):
            key = backend.key = choice.randrange(20)
            action = choice.randrange(7)
            if action == 0:
                backend.get_or_create(VALUE).update([number])
                now["v"][key] = [number]
            elif action == 1 and (value := backend.get_or_create(VALUE).value()) is not None:
                value.append(number)
                backend.get_or_create(VALUE).update(value)
                now["v"][key] = list(value)
            elif action == 2:
                backend.get_or_create(MAP).put(number % 3, number)
                now["m"].setdefault(key, {})[number % 3] = number
            elif action == 3:
                backend.get_or_create(MAP).remove(number % 3)
                now["m"].get(key, {}).pop(number % 3, None)
            elif action == 4:
                backend.get_or_create(MAP).clear()
                now["m"].pop(key, None)
            elif action == 5:
                backend.get_or_create(LIST).add(number)
                now["l"].setdefault(key, []).append(number)
            else:
                assert (backend.get_or_create(VALUE).value() or []) == now["v"].get(key, [])
                assert dict(backend.get_or_create(MAP).items()) == now["m"].get(key, {})
                assert backend.get_or_create(LIST).get() == now["l"].get(key, [])
        expected = {
            "v": {key: list(value) for key, value in now["v"].items()},
            "m": {key: dict(value) for key, value in now["m"].items() if value},
            "l": {key: list(value) for key, value in now["l"].items()},
        }
        pending = PendingSnapshot(backend, number + 1)
        thread = threading.Thread(target=pending.write)
        if choice.random() < 0.8:
            thread.start()
        under_way.append((pending, thread, expected))
        if choice.random() < 0.5:
            pending, thread, expected = under_way.pop(choice.randrange(len(under_way)))
            if choice.random() < 0.3:
                pending.give_up()
            else:
                assert pending.finish().entries() == {name: held for name, held in expected.items() if held}
            if thread.ident is not None:
                thread.join()
    for pending, thread, expected in under_way:
        assert pending.finish().entries() == {name: held for name, held in expected.items() if held}
        if thread.ident is not None:
            thread.join()
