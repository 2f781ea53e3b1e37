"""What takes its time: an operation is begun by one request, and asked for by others, by the id that the first got.

What an operation came to is kept for a while. A program that ends waits a moment for those that nobody has asked for
yet: who stops the last job of a process would otherwise never hear where its savepoint is.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any

from rekindle.exceptions import ConfigurationError
from rekindle.rest.messages import RequestError

_TRIGGER_ID = re.compile(r"[0-9a-f]{32}")
_KEPT = 100
_AWAITED_SECONDS = 60.0


@dataclass(slots=True)
class _Operation:
    future: Future[Any]
    begun: float
    asked_for: bool = False


class Operations:
    """Keep the operations of one kind.

    Args:
        kept: How many that are over are remembered.
        now: Tells the time, in seconds from any moment.
    """

    def __init__(self, kept: int = _KEPT, now: Callable[[], float] = time.monotonic) -> None:
        self._kept = kept
        self._now = now
        self._changed = threading.Condition()
        self._operations: dict[tuple[str, str], _Operation] = {}

    def begin(self, what: str, trigger_id: str | None, start: Callable[[], Future[Any]]) -> str:
        """Begin an operation, unless one with the same id was begun before; give its id.

        Args:
            what: What it is done to, such as a job.
            trigger_id: The id that the client chose; None: any.
            start: Begins it. An error of the configuration is the client's to know at once; any other ends it.
        """
        key = what, self._checked(trigger_id or secrets.token_hex(16))
        future: Future[Any] = Future()
        with self._changed:
            if key in self._operations:
                return key[1]
            self._forget_oldest()
            self._operations[key] = _Operation(future, self._now())
        try:
            started = start()
        except ConfigurationError:
            with self._changed:
                del self._operations[key]
            raise
        except Exception as error:
            future.set_exception(error)
        else:
            started.add_done_callback(lambda done: _hand_over(done, future))
        return key[1]

    def describe(self, what: str, trigger_id: str, result: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Return how an operation stands, as Flink does.

        Args:
            what: What it is done to.
            trigger_id: Its id.
            result: Makes what is told out of what the operation came to.

        Raises:
            RequestError: There is no such operation.
        """
        key = what, self._checked(trigger_id)
        with self._changed:
            operation = self._operations.get(key)
            if operation is None:
                raise RequestError(404, f"There is no operation with triggerId={key[1]} for {what}.")
            done = operation.future.done()
            operation.asked_for = operation.asked_for or done
            self._changed.notify_all()
        if not done:
            return {"status": {"id": "IN_PROGRESS"}, "operation": None}
        error = operation.future.exception()
        told = result(operation.future.result()) if error is None else {"failure-cause": failure_cause(error)}
        return {"status": {"id": "COMPLETED"}, "operation": told}

    def linger(self, seconds: float) -> None:
        """Wait until everybody has asked how what they began came out."""
        with self._changed:
            self._changed.wait_for(lambda: not self._awaited(), seconds)

    def _awaited(self) -> bool:
        since = self._now() - _AWAITED_SECONDS
        return any(not each.asked_for and each.begun >= since for each in self._operations.values())

    def _forget_oldest(self) -> None:
        over = [key for key, operation in self._operations.items() if operation.future.done()]
        for key in over[: max(0, len(over) - self._kept + 1)]:
            del self._operations[key]

    @staticmethod
    def _checked(trigger_id: str) -> str:
        if not _TRIGGER_ID.fullmatch(trigger_id.lower()):
            raise RequestError(400, f"{trigger_id!r} is not a trigger id: it must have 32 hexadecimal digits.")
        return trigger_id.lower()


def failure_cause(error: BaseException) -> dict[str, str]:
    """Describe an error and what caused it; where in the code it was raised is nobody's business."""
    texts, seen = [], set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        texts.append(f"{_name(cause)}: {cause}")
        cause = cause.__cause__
    return {"class": _name(error), "stack-trace": "\nCaused by: ".join(texts)}


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _hand_over(done: Future[Any], future: Future[Any]) -> None:
    error = CancelledError("it was abandoned") if done.cancelled() else done.exception()
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)
