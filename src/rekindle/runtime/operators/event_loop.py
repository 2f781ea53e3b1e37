"""The asyncio event loop of a slot, in a thread of its own, for all its operators that wait for something outside."""

from __future__ import annotations

import asyncio
import threading

_CLOSING_SECONDS = 5.0  # for user code that does not let go of the loop: the thread ends with the process then


class EventLoopThread:
    """Run an event loop as long as an operator uses it; everything here is called by one thread at a time."""

    def __init__(self) -> None:
        self._users = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def acquire(self) -> asyncio.AbstractEventLoop:
        """Return the loop to one more operator, which must :meth:`release` it."""
        if self._loop is None:
            loop = self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=_run, args=(loop,), daemon=True, name="async-io")
            self._thread.start()
        self._users += 1
        return self._loop

    def release(self) -> None:
        """Let go of the loop; it ends when nobody uses it any more."""
        self._users -= 1
        if self._users == 0 and self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_CLOSING_SECONDS)
            self._loop = self._thread = None


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        left = asyncio.all_tasks(loop)  # tasks of the user's own making
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()
