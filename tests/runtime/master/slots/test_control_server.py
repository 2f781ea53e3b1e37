"""The job master's end of the control connections: who is let in, who is heard, who is missed."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.slots.control_server import ControlServer
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.framing import MESSAGE, receive_frame, send_frame
from rekindle.runtime.wire.handshake import connect

SECRET = b"s" * 32
NEVER = 3_600_000
READY = m.Ready("rekindle-x", 0, "127.0.0.1")


@dataclass(frozen=True)
class Said:
    slot: int
    message: m.ToMaster


@dataclass(frozen=True)
class Lost:
    slot: int
    why: str


class Listener:
    """Note what is heard; ``next`` waits for it."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Said | Lost] = queue.SimpleQueue()

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        self._events.put(Said(slot, message))

    def slot_lost(self, slot: int, why: str) -> None:
        self._events.put(Lost(slot, why))

    def next(self) -> Said | Lost:
        return self._events.get(timeout=10)

    def heard_nothing(self) -> bool:
        return self._events.empty()


def registration(slot: int = 0, attempt: int = 1) -> m.Register:
    return m.Register(attempt, slot, 4711, "host")


class FakeSlot:
    """Call in as a slot does."""

    def __init__(self, server: ControlServer, secret: bytes = SECRET) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        try:
            connect(self.socket, secret)
        except BaseException:
            self.socket.close()
            raise
        self.socket.settimeout(10)

    def say(self, *messages: Any) -> None:
        for message in messages:
            send_frame(self.socket, MESSAGE, 0, m.encode(message))

    def hear(self) -> Any:
        while isinstance(order := m.decode_to_slot(receive_frame(self.socket)[2]), m.Heartbeat):
            pass
        return order

    def is_turned_away(self) -> bool:
        """Wait until the server hangs up."""
        with suppress(ConnectionResetError):
            while self.socket.recv(1 << 10):
                pass
        return True


class Scene:
    """A server, its listener, and slots that are closed at the end."""

    def __init__(self, stack: ExitStack, heartbeat_ms: int = NEVER, timeout_ms: int = NEVER) -> None:
        self._stack = stack
        self.listener = Listener()
        self.server = ControlServer("127.0.0.1", 0, SECRET, heartbeat_ms, timeout_ms)
        stack.callback(self.server.close)
        self.server.begin_attempt(1, self.listener)

    def slot(self, index: int | None = None, attempt: int = 1) -> FakeSlot:
        """Connect a slot, and register it if it has an index."""
        slot = FakeSlot(self.server)
        self._stack.enter_context(slot.socket)
        if index is not None:
            slot.say(registration(index, attempt))
        return slot

    def registered(self, index: int) -> FakeSlot:
        slot = self.slot(index)
        assert self.listener.next() == Said(index, registration(index))
        return slot


@pytest.fixture
def scene() -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(stack)


class TestRegistration:
    def test_a_slot_that_registers_is_announced_and_known(self, scene: Scene) -> None:
        scene.slot(2)
        assert scene.listener.next() == Said(2, registration(2))
        assert [c.registration for c in scene.server.connections().values()] == [registration(2)]

    def test_a_slot_is_told_that_it_was_taken(self, scene: Scene) -> None:
        slot = scene.slot(2)
        assert m.decode_to_slot(receive_frame(slot.socket)[2]) == m.Heartbeat()
        assert scene.listener.next() == Said(2, registration(2)), "whoever is told comes after whoever waits for it"

    def test_what_a_registered_slot_says_is_heard_in_order_and_heartbeats_are_not(self, scene: Scene) -> None:
        slot = scene.registered(0)
        slot.say(READY, m.Heartbeat(), m.CommitDone(3))
        assert [scene.listener.next(), scene.listener.next()] == [Said(0, READY), Said(0, m.CommitDone(3))]

    def test_a_slot_that_fails_before_it_is_ready_is_heard(self, scene: Scene) -> None:
        failure = m.SlotFailed("", 3, "ImportError: no module", "traceback")
        scene.registered(3).say(failure)
        assert scene.listener.next() == Said(3, failure)

    def test_a_slot_that_dies_before_it_is_ready_is_missed_at_once(self, scene: Scene) -> None:
        scene.registered(3).socket.close()
        assert scene.listener.next() == Lost(3, "its process ended or its connection broke")

    @pytest.mark.parametrize("attempt", [0, 2])
    def test_a_slot_of_another_attempt_is_turned_away(self, scene: Scene, attempt: int) -> None:
        assert scene.slot(0, attempt=attempt).is_turned_away()
        assert scene.listener.heard_nothing()
        assert scene.server.connections() == {}

    def test_a_second_slot_of_the_same_index_is_turned_away_and_the_first_stays(self, scene: Scene) -> None:
        first = scene.registered(0)
        assert scene.slot(0).is_turned_away()
        first.say(READY)
        assert scene.listener.next() == Said(0, READY)

    def test_a_slot_that_says_something_else_first_is_turned_away(self, scene: Scene) -> None:
        slot = scene.slot()
        slot.say(READY)
        assert slot.is_turned_away()
        assert scene.listener.heard_nothing()

    def test_a_slot_without_the_secret_is_turned_away(self, scene: Scene) -> None:
        with pytest.raises((EOFError, ConnectionResetError)):
            FakeSlot(scene.server, secret=b"w" * 32)
        assert scene.listener.heard_nothing()


