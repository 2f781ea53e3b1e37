"""The slots of one job in this process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable

from rekindle.exceptions import SlotLostError
from rekindle.runtime.master.slots.slot_pool import SlotListener
from rekindle.runtime.wire import messages as m
from rekindle.testing.in_process.slot import InProcessSlot

_END_SECONDS = 5.0  # for user code that does not return

MakeSlot = Callable[[int, int, bytes, str], InProcessSlot]
"""Starts a slot: is given its attempt, its index, its job, and the name by which tasks are to find it."""


class InProcessSlotPool:
    """Launch slots as threads, see :class:`rekindle.runtime.master.slots.slot_pool.SlotPool`."""

    def __init__(self, make_slot: MakeSlot) -> None:
        self._make_slot = make_slot
        self._id = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._launched: dict[int, list[InProcessSlot]] = {}  # by attempt
        self._cut_off: list[InProcessSlot] = []
        self._attempt = -1
        self._listener: SlotListener | None = None
        self._closed = False

    @property
    def listener(self) -> SlotListener | None:
        """Return who hears the slots of the current attempt."""
        return self._listener

    def slots(self) -> dict[int, InProcessSlot]:
        """Return the slots of the current attempt that run."""
        with self._lock:
            current = self._launched.get(self._attempt, [])
        return {slot.index: slot for slot in current if not slot.lost and not slot.left}

    def waiting(self) -> set[int]:
        """Return the attempts whose slots run, and which are yet to begin."""
        with self._lock:
            return {attempt for attempt in self._launched if attempt != self._attempt}

    def launch(self, attempt: int, job: bytes, slots: int) -> None:
        """Start all slots of an attempt."""
        made = [self._make_slot(attempt, index, job, f"{self._id}-{attempt}-{index}") for index in range(slots)]
        with self._lock:
            closed = self._closed
            (self._cut_off if closed else self._launched.setdefault(attempt, [])).extend(made)
            listener = self._listener if attempt == self._attempt else None
        if closed:
            _end(made)
            raise SlotLostError("the job is over")
        if listener is not None:
            _register(made, listener)

    def cancel_launch(self, attempt: int) -> None:
        """Do nothing: slots are started at once."""

    def begin_attempt(self, attempt: int, listener: SlotListener) -> None:
        """Hear slots of this attempt from now on, and of no other."""
        with self._lock:
            earlier = [each for number in self._launched if number != attempt for each in self._launched[number]]
            self._launched = {attempt: self._launched.get(attempt, [])}
            self._attempt, self._listener = attempt, listener
            here = list(self._launched[attempt])
            self._cut_off += earlier
        for slot in earlier:
            slot.lose(None)
        _register(here, listener)

    def registered(self) -> dict[int, m.Register]:
        """Return the slots that run."""
        return {index: slot.registration for index, slot in self.slots().items()}

    def broadcast(self, message: m.ToSlot) -> None:
        """Send a message to every slot."""
        for slot in self.slots().values():
            slot.order(message)

    def send(self, slot: int, message: m.ToSlot) -> None:
        """Send a message to one slot."""
        running = self.slots().get(slot)
        if running is not None:
            running.order(message)

    def hang_up(self) -> None:
        """Fence off the current attempt."""
        with self._lock:
            slots = self._launched.pop(self._attempt, [])
            self._cut_off += [slot for slot in slots if not slot.left]
            self._attempt, self._listener = -1, None
        for slot in slots:
            slot.lose(None)

    def close(self) -> None:
        """End all slots."""
        self.hang_up()
        with self._lock:
            self._closed = True
            slots = [*self._cut_off, *(each for launched in self._launched.values() for each in launched)]
            self._launched, self._cut_off = {}, []
        _end(slots)


def _register(slots: list[InProcessSlot], listener: SlotListener) -> None:
    for slot in slots:
        slot.register(listener)


def _end(slots: list[InProcessSlot]) -> None:
    for slot in slots:
        slot.end(0)  # all at once, and then wait
    for slot in slots:
        slot.end(_END_SECONDS)
