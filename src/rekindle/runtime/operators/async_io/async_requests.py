"""The requests of an AsyncFunction that are under way: started, timed out, tried again, in the slot's event loop.

The operator's thread asks, and waits for the answer; everything else runs in the thread of the event loop, which owns
all that is kept here, so that there is no lock. ``AsyncRequests._work`` is the loop that each element goes through: a
task works at one element after the other, so that elements whose results are there at once do not cost a task each.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, NoReturn

from rekindle.base.clock import Clock
from rekindle.contracts.functions.async_functions import AsyncFunction, AsyncFunctionDescriptor
from rekindle.runtime.at_work import at_record
from rekindle.runtime.operators.async_io.async_queue import AsyncQueue, Element
from rekindle.runtime.operators.result_copies import FIXED, unshared
from rekindle.runtime.operators.stateless import NOT_RESULTS, refused_results

_CLOSING_SECONDS = 5.0


class AsyncRequests:
    """Keep the requests of one operator under way.

    Attributes:
        queue: The elements.
        watermark: The last watermark behind which all results were given to the operator.
    """

    def __init__(
        self,
        descriptor: AsyncFunctionDescriptor,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
        request_epoch: Callable[[], None],
    ) -> None:
        strategy = descriptor.async_retry_strategy
        predicate = strategy.get_retry_predicate()
        self.queue = AsyncQueue(
            descriptor.capacity, descriptor.output_mode is AsyncFunctionDescriptor.OutputMode.ORDERED
        )
        self.watermark = self.queue.watermark
        self._function: AsyncFunction[Any, Any] = descriptor.async_function
        self._timeout = descriptor.timeout.to_milliseconds()
        self._strategy = strategy
        self._retry_result = predicate.result_predicate()
        self._retry_exception = predicate.exception_predicate()
        self._clock = clock
        self._loop = loop
        self._request_epoch = request_epoch
        self._requested = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._retrying: dict[Element, int] = {}  # and when each is tried again
        self._timer: asyncio.TimerHandle | None = None
        self._settling = False
        self._asked: tuple[Callable[[], bool], Callable[[], list[Element]], Future[list[Element] | None]] | None = None
        self._failure: tuple[Any, BaseException] | None = None  # the element that it is about, and what was raised
        self._closed = False

    # --- what the operator's thread calls; each raises what user code raised ---

    def submit(self, elements: list[Element]) -> list[Element]:
        """Take elements in, wait until all have started, and give those whose results may go on."""
        return self._ask(lambda: self.queue.add(elements), lambda: not self.queue.waiting)

    def restart(self, elements: list[Element]) -> None:
        """Take restored elements in, and wait for nothing."""
        self._ask(lambda: self.queue.add(elements), lambda: True, list)

    def advance(self, watermark: int) -> list[Element]:
        """Take a watermark in, and give the elements whose results may go on."""
        return self._ask(lambda: self.queue.end_segment(watermark), lambda: True)

    def collect(self) -> list[Element]:
        """Look at the clock, and give the elements whose results may go on: an epoch is here to take them."""
        return self._ask(self._tick, lambda: True)

    def finish(self) -> list[Element]:
        """Wait for all results."""
        return self._ask(lambda: None, lambda: len(self.queue.output) == len(self.queue.pending))

    def pending(self) -> list[Element]:
        """Return all elements whose results have not gone on."""
        return self._ask(lambda: None, lambda: True, lambda: list(self.queue.pending))

    def close(self) -> None:
        """End all requests; nobody waits for them any more."""
        closing = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        with contextlib.suppress(TimeoutError):  # user code holds the loop: it ends with the process
            closing.result(_CLOSING_SECONDS)

    def _ask(
        self,
        action: Callable[[], None],
        until: Callable[[], bool],
        answer: Callable[[], list[Element]] | None = None,
    ) -> list[Element]:
        reply: Future[list[Element] | None] = Future()

        def serve() -> None:
            try:
                action()
            except Exception as error:
                reply.set_exception(error)
                return
            self._asked = until, answer or self._take, reply
            self._settle()

        self._loop.call_soon_threadsafe(serve)
        elements = reply.result()
        if elements is None:
            assert self._failure is not None
            raise_for(*self._failure)
        return elements

    # --- in the event loop ---

    async def _work(self, element: Element | None = None) -> None:
        """Work at an element, and then at others as long as some may start."""
        invoke, start = self._function.async_invoke, self._start
        if element is None:
            element = start()
        while element is not None:
            try:
                self._returned(element, await invoke(element.value))
            except BaseException as error:
                if self._closed or not self._loop.is_running():  # the task itself is ended, not by user code
                    raise
                self._raised(element, error)
            self._settle_soon()
            element = start()

    def _start(self) -> Element | None:
        element = self.queue.start()
        if element is None:
            return None
        if not self.queue.waiting:
            self._settle_soon()  # somebody may wait for that
        if self._timeout > 0:
            element.deadline = self._clock.now() + self._timeout
            if self._timer is None:
                self._timer = self._loop.call_later(self._timeout / 1000, self._expire, element.deadline)
        return element

    def _settle_soon(self) -> None:
        if not self._settling:
            self._settling = True
            self._loop.call_soon(self._settle)

    def _settle(self) -> None:
        """Start what may start, and tell whoever waits for results."""
        self._settling = False
        for _ in range(self.queue.startable):
            self._spawn(self._work())
        if self._asked is not None:
            until, answer, reply = self._asked
            if self._failure is not None:
                self._asked = None
                reply.set_result(None)
            elif until():
                self._asked = None
                reply.set_result(answer())
        elif not self._requested and self.has_news():
            self._requested = True
            with contextlib.suppress(OSError):  # the job master is gone, and so will this slot be
                self._request_epoch()

    def has_news(self) -> bool:
        """Return whether there is anything to go on; may be asked in any thread."""
        return bool(self.queue.output) or self.queue.watermark > self.watermark or self._failure is not None

    def _take(self) -> list[Element]:
        self.watermark = self.queue.watermark  # here, not later: what is done by then has not been taken
        return self.queue.take()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)  # the loop itself does not keep it
        task.add_done_callback(self._tasks.discard)

    def _returned(self, element: Element, results: Any) -> None:
        """Take what an attempt returned. The caller keeps no reference to it: see ``unshared``."""
        if element.done:
            return  # it has timed out
        if self._retry_result is None and type(results) is list and FIXED.issuperset(map(type, results)):
            self.queue.complete(element, results.copy())
            return
        try:
            again = self._retry_result is not None and results is not None and self._retry_result(results)
            if again and self._strategy.can_retry(element.attempt):
                self._try_again(element)
                return
            own = self._as_list(results)
        except BaseException as error:
            self._fail(element, error)
            return
        results = None
        separate: list[Any] = []
        own.reverse()
        while own:
            result = own.pop()
            separate.append(result if type(result) in FIXED else unshared(result))
        self.queue.complete(element, separate)

    def _raised(self, element: Element, error: BaseException) -> None:
        """Take what an attempt raised."""
        if element.done:
            return
        try:
            # Such as a cancellation: a strategy is asked about errors, and about this as of one.
            asked = error if isinstance(error, Exception) else RuntimeError(f"ended with {type(error).__name__}")
            again = self._retry_exception is not None and self._retry_exception(asked)
            if again and self._strategy.can_retry(element.attempt):
                self._try_again(element)
                return
        except BaseException as raised:
            self._fail(element, raised)
        else:
            self._fail(element, error)

    def _as_list(self, results: Any) -> list[Any]:
        if type(results) in NOT_RESULTS and results is not None:
            raise refused_results(results)
        if isinstance(results, Iterable):
            return [*results]
        what = "cannot be none" if results is None else "should be of list type"
        raise TypeError(
            f"The result of AsyncFunction {what}, please check the methods 'async_invoke' and 'timeout' of class "
            f"'{type(self._function)}'."
        )

    def _fail(self, element: Element, error: BaseException) -> None:
        self._failure = self._failure or (element.value, error)

    def _try_again(self, element: Element) -> None:
        pause = self._strategy.get_backoff_time_millis(element.attempt)
        self._retrying[element] = self._clock.now() + pause
        element.retry = self._loop.call_later(pause / 1000, self._retry, element)

    def _retry(self, element: Element) -> None:
        self._forget_retry(element)
        element.attempt += 1
        self._spawn(self._work(element))

    def _forget_retry(self, element: Element) -> None:
        self._retrying.pop(element, None)
        if element.retry is not None:
            element.retry.cancel()
            element.retry = None

    def _tick(self) -> None:
        """Do what is due by the clock, should it have gone faster than the loop's own."""
        self._requested = False
        now = self._clock.now()
        if self._timer is not None:
            self._timer.cancel()
            self._expire(now)
        for element in [element for element, due in self._retrying.items() if due <= now]:
            self._retry(element)

    def _expire(self, until: int) -> None:
        """Let elements time out, and wait for the next that may."""
        self._timer = None
        now = max(until, self._clock.now())  # the loop may have been a little faster
        for element in self.queue.pending:  # in the order of their deadlines
            if element.done:
                continue
            if element.deadline is None:
                break
            if element.deadline > now:
                pause = (element.deadline - now) / 1000
                self._timer = self._loop.call_later(pause, self._expire, element.deadline)
                break
            self._forget_retry(element)
            try:
                results = self._as_list(self._function.timeout(element.value))
            except BaseException as error:
                self._fail(element, error)
                break
            self.queue.complete(element, [unshared(result) for result in results])
        self._settle_soon()

    async def _close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        for element in list(self._retrying):
            self._forget_retry(element)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@at_record("value")
def raise_for(value: Any, error: BaseException) -> NoReturn:
    """Raise what a request came to, with its element in the traceback."""
    raise error
