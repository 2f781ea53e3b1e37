"""The job master's end of the control connections: slots call in, prove the secret, register, and are heard.

Slots of an old attempt are turned away: once :meth:`ControlServer.begin_attempt` has named a higher one, nothing from
an older one gets past this file. Those of the next one may call in before it begins, and are heard when it does.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.slots.slot_pool import SlotListener
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.framing import MESSAGE, frame_parts, receive_frame
from rekindle.runtime.wire.listener import Listener

log = logging.getLogger(__name__)


class SlotConnection:
    """Keep the control connection of one slot.

    Nothing that sends waits for the slot: what the socket does not take at once is sent by a thread that lives as long
    as there is something left. So a slot that reads nothing holds up neither the job master nor the other slots.
    """

    def __init__(self, sock: socket.socket, registration: m.Register) -> None:
        self.registration = registration
        self._heard: float | None = time.monotonic()  # None: something was received, and is being handled
        self._socket = sock
        self._sending = threading.Lock()
        self._unsent: deque[memoryview] = deque()  # while there is any, a thread sends the first

    def send(self, data: bytes) -> None:
        """Send an encoded message; a lost slot is noticed by the reading thread."""
        with self._sending:
            self._send(data)

    def beat(self, data: bytes) -> None:
        """Send a heartbeat, unless a message is on its way: its bytes say as much."""
        with self._sending:
            if not self._unsent:
                self._send(data)

    def messages(self) -> Iterator[m.ToMaster]:
        """Wait for one message after the other; while one is handled, the slot is not silent.

        That may take long: what a slot prints waits for a terminal.
        """
        while True:
            self._hear()
            data = receive_frame(self._socket, progress=self._hear)[2]
            self._heard = None
            yield m.decode_to_master(data)

    def silence(self) -> float:
        """Return for how many seconds nothing came, although this end was listening."""
        heard = self._heard
        return 0.0 if heard is None else time.monotonic() - heard

    def close(self) -> None:
        """Hang up: the slot ends by itself."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _hear(self) -> None:
        self._heard = time.monotonic()

    def _send(self, data: bytes) -> None:
        parts = frame_parts(MESSAGE, 0, data)
        if not self._unsent:
            with suppress(OSError):  # it takes nothing now, or nothing more: the thread finds out which
                while parts:
                    rest = parts[0][self._socket.send(parts[0], socket.MSG_DONTWAIT) :]
                    parts[:1] = [rest] if rest else []
            if parts:
                try:
                    threading.Thread(target=self._send_rest, daemon=True, name="control-send").start()
                except RuntimeError as error:  # part of a message is on its way, and nothing can follow it
                    log.warning("slot %d is cut off: its message cannot be sent (%s)", self.registration.slot, error)
                    self.close()
                    return
        self._unsent += parts

    def _send_rest(self) -> None:
        while True:
            with self._sending:  # the sender put something there before it let go of the lock
                part = self._unsent[0]
            with suppress(OSError):  # the connection is closed: the reading thread sees that, too
                self._socket.sendall(part)
            with self._sending:
                self._unsent.popleft()
                if not self._unsent:
                    return


class _Room:
    """Keep the slots of one attempt, and what they say before somebody listens."""

    def __init__(self) -> None:
        self.connections: dict[int, SlotConnection] = {}
        self.listener: SlotListener | None = None
        self.early: list[Callable[[SlotListener], None]] = []


