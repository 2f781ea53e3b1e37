"""Time-to-live over a restart: time goes on, and the rules may change."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.contracts.key_groups import key_group_range
from rekindle.state.key_hash import key_group_of
from rekindle.testing import BackendUnderTest

from .driver import MAX_PARALLELISM, START, TTL, Keyed, contents, fill, filled, restored, started, ttl


@pytest.fixture(params=["checkpoint", "savepoint"])
def way(request: pytest.FixtureRequest) -> str:
    """Name the method that takes the snapshot."""
    return str(request.param)


class TestTtlOverARestart:
    def test_a_restart_neither_prolongs_nor_shortens(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"early": 5, "late": 6}, ttl())
        keyed.clock.advance(40)
        after = keyed.restored(getattr(keyed, way)())
        keyed.clock.set(START + TTL - 1)
        assert contents(after, ["early"], ttl()) == filled({"early": 5})
        keyed.clock.set(START + TTL)
        assert contents(after, ["late"], ttl()) == {}

    def test_time_goes_on_while_the_job_is_down(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"a": 5}, ttl())
        snapshot = getattr(keyed, way)()
        keyed.clock.advance(TTL)
        assert contents(keyed.restored(snapshot), ["a"], ttl()) == {}

    def test_an_expired_value_that_is_returned_once_is_so_after_a_restart_too(self, keyed: Keyed, way: str) -> None:
        config = ttl(return_expired=True)
        fill(keyed, {"a": 5}, config)
        keyed.clock.advance(TTL)
        after = keyed.restored(getattr(keyed, way)())
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
    def test_state_written_without_ttl_counts_as_just_written(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"early": 5, "late": 6})
        snapshot = getattr(keyed, way)()
        keyed.clock.advance(10 * TTL)
        after = keyed.restored(snapshot)
        assert contents(after, [], ttl()) == {}  # opens the states
        keyed.clock.advance(TTL - 1)
        assert contents(after, ["early"], ttl()) == filled({"early": 5})
        keyed.clock.advance(1)
        assert contents(after, ["late"], ttl()) == {}

    def test_state_whose_ttl_was_switched_on_is_written_as_such(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"early": 5, "late": 6})
        after = keyed.restored(getattr(keyed, way)())
        assert contents(after, [], ttl()) == {}
        keyed.clock.advance(TTL // 2)
        again = after.restored(getattr(after, way)())
        keyed.clock.set(START + TTL - 1)
        assert contents(again, ["early"], ttl()) == filled({"early": 5})
        keyed.clock.set(START + TTL)
        assert contents(again, ["late"], ttl()) == {}

    def test_state_whose_ttl_was_switched_off_stays(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"a": 5}, ttl())
        keyed.clock.advance(TTL - 1)
        after = keyed.restored(getattr(keyed, way)())
        assert contents(after, ["a"]) == filled({"a": 5})
        keyed.clock.advance(10 * TTL)
        fill(after, {"b": 6})
        assert contents(after, ["a", "b"]) == filled({"a": 5, "b": 6})
        again = after.restored(getattr(after, way)())
        assert contents(again, ["a", "b"]) == filled({"a": 5, "b": 6})

    def test_ttl_can_be_switched_on_and_off_again(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"a": 5})
        current = keyed
        for config in (ttl(), None, ttl(on_read=True), None):
            current = current.restored(getattr(current, way)())
            assert contents(current, ["a"], config) == filled({"a": 5})
            keyed.clock.advance(TTL - 1)

    def test_another_length_counts_from_the_last_access(self, keyed: Keyed, way: str) -> None:
        fill(keyed, {"a": 5}, ttl())
        keyed.clock.advance(50)
        snapshot = getattr(keyed, way)()
        for length, alive in ((30, False), (50, False), (51, True), (500, True)):
            after = keyed.restored(snapshot)
            assert contents(after, ["a"], ttl(length)) == (filled({"a": 5}) if alive else {})

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

    @pytest.mark.parametrize("switched", ["on", "off"])
    def test_ttl_can_be_switched_between_two_checkpoints_that_build_on_each_other(
        self, keyed: Keyed, switched: str
    ) -> None:
        """A function may ask for its state as late as it likes: here after the first checkpoint of the new run."""
        old, new = (None, ttl()) if switched == "on" else (ttl(), None)
        fill(keyed, {"same": 5}, old)
        after = keyed.restarted()
        after.checkpoint()
        fill(after, {"new": 6}, new)
        checkpoint = after.checkpoint()
        for config in (new, old):
            again = after.restored(checkpoint)
            assert contents(again, ["same", "new"], config) == filled({"same": 5, "new": 6})


@pytest.mark.parametrize("order", [1, -1], ids=["opened last", "opened first"])
class TestTtlInSomeSubtasks:
    """All subtasks restored a state, but a function asked only some of them for it, now with time-to-live."""

    def restored(self, under_test: BackendUnderTest, way: str, order: int) -> Keyed:
        """Return a subtask that takes over two: subtask 1 has the state with time-to-live since the start."""
        before = started(under_test)
        fill(before, {_key_of(subtask): subtask for subtask in (0, 1)})
        savepoint = before.savepoint()
        halves = [restored(under_test, [savepoint], before.clock, subtask, 2) for subtask in (0, 1)]
        assert contents(halves[1], [], ttl()) == {}  # opens the states
        before.clock.advance(TTL // 2)
        return restored(under_test, [getattr(part, way)() for part in halves[::order]], before.clock)

    def test_it_is_read_as_one(self, under_test: BackendUnderTest, way: str, order: int) -> None:
        for config in (ttl(), None):
            whole = self.restored(under_test, way, order)
            keys = [_key_of(subtask) for subtask in (0, 1)]
            assert contents(whole, keys, config) == filled({key: number for number, key in enumerate(keys)})

    def test_times_of_last_access_are_kept(self, under_test: BackendUnderTest, way: str, order: int) -> None:
        whole = self.restored(under_test, way, order)
        assert contents(whole, [], ttl()) == {}
        whole.clock.set(START + TTL)
        assert contents(whole, [_key_of(1)], ttl()) == {}
        assert contents(whole, [_key_of(0)], ttl()) == filled({_key_of(0): 0})
        whole.clock.set(START + TTL // 2 + TTL)
        assert contents(whole, [_key_of(0)], ttl()) == {}


def _key_of(subtask: int) -> Any:
    """Return a key of one of two subtasks."""
    own = key_group_range(subtask, 2, MAX_PARALLELISM)
    return next(key for key in range(100) if key_group_of(key, MAX_PARALLELISM) in own)
