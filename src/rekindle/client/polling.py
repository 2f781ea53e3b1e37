"""How a client waits for what a job does on its own time: it asks again and again, less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
_GROWTH = 1.3


def pauses() -> Iterator[float]:
    """Give the seconds to wait before each next question."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * _GROWTH, LONGEST_PAUSE)


def poll(question: Callable[[], T | None], sleep: Callable[[float], object] = time.sleep) -> T:
    """Ask until there is an answer.

    Args:
        question: Gives the answer, None as long as there is none.
        sleep: Waits some seconds.
    """
    waits = pauses()
    while (answer := question()) is None:
        sleep(next(waits))
    return answer
