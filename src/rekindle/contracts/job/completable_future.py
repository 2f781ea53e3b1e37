"""The future that a job client's calls return."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """Give access to a result that may not be there yet. Wraps a ``concurrent.futures.Future``."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @staticmethod
    def completed(result: T) -> CompletableFuture[T]:
        """Return a future that has this result."""
        future: Future[T] = Future()
        future.set_result(result)
        return CompletableFuture(future)

    @staticmethod
    def failed(exception: BaseException) -> CompletableFuture[T]:
        """Return a future that has this exception."""
        future: Future[T] = Future()
        future.set_exception(exception)
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Cancel it unless it is done, and return whether it is cancelled now."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether it was cancelled before it was done."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether it has a result or an exception, or was cancelled."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result and return it; raise the exception if there is one.

        Args:
            timeout: How many seconds to wait at most; ``None`` waits without limit.

        Raises:
            TimeoutError: It was not done in time.
            concurrent.futures.CancelledError: It was cancelled.
        """
        return self._future.result(timeout)

    def exception(self) -> BaseException | None:
        """Return the exception it ended with, at once; ``None`` if there is none, or none yet."""
        if not self._future.done():
            return None
        if self._future.cancelled():
            return CancelledError()
        return self._future.exception()

    def add_done_callback(self, callback: Callable[[CompletableFuture[T]], object]) -> None:
        """Call the function with this future once it is done; at once if it is done already."""
        self._future.add_done_callback(lambda _: callback(self))

    def __str__(self) -> str:
        if not self.done():
            state = "Not completed"
        elif self.exception() is not None:
            state = f"Completed exceptionally: {self.exception()!r}"
        else:
            state = "Completed normally"
        return f"CompletableFuture[{state}]"
