"""The slot's end of the control connection: which orders it takes before it has opened anything."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from rekindle.exceptions import SlotProtocolError
from rekindle.runtime.master.slots.control_server import ControlServer
from rekindle.runtime.slot import control_client
from rekindle.runtime.slot.control_client import ControlClient
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.wire import messages as m

SECRET = b"s" * 32
SOON, NEVER = 10, 3_600_000
OPEN = m.OpenJob(None, [])


class Orders:
    """Send orders as soon as a slot has registered: before the heartbeat that tells it so."""

    def __init__(self, *orders: m.ToSlot) -> None:
        self.server = ControlServer("127.0.0.1", 0, SECRET, NEVER, NEVER)
        self.server.begin_attempt(1, self)
        self._orders = orders

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        for order in self._orders:
            self.server.broadcast(order)

    def slot_lost(self, slot: int, why: str) -> None:
        pass


class Ending(ControlClient):
    """End its threads where a slot ends its process: this is the process of the tests."""

    def __init__(self, deployment: SlotDeployment) -> None:
        self.ended = threading.Event()
        super().__init__(deployment)

    def send(self, message: m.ToMaster) -> None:
        if self.ended.is_set():
            raise SystemExit
        super().send(message)

    def _beat(self) -> None:
        with suppress(SystemExit):
            super()._beat()

    def _exit(self) -> None:
        self._socket.close()
        self.ended.set()


@contextmanager
def client(*orders: m.ToSlot) -> Iterator[ControlClient]:
    sending = Orders(*orders)
    deployment = SlotDeployment(1, 0, SECRET, "127.0.0.1", sending.server.port, False, [], SOON, NEVER, b"")
    slot = Ending(deployment)
    try:
        yield slot
    finally:
        sending.server.close()
        slot.ended.wait()


@pytest.fixture(autouse=True)
def _no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_client, "_GRACE_SECONDS", 0)


def test_an_order_that_comes_before_the_first_heartbeat_is_taken() -> None:
    with client(OPEN) as slot:
        assert slot.opening_order() == OPEN


def test_a_request_for_metrics_is_passed_over_until_the_slot_is_to_open() -> None:
    with client(m.AskMetrics(1), m.AskMetrics(2), OPEN) as slot:
        assert slot.opening_order() == OPEN


def test_a_slot_that_is_not_needed_opens_nothing() -> None:
    with client(m.AskMetrics(1), m.Shutdown(False)) as slot:
        assert slot.opening_order() is None


def test_any_other_order_is_an_error_that_names_it() -> None:
    with client(m.EndEpoch(1)) as slot, pytest.raises(SlotProtocolError, match="EndEpoch before it sent OpenJob"):
        slot.opening_order()
