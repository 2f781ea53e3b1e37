"""Time-to-live over a restart: time goes on, and the rules may change."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.state.key_groups import key_group_range
from rekindle.state.key_hash import key_group_of
from rekindle.testing import BackendUnderTest

from .driver import (
    EVERY_KIND,
    KINDS,
    MAX_PARALLELISM,
    START,
    TTL,
    Keyed,
    Kind,
    contents,
    fill,
    filled,
    restored,
    started,
    ttl,
)


@pytest.fixture(params=["checkpoint", "savepoint"])
def way(request: pytest.FixtureRequest) -> str:
    """Name the method that takes the snapshot."""
    return str(request.param)


class TestTtlOverARestart:
    @EVERY_KIND
    def test_a_restart_neither_prolongs_nor_shortens(self, keyed: Keyed, kind: Kind, way: str) -> None:
        descriptor = kind.descriptor(ttl())
        state = keyed.open(descriptor)
        for keyed.key in ("early", "late"):
            kind.write(state, 5)
        keyed.clock.advance(40)
        after = keyed.restored(getattr(keyed, way)())
        state = after.open(descriptor)
        keyed.clock.set(START + TTL - 1)
        after.key = "early"
        assert kind.read(state) == kind.expected(5)
        keyed.clock.set(START + TTL)
        after.key = "late"
        assert kind.read(state) == kind.unset

    @EVERY_KIND
    def test_time_goes_on_while_the_job_is_down(self, keyed: Keyed, kind: Kind, way: str) -> None:
        descriptor = kind.descriptor(ttl())
        keyed.key = "a"
        kind.write(keyed.open(descriptor), 5)
        snapshot = getattr(keyed, way)()
        keyed.clock.advance(TTL)
        after = keyed.restored(snapshot)
        after.key = "a"
        assert kind.read(after.open(descriptor)) == kind.unset

    def test_an_expired_value_that_is_returned_once_is_so_after_a_restart_too(self, keyed: Keyed) -> None:
        config = ttl(return_expired=True)
        fill(keyed, {"a": 5}, config)
        keyed.clock.advance(TTL)
        after = keyed.restarted()
        assert contents(after, ["a"], config) == filled({"a": 5})
        assert contents(after, ["a"], config) == {}

    def test_what_was_prolonged_by_reading_stays_so(self, keyed: Keyed) -> None:
        config = ttl(on_read=True)
        fill(keyed, {"a": 5}, config)
        keyed.checkpoint()
        keyed.clock.advance(TTL - 1)
        assert contents(keyed, ["a"], config) == filled({"a": 5})
        after = keyed.restarted()
        keyed.clock.advance(TTL - 1)
        assert contents(after, ["a"], config) == filled({"a": 5})


class TestChangedTtl:
    @EVERY_KIND
    def test_state_written_without_ttl_counts_as_just_written(self, keyed: Keyed, kind: Kind, way: str) -> None:
        state = keyed.open(kind.descriptor())
        for keyed.key in ("early", "late"):
            kind.write(state, 5)
        snapshot = getattr(keyed, way)()
        keyed.clock.advance(10 * TTL)
        after = keyed.restored(snapshot)
        state = after.open(kind.descriptor(ttl()))
        keyed.clock.advance(TTL - 1)
        after.key = "early"
        assert kind.read(state) == kind.expected(5)
        keyed.clock.advance(1)
        after.key = "late"
        assert kind.read(state) == kind.unset

    @EVERY_KIND
    def test_state_whose_ttl_was_switched_on_is_written_as_such(self, keyed: Keyed, kind: Kind, way: str) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor()), 5)
        after = keyed.restored(getattr(keyed, way)())
        after.open(kind.descriptor(ttl()))
        keyed.clock.advance(TTL // 2)
        again = after.restored(getattr(after, way)())
        again.key = "a"
        state = again.open(kind.descriptor(ttl()))
        keyed.clock.set(START + TTL - 1)
        assert kind.read(state) == kind.expected(5)
        keyed.clock.set(START + TTL)
        assert kind.read(state) == kind.unset

    @EVERY_KIND
    def test_state_whose_ttl_was_switched_off_stays(self, keyed: Keyed, kind: Kind, way: str) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor(ttl())), 5)
        keyed.clock.advance(TTL - 1)
        after = keyed.restored(getattr(keyed, way)())
        after.key = "a"
        state = after.open(kind.descriptor())
        keyed.clock.advance(10 * TTL)
        assert kind.read(state) == kind.expected(5)
        state.clear()
        kind.write(state, 6)
        again = after.restored(getattr(after, way)())
        again.key = "a"
        assert kind.read(again.open(kind.descriptor())) == kind.expected(6)

    @EVERY_KIND
    def test_ttl_can_be_switched_on_and_off_again(self, keyed: Keyed, kind: Kind, way: str) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor()), 5)
        current = keyed
        for config in (ttl(), None, ttl(on_read=True), None):
            current = current.restored(getattr(current, way)())
            current.key = "a"
            assert kind.read(current.open(kind.descriptor(config))) == kind.expected(5)
            keyed.clock.advance(TTL - 1)

    @pytest.mark.parametrize(("length", "alive"), [(30, False), (50, False), (51, True), (500, True)])
    @EVERY_KIND
    def test_another_length_counts_from_the_last_access(
        self, keyed: Keyed, kind: Kind, length: int, alive: bool
    ) -> None:
        keyed.key = "a"
        kind.write(keyed.open(kind.descriptor(ttl())), 5)
        keyed.clock.advance(50)
        after = keyed.restarted()
        after.key = "a"
        state = after.open(kind.descriptor(ttl(length)))
        assert kind.read(state) == (kind.expected(5) if alive else kind.unset)

    def test_another_update_type_holds_from_then_on(self, keyed: Keyed) -> None:
        fill(keyed, {"a": 5}, ttl())
        after = keyed.restarted()
        for _ in range(4):
            keyed.clock.advance(TTL - 1)
            assert contents(after, ["a"], ttl(on_read=True)) == filled({"a": 5})
        again = after.restarted()
        keyed.clock.advance(TTL - 1)
        assert contents(again, ["a"], ttl()) == filled({"a": 5})
        keyed.clock.advance(1)
        assert contents(again, ["a"], ttl()) == {}

    @pytest.mark.parametrize("switched_on", [True, False])
    @EVERY_KIND
    def test_ttl_can_be_switched_between_two_checkpoints_that_build_on_each_other(
        self, keyed: Keyed, kind: Kind, switched_on: bool
    ) -> None:
        """A function may ask for its state as late as it likes: here after the first checkpoint of the new run."""
        old, new = (None, ttl()) if switched_on else (ttl(), None)
        state = keyed.open(kind.descriptor(old))
        for keyed.key in ("same", "changed"):
            kind.write(state, 5)
        after = keyed.restarted()
        after.checkpoint()
        state = after.open(kind.descriptor(new))
        after.key = "changed"
        state.clear()
        kind.write(state, 6)
        for config in (new, old):
            again = after.restarted()
            state = again.open(kind.descriptor(config))
            again.key = "changed"
            assert kind.read(state) == kind.expected(6)
            again.key = "same"
            assert kind.read(state) == kind.expected(5)


@pytest.mark.parametrize("order", [1, -1], ids=["opened last", "opened first"])
class TestTtlInSomeSubtasks:
    """All subtasks restored a state, but a function asked only some of them for it, now with time-to-live."""

    keys = staticmethod(lambda: {subtask: _key_of(subtask) for subtask in (0, 1)})

    def restored(self, under_test: BackendUnderTest, kind: Kind, way: str, order: int) -> Keyed:
        """Give a subtask that takes over two: subtask 1 has the state with time-to-live since the start."""
        before = started(under_test)
        state = before.open(kind.descriptor())
        for before.key in self.keys().values():
            kind.write(state, 5)
        savepoint = before.savepoint()
        halves = [restored(under_test, [savepoint], before.clock, subtask, 2) for subtask in (0, 1)]
        halves[1].open(kind.descriptor(ttl()))
        before.clock.advance(TTL // 2)
        return restored(under_test, [getattr(part, way)() for part in halves[::order]], before.clock)

    @EVERY_KIND
    def test_it_is_read_as_one(self, under_test: BackendUnderTest, kind: Kind, way: str, order: int) -> None:
        for config in (ttl(), None):
            whole = self.restored(under_test, kind, way, order)
            state = whole.open(kind.descriptor(config))
            for whole.key in self.keys().values():
                assert kind.read(state) == kind.expected(5)

    @pytest.mark.parametrize("kind", KINDS[:3], ids=str)
    def test_times_of_last_access_are_kept(
        self, under_test: BackendUnderTest, kind: Kind, way: str, order: int
    ) -> None:
        whole = self.restored(under_test, kind, way, order)
        keys = self.keys()
        state = whole.open(kind.descriptor(ttl()))
        whole.clock.set(START + TTL)
        whole.key = keys[1]
        assert kind.read(state) == kind.unset
        whole.key = keys[0]
        assert kind.read(state) == kind.expected(5)
        whole.clock.set(START + TTL // 2 + TTL)
        assert kind.read(state) == kind.unset


def _key_of(subtask: int) -> Any:
    own = key_group_range(subtask, 2, MAX_PARALLELISM)
    return next(key for key in range(100) if key_group_of(key, MAX_PARALLELISM) in own)
