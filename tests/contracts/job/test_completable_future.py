from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from typing import Any

import pytest

from rekindle.common import CompletableFuture


def test_a_pending_future_is_not_done_and_has_no_exception_yet() -> None:
    future: CompletableFuture[int] = CompletableFuture(Future())
    assert not future.done()
    assert not future.cancelled()
    assert future.exception() is None
    assert str(future) == "CompletableFuture[Not completed]"
    with pytest.raises(TimeoutError):
        future.result(timeout=0)


def test_the_result_is_waited_for() -> None:
    inner: Future[int] = Future()
    timer = threading.Timer(0.02, inner.set_result, (5,))
    timer.start()
    assert CompletableFuture(inner).result() == 5
    timer.join()


def test_a_completed_future_has_its_result_at_once() -> None:
    future = CompletableFuture.completed(5)
    assert future.done()
    assert future.result() == 5
    assert future.exception() is None
    assert str(future) == "CompletableFuture[Completed normally]"


def test_a_failed_future_raises_its_exception() -> None:
    problem = RuntimeError("broken")
    future: CompletableFuture[int] = CompletableFuture.failed(problem)
    assert future.done()
    assert future.exception() is problem
    with pytest.raises(RuntimeError, match="broken"):
        future.result()
    assert str(future) == "CompletableFuture[Completed exceptionally: RuntimeError('broken')]"


def test_a_cancelled_future_is_done_and_says_so() -> None:
    future: CompletableFuture[int] = CompletableFuture(Future())
    assert future.cancel() is True
    assert future.cancelled()
    assert future.done()
    assert isinstance(future.exception(), CancelledError)
    with pytest.raises(CancelledError):
        future.result()


def test_what_is_done_cannot_be_cancelled() -> None:
    future = CompletableFuture.completed(5)
    assert future.cancel() is False
    assert future.result() == 5


def test_callbacks_get_the_future_when_it_is_done_or_at_once() -> None:
    inner: Future[int] = Future()
    future = CompletableFuture(inner)
    seen: list[Any] = []
    future.add_done_callback(seen.append)
    assert seen == []
    inner.set_result(1)
    future.add_done_callback(seen.append)
    assert seen == [future, future]
