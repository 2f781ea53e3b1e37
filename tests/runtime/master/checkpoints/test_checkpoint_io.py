"""The thread that does the I/O of checkpoints: order, what is given up, what is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.runtime.master.checkpoints.checkpoint_io import CheckpointIO
from rekindle.runtime.master.checkpoints.storage_orders import IdsReserved

DEADLINE = 30


@pytest.fixture
def io() -> Iterator[CheckpointIO]:
    io = CheckpointIO("a job")
    yield io
    io.close()


def nobody(outcome: Any) -> None:
    raise AssertionError(outcome)


def test_what_is_ordered_is_done_in_that_order_and_told_in_that_order(io: CheckpointIO) -> None:
    done, told = list[int](), list[Any]()

    def work(number: int) -> IdsReserved | None:
        done.append(number)
        return IdsReserved(number) if number % 2 else None

    for number in range(100):
        io.order(lambda number=number: work(number), told.append, nobody)  # type: ignore[misc]
    io.settle()
    assert done == list(range(100))
    assert told == [IdsReserved(number) for number in range(1, 100, 2)]


def test_whoever_orders_does_not_wait(io: CheckpointIO) -> None:
    gate, told = threading.Event(), list[Any]()

    def hang() -> IdsReserved:
        assert gate.wait(DEADLINE)
        return IdsReserved(1)

    io.order(hang, told.append, nobody)
    io.order(lambda: IdsReserved(2), told.append, nobody)
    assert told == []
    gate.set()
    io.settle()
    assert told == [IdsReserved(1), IdsReserved(2)]


def test_when_an_attempt_ends_what_has_begun_is_done_and_what_can_be_is_given_up(io: CheckpointIO) -> None:
    begun, gate, told, done = threading.Event(), threading.Event(), list[Any](), list[str]()

    def hang() -> IdsReserved:
        begun.set()
        assert gate.wait(DEADLINE)
        return IdsReserved(1)

    io.order(hang, told.append, nobody, IdsReserved(-1))
    io.order(lambda: IdsReserved(2), told.append, nobody, IdsReserved(-2))
    io.order(lambda: done.append("deleted"), nobody, nobody)
    assert begun.wait(DEADLINE)
    settling = threading.Thread(target=io.settle)
    settling.start()
    settling.join(0.05)
    assert settling.is_alive(), "what has begun is waited for"
    gate.set()
    settling.join(DEADLINE)
    assert not settling.is_alive()
    assert sorted(told, key=str) == [IdsReserved(-2), IdsReserved(1)]
    assert done == ["deleted"]


def test_what_is_raised_is_told_and_the_thread_goes_on(io: CheckpointIO) -> None:
    told, error = list[Any](), KeyError("a bug")

    def fail() -> None:
        raise error

    io.order(fail, nobody, told.append)
    io.order(lambda: IdsReserved(1), told.append, nobody)
    io.settle()
    assert told == [error, IdsReserved(1)]


def test_the_end_of_the_job_waits_for_all_that_was_ordered() -> None:
    io, done = CheckpointIO("a job"), list[int]()
    for number in range(10):
        io.order(lambda number=number: done.append(number), nobody, nobody)  # type: ignore[misc]
    io.close()
    assert done == list(range(10))
    assert not io._thread.is_alive()
