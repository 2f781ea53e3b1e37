"""The elements of an operator that waits for their results: which may start, and which results may go on. Pure.

A watermark ends a segment of elements. No result of a segment goes on before all those of the segments before it, and
the watermark itself goes on when its segment is empty.
"""

from __future__ import annotations

from asyncio import TimerHandle
from collections import deque
from collections.abc import Iterable
from typing import Any

from rekindle.runtime.operators.operator import MIN_WATERMARK


class Element:
    """Hold a record from when it comes in until its results go on.

    Attributes:
        attempt: Which attempt it is at, counted from 1.
        deadline: When it times out; None: never, or it has not started.
        retry: What starts the next attempt, while it waits for that.
        done: Whether its results are here.
    """

    __slots__ = ("attempt", "deadline", "done", "results", "retry", "segment", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None, attempt: int = 1) -> None:
        self.value = value
        self.timestamp = timestamp
        self.attempt = attempt
        self.deadline: int | None = None
        self.retry: TimerHandle | None = None
        self.done = False
        self.results: list[Any] = []
        self.segment: _Segment | None = None


class _Segment:
    """Count the elements between two watermarks whose results have not gone on."""

    __slots__ = ("done", "open", "watermark")

    def __init__(self) -> None:
        self.open = 0
        self.done: list[Element] = []  # in unordered mode: those that wait for the segments before
        self.watermark: int | None = None


class AsyncQueue:
    """Let so many elements be under way at a time, and their results go on in the right order.

    An element takes room from its start until its results may go on: in ordered mode, until all before it are done.

    Attributes:
        pending: All elements whose results have not been taken, in the order in which they came.
        waiting: Those of them that have not started.
        output: Those of them whose results may go on.
        watermark: The last watermark that may go on.
    """

    def __init__(self, capacity: int, ordered: bool) -> None:
        self.pending: dict[Element, None] = {}
        self.waiting: deque[Element] = deque()
        self.output: list[Element] = []
        self.watermark = MIN_WATERMARK
        self._room = capacity
        self._order: deque[Element] | None = deque() if ordered else None
        self._segments: deque[_Segment] = deque([_Segment()])

    @property
    def startable(self) -> int:
        """Count the elements that may start now."""
        return min(self._room, len(self.waiting))

    def add(self, elements: Iterable[Element]) -> None:
        """Take elements in."""
        segment = self._segments[-1]
        before = len(self.pending)
        for element in elements:
            element.segment = segment
            self.pending[element] = None
            self.waiting.append(element)
        segment.open += len(self.pending) - before

    def start(self) -> Element | None:
        """Return the next element to start; None: there is none, or no room."""
        if not self.waiting or not self._room:
            return None
        self._room -= 1
        element = self.waiting.popleft()
        if self._order is not None:
            self._order.append(element)
        return element

    def complete(self, element: Element, results: list[Any]) -> None:
        """Take the results of an element."""
        element.results = results
        element.done = True
        first = self._segments[0]
        if self._order is not None:
            order = self._order
            while order and order[0].done:
                self._let_go(order.popleft())
        elif element.segment is first:
            self._let_go(element)
        else:
            assert element.segment is not None
            element.segment.done.append(element)
        if not first.open:
            self._advance()

    def end_segment(self, watermark: int) -> None:
        """Take a watermark: it stands behind all elements that came before it."""
        segments = self._segments
        if not segments[-1].open and len(segments) > 1:
            segments[-2].watermark = watermark  # nothing came since the last one
        else:
            segments[-1].watermark = watermark
            segments.append(_Segment())
        self._advance()

    def take(self) -> list[Element]:
        """Take the elements whose results may go on."""
        taken, self.output = self.output, []
        for element in taken:
            del self.pending[element]
        return taken

    def _let_go(self, element: Element) -> None:
        assert element.segment is not None
        self.output.append(element)
        self._room += 1
        element.segment.open -= 1

    def _advance(self) -> None:
        """Let watermarks go on behind which nothing is open, and with them what waited for them."""
        segments = self._segments
        while not segments[0].open and (watermark := segments[0].watermark) is not None:
            self.watermark = watermark
            segments.popleft()
            for element in segments[0].done:
                self._let_go(element)
            segments[0].done.clear()