class ControlServer:
    """Accept the slots of one job."""

    def __init__(self, host: str, port: int, secret: bytes, heartbeat_ms: int, timeout_ms: int) -> None:
        self._heartbeat = heartbeat_ms / 1000
        self._timeout = timeout_ms / 1000
        self._lock = threading.Lock()
        self._rooms: dict[int, _Room] = {}  # by attempt
        self._attempt = -1
        self._closed = threading.Event()
        listening = _listen(host, port)
        self.port: int = listening.getsockname()[1]
        self._port = Listener(listening, secret, f"control port {host}:{self.port}", self._serve)
        threading.Thread(target=self._beat, daemon=True, name="control-beat").start()

    def expect(self, attempt: int) -> None:
        """Let slots of this attempt in, too, though it has not begun."""
        with self._lock:
            self._rooms.setdefault(attempt, _Room())

    def begin_attempt(self, attempt: int, listener: SlotListener) -> None:
        """Hear slots of this attempt from now on, and of no other; those that are there already first."""
        with self._lock:
            room = self._rooms.get(attempt) or _Room()
            self._rooms = {attempt: room}
            self._attempt = attempt
        while True:
            with self._lock:
                early, room.early = room.early, []
                if not early:
                    room.listener = listener
                    return
            for tell in early:
                tell(listener)

    def connections(self) -> dict[int, SlotConnection]:
        """Return the slots that are connected."""
        with self._lock:
            room = self._rooms.get(self._attempt)
            return {} if room is None else dict(room.connections)

    def broadcast(self, message: m.ToSlot) -> None:
        """Send a message to every slot."""
        data = m.encode(message)
        for connection in self.connections().values():
            connection.send(data)

    def send(self, slot: int, message: m.ToSlot) -> None:
        """Send a message to one slot, if it is connected."""
        connection = self.connections().get(slot)
        if connection is not None:
            connection.send(m.encode(message))

    def hang_up(self) -> list[SlotConnection]:
        """Fence off the current attempt: close its connections and listen to none of it any more."""
        with self._lock:
            room = self._rooms.pop(self._attempt, None)
        connections = [] if room is None else list(room.connections.values())
        for connection in connections:
            connection.close()
        return connections

    def close(self) -> None:
        """Stop listening."""
        self._closed.set()
        self._port.close()
        with self._lock:
            rooms, self._rooms = list(self._rooms.values()), {}
        for room in rooms:
            for connection in room.connections.values():
                connection.close()

    def _serve(self, sock: socket.socket, first: bytes) -> None:
        connection, why = None, "its process ended or its connection broke"
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            registration = m.decode_to_master(first)
            if isinstance(registration, m.Register):
                connection = SlotConnection(sock, registration)
                if self._register(connection):
                    self._hear(connection)
        except (OSError, EOFError, msgspec.MsgspecError):
            pass
        except Exception as error:
            log.exception("a message from a slot could not be handled: its connection is closed")
            why = f"a message of its could not be handled by the driver ({type(error).__name__}: {error})"
        finally:
            sock.close()
        if connection is not None:
            self._lost(connection, why)

    def _register(self, connection: SlotConnection) -> bool:
        """Let a slot be one of its attempt's; it is told so by its first heartbeat."""
        registration = connection.registration
        with self._lock:
            room = self._rooms.get(registration.attempt)
            if room is None or registration.slot in room.connections:
                return False
            room.connections[registration.slot] = connection
        self._tell(room, lambda listener: listener.slot_said(registration.slot, registration))
        connection.send(m.encode(m.Heartbeat()))
        return True

    def _hear(self, connection: SlotConnection) -> None:
        slot = connection.registration.slot
        for message in connection.messages():
            room = self._room_of(connection)
            if room is not None and not isinstance(message, m.Heartbeat):
                self._tell(room, lambda listener, message=message: listener.slot_said(slot, message))  # type: ignore[misc]

    def _room_of(self, connection: SlotConnection) -> _Room | None:
        with self._lock:
            room = self._rooms.get(connection.registration.attempt)
            known = room is not None and room.connections.get(connection.registration.slot) is connection
            return room if known else None

    def _lost(self, connection: SlotConnection, why: str) -> None:
        slot = connection.registration.slot
        with self._lock:
            room = self._rooms.get(connection.registration.attempt)
            if room is None or room.connections.get(slot) is not connection:
                return
            del room.connections[slot]
        self._tell(room, lambda listener: listener.slot_lost(slot, why))

    def _tell(self, room: _Room, what: Callable[[SlotListener], None]) -> None:
        with self._lock:
            listener = room.listener
            if listener is None:
                room.early.append(what)
        if listener is not None:
            what(listener)

    def _beat(self) -> None:
        while not self._closed.wait(self._heartbeat):
            data = m.encode(m.Heartbeat())
            with self._lock:
                connections = [each for room in self._rooms.values() for each in room.connections.values()]
            for connection in connections:
                silence = connection.silence()
                if silence > self._timeout:
                    self._lost(connection, f"nothing was heard from it for {silence:.0f} s")
                    connection.close()
                else:
                    connection.beat(data)


def _listen(host: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(256)
    except OSError as error:
        sock.close()
        raise ConfigurationError(
            f"the job master cannot listen on {host}:{port}: {error.strerror}. Set jobmanager.rpc.port to a free port, "
            "or to 0 for any"
        ) from error
    return sock