class TestAttempts:
    def test_once_a_new_attempt_has_begun_nothing_from_the_old_one_is_heard(self, scene: Scene) -> None:
        old = scene.registered(0)
        following = Listener()
        scene.server.begin_attempt(2, following)
        old.say(READY)
        old.socket.shutdown(socket.SHUT_WR)
        assert old.is_turned_away(), "the server has read all that the old one said"
        assert following.heard_nothing()
        scene.slot(0, attempt=2)
        assert following.next() == Said(0, registration(0, attempt=2))
        scene.slot(1, attempt=2)
        assert following.next() == Said(1, registration(1, attempt=2))
        assert scene.listener.heard_nothing()

    def test_after_hanging_up_all_slots_are_cut_off_and_nobody_is_missed(self, scene: Scene) -> None:
        slots = [scene.registered(index) for index in range(2)]
        cut_off = scene.server.hang_up()
        assert sorted(connection.registration.slot for connection in cut_off) == [0, 1]
        assert all(slot.is_turned_away() for slot in slots)
        assert scene.server.connections() == {}
        assert scene.slot(0).is_turned_away()
        assert scene.listener.heard_nothing()


class TestTheNextAttempt:
    """Slots of the next attempt may come while the one before is still there."""

    def test_its_slots_are_let_in_and_told_so_but_nobody_hears_of_them_yet(self, scene: Scene) -> None:
        current = scene.registered(0)
        scene.server.expect(2)
        early = scene.slot(0, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        current.say(READY)
        assert scene.listener.next() == Said(0, READY)
        assert scene.listener.heard_nothing()
        assert [each.registration.attempt for each in scene.server.connections().values()] == [1]

    def test_orders_for_the_current_attempt_do_not_reach_them(self, scene: Scene) -> None:
        current = scene.registered(0)
        scene.server.expect(2)
        early = scene.slot(0, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        scene.server.broadcast(m.Shutdown())
        assert current.hear() == m.Shutdown()
        scene.server.begin_attempt(2, Listener())
        scene.server.broadcast(m.OpenJob(None))
        assert early.hear() == m.OpenJob(None)

    def test_what_they_have_said_is_heard_in_order_when_it_begins(self, scene: Scene) -> None:
        scene.server.expect(2)
        failure = m.SlotFailed("", 0, "ImportError: no module", "traceback")
        early = scene.slot(0, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        early.say(failure)
        early.socket.shutdown(socket.SHUT_WR)
        assert early.is_turned_away(), "the server has read all of it"
        scene.server.hang_up()
        following = Listener()
        scene.server.begin_attempt(2, following)
        heard = [following.next() for _ in range(3)]
        assert heard == [
            Said(0, registration(0, attempt=2)),
            Said(0, failure),
            Lost(0, "its process ended or its connection broke"),
        ]
        assert scene.server.connections() == {}

    def test_hanging_up_on_the_current_attempt_leaves_them_alone(self, scene: Scene) -> None:
        current = scene.registered(0)
        scene.server.expect(2)
        early = scene.slot(1, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        scene.server.hang_up()
        assert current.is_turned_away()
        following = Listener()
        scene.server.begin_attempt(2, following)
        assert following.next() == Said(1, registration(1, attempt=2))
        early.say(READY)
        assert following.next() == Said(1, READY)

    def test_an_attempt_that_does_not_come_about_takes_them_along(self, scene: Scene) -> None:
        scene.server.expect(2)
        early = scene.slot(0, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        scene.server.begin_attempt(3, Listener())
        early.say(READY)
        early.socket.shutdown(socket.SHUT_WR)
        assert early.is_turned_away()
        assert scene.slot(0, attempt=2).is_turned_away()

    def test_closing_the_server_ends_them(self, scene: Scene) -> None:
        scene.server.expect(2)
        early = scene.slot(0, attempt=2)
        assert m.decode_to_slot(receive_frame(early.socket)[2]) == m.Heartbeat()
        scene.server.close()
        assert early.is_turned_away()


class TestOrders:
    def test_an_order_goes_to_every_slot(self, scene: Scene) -> None:
        slots = [scene.registered(index) for index in range(3)]
        scene.server.broadcast(m.EndEpoch(7))
        scene.server.broadcast(m.Shutdown())
        assert [[slot.hear(), slot.hear()] for slot in slots] == [[m.EndEpoch(7), m.Shutdown()]] * 3

    def test_a_slot_that_is_gone_does_not_keep_an_order_from_the_others(self, scene: Scene) -> None:
        gone, alive = scene.registered(0), scene.registered(1)
        gone.socket.close()
        for epoch in range(3):
            scene.server.broadcast(m.EndEpoch(epoch))
        assert [alive.hear() for _ in range(3)] == [m.EndEpoch(epoch) for epoch in range(3)]

    def test_heartbeats_reach_every_slot(self) -> None:
        with ExitStack() as stack:
            slot = Scene(stack, heartbeat_ms=1).registered(0)
            for _ in range(3):
                assert m.decode_to_slot(receive_frame(slot.socket)[2]) == m.Heartbeat()


class TestLostSlots:
    def test_a_slot_whose_connection_breaks_is_missed_at_once(self, scene: Scene) -> None:
        scene.registered(1).socket.close()
        assert scene.listener.next() == Lost(1, "its process ended or its connection broke")
        assert scene.server.connections() == {}

    def test_a_slot_that_falls_silent_is_missed_and_cut_off(self) -> None:
        with ExitStack() as stack:
            scene = Scene(stack, heartbeat_ms=1, timeout_ms=20)
            slot = scene.slot(1)
            assert scene.listener.next() == Said(1, registration(1))
            lost = scene.listener.next()
            assert isinstance(lost, Lost)
            assert lost.why.startswith("nothing was heard from it for")
            assert slot.is_turned_away()
            assert scene.server.connections() == {}

    def test_a_slot_is_not_silent_while_what_it_said_is_handled(self) -> None:
        """Let a terminal that is stopped hold up what a slot prints."""
        with ExitStack() as stack:
            scene = Scene(stack, heartbeat_ms=10, timeout_ms=500)
            handled, released = threading.Event(), threading.Event()
            stack.callback(released.set)

            def handle(slot: int, message: m.ToMaster) -> None:
                handled.set()
                released.wait()

            slot = scene.registered(1)
            scene.listener.slot_said = handle  # type: ignore[method-assign]
            slot.say(READY)
            handled.wait()
            beats = [m.decode_to_slot(receive_frame(slot.socket)[2]) for _ in range(200)]  # 2 s
            assert beats == [m.Heartbeat()] * 200
            assert scene.listener.heard_nothing()

    def test_what_a_listener_raises_is_named_as_the_reason(self, scene: Scene) -> None:
        slot = scene.registered(1)

        def fail(slot: int, message: m.ToMaster) -> None:
            raise ValueError("not that")

        scene.listener.slot_said = fail  # type: ignore[method-assign]
        slot.say(READY)
        why = "a message of its could not be handled by the driver (ValueError: not that)"
        assert scene.listener.next() == Lost(1, why)

    def test_a_slot_that_speaks_gibberish_is_missed(self, scene: Scene) -> None:
        slot = scene.registered(1)
        send_frame(slot.socket, MESSAGE, 0, b"\xff\xff not a message")
        assert isinstance(scene.listener.next(), Lost)
        assert slot.is_turned_away()

    def test_a_slot_is_missed_once(self, scene: Scene) -> None:
        scene.registered(1).socket.close()
        assert isinstance(scene.listener.next(), Lost)
        scene.registered(2)
        assert scene.listener.heard_nothing()

    def test_a_slot_that_was_lost_can_be_replaced(self, scene: Scene) -> None:
        scene.registered(1).socket.close()
        scene.listener.next()
        scene.registered(1)


class TestThePort:
    def test_a_port_in_use_raises_naming_it_and_the_setting(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(ConfigurationError, match=rf"127\.0\.0\.1:{port}: .*jobmanager\.rpc\.port"):
                ControlServer("127.0.0.1", port, SECRET, NEVER, NEVER)

    def test_a_given_port_is_used(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        server = ControlServer("127.0.0.1", port, SECRET, NEVER, NEVER)
        assert server.port == port
        server.close()

    @pytest.mark.parametrize(
        "garbage", [b"GET / HTTP/1.1\r\n\r\n" + bytes(64), bytes(64), b"\xff" * 10_000], ids=["http", "zeros", "much"]
    )
    def test_garbage_on_the_port_is_ignored(self, scene: Scene, garbage: bytes) -> None:
        with socket.create_connection(("127.0.0.1", scene.server.port)) as stranger:
            with suppress(ConnectionError):
                stranger.sendall(garbage)
            with suppress(ConnectionResetError):
                while stranger.recv(1 << 10):
                    pass
        scene.registered(0)
        assert scene.listener.heard_nothing()

    def test_a_stranger_that_says_nothing_does_not_keep_slots_out(self, scene: Scene) -> None:
        with socket.create_connection(("127.0.0.1", scene.server.port)):
            scene.registered(0)

    def test_a_closed_server_takes_nobody(self) -> None:
        server = ControlServer("127.0.0.1", 0, SECRET, NEVER, NEVER)
        server.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port))
