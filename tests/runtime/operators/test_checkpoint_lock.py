"""The lock between the steps of a source and the slot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from rekindle.runtime.operators import checkpoint_lock
from rekindle.runtime.operators.checkpoint_lock import CheckpointLock, SourceClosedError
from support.processes import wait_until


class Room:
    """Says whether there is room."""

    def __init__(self) -> None:
        self.full = False


@pytest.fixture
def room() -> Room:
    return Room()


@pytest.fixture
def lock(room: Room) -> Iterator[CheckpointLock]:
    lock = CheckpointLock(lambda: room.full)
    yield lock
    lock.close(1)


def in_thread(action: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


def test_it_can_be_entered_again_by_its_holder_even_when_there_is_no_room(lock: CheckpointLock, room: Room) -> None:
    with lock:
        room.full = True
        with lock, lock:
            pass


def test_the_outermost_entry_waits_for_room_and_the_slot_is_not_kept_out(lock: CheckpointLock, room: Room) -> None:
    room.full = True
    steps: list[str] = []

    def step() -> None:
        with lock:
            steps.append("source")

    thread = in_thread(step)
    for _ in range(100):
        with lock.claim():
            assert steps == []
    with lock.claim():
        room.full = False
        steps.append("slot")
    thread.join(60)
    assert steps == ["slot", "source"]


def test_the_slot_waits_for_a_step_under_way_and_comes_before_the_next(lock: CheckpointLock) -> None:
    begun, go_on, steps = threading.Event(), threading.Event(), []

    def step() -> None:
        with lock:
            begun.set()
            go_on.wait(60)
            steps.append("source")
        with lock:
            steps.append("source again")

    def claim() -> None:
        with lock.claim():
            steps.append("slot")

    source = in_thread(step)
    begun.wait(60)
    slot = in_thread(claim)
    wait_until(lambda: lock._claimed, "the slot waits")
    go_on.set()
    source.join(60)
    slot.join(60)
    assert steps == ["source", "slot", "source again"]


def test_the_slot_gets_in_between_the_steps_of_a_source_that_never_pauses(lock: CheckpointLock) -> None:
    state = {"steps": 0, "stop": 0}

    def run() -> None:
        while not state["stop"]:
            with lock:
                state["steps"] += 1

    thread = in_thread(run)
    for _ in range(200):
        with lock.claim():
            before = state["steps"]
            assert state["steps"] == before
    state["stop"] = 1
    thread.join(60)
    assert not thread.is_alive()


def test_user_code_that_the_slot_calls_may_enter_it(lock: CheckpointLock, room: Room) -> None:
    room.full = True
    with lock.claim(), lock:
        pass


@pytest.mark.parametrize("full", [True, False])
def test_closing_ends_who_waits_and_who_comes(lock: CheckpointLock, room: Room, full: bool) -> None:
    room.full = full
    ended = threading.Event()

    def run() -> None:
        try:
            while True:
                with lock:
                    pass
        except SourceClosedError:
            ended.set()

    thread = in_thread(run)
    lock.close(60)
    assert ended.wait(60)
    thread.join(60)
    with lock.claim():  # the slot may go on
        pass


def test_closing_does_not_wait_for_ever_for_a_step_that_hangs(lock: CheckpointLock) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def step() -> None:
        with lock:
            begun.set()
            go_on.wait(60)

    thread = in_thread(step)
    begun.wait(60)
    lock.close(0.01)
    go_on.set()
    thread.join(60)


def test_after_a_step_that_raised_the_slot_learns_first_whether_the_source_has_ended(
    lock: CheckpointLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_lock, "_SETTLING_SECONDS", 60)
    known: list[str] = []
    raised, claiming = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with lock:
                raised.set()
                raise ValueError
        except ValueError:
            claiming.wait(60)
            time.sleep(0.02)
            known.append("failed")
            lock.settle()

    thread = in_thread(run)
    raised.wait(60)
    claiming.set()
    with lock.claim():
        assert known == ["failed"]
    thread.join(60)


def test_a_source_that_catches_what_a_step_raised_goes_on(lock: CheckpointLock) -> None:
    with pytest.raises(ValueError, match="once"), lock:
        raise ValueError("once")
    with lock:
        pass
    with lock.claim():
        assert not lock._unsettled
