"""Asynchronous functions whose requests are answered when a test says so."""

from __future__ import annotations

import asyncio
from typing import Any

from rekindle.datastream import AsyncFunction
from support.processes import wait_until


class Gated(AsyncFunction):
    """Wait for :meth:`answer` with every element.

    Attributes:
        started: The elements of all attempts, in their order.
    """

    def __init__(self) -> None:
        self.started: list[Any] = []
        self._gates: dict[Any, asyncio.Future[Any]] = {}

    async def async_invoke(self, value: Any) -> Any:
        gate = asyncio.get_running_loop().create_future()
        self._gates[value] = gate
        self.started.append(value)
        answer = await gate
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def answer(self, value: Any, answer: Any) -> None:
        """Let an element have its results, or an exception."""
        wait_until(lambda: value in self._gates, f"{value!r} is asked for")
        gate = self._gates.pop(value)
        gate.get_loop().call_soon_threadsafe(gate.set_result, answer)


class Late(Gated):
    """Give results in place of those that do not come in time."""

    def timeout(self, value: Any) -> Any:
        return [f"late {value}"]
