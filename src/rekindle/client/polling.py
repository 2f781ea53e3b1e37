"""How a client waits for what a job does on its own time: it asks again and again, less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from rekindle.exceptions import UnreachableError

T = TypeVar("T")

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 1.0
PATIENCE = 5  # questions in a row without an answer
_GROWTH = 1.3


def pauses() -> Iterator[float]:
    """Return the seconds to wait before each next question."""
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(pause * _GROWTH, LONGEST_PAUSE)


def poll(question: Callable[[], T | None], sleep: Callable[[float], object] = time.sleep) -> T:
    """Ask until there is an answer. A driver that is too busy to answer in time is asked again.

    Args:
        question: Gives the answer, None as long as there is none.
        sleep: Waits some seconds.

    Raises:
        UnreachableError: The driver is gone, or has been silent for several questions.
    """
    silent = 0
    for pause in pauses():
        try:
            answer = question()
            silent = 0
        except UnreachableError as error:
            silent += 1
            if not isinstance(error.__cause__, TimeoutError) or silent > PATIENCE:
                raise
            answer = None
        if answer is not None:
            return answer
        sleep(pause)
    raise AssertionError("pauses never end")
