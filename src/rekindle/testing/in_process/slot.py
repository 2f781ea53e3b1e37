"""A slot that is a thread of this process."""

from __future__ import annotations

import logging
import os
import queue
import socket
import threading
from collections.abc import Callable
from functools import partial

from rekindle.base.clock import SystemClock
from rekindle.exceptions import SlotLostError, SlotProtocolError
from rekindle.runtime.exchange.writers import Envelope
from rekindle.runtime.master.slots.slot_pool import SlotListener
from rekindle.runtime.slot.failure import describe_failure
from rekindle.runtime.slot.orders import carry_out
from rekindle.runtime.slot.slot import Frames, Slot
from rekindle.runtime.slot.slot_job import RestoredCheckpoint, load_job
from rekindle.runtime.wire import messages as m
from rekindle.testing.in_process.flink_order import FlinkOrderedSlot

log = logging.getLogger(__name__)

_CANCEL_SECONDS = 0.05  # between two looks whether a task that waits for its epoch is still wanted

Hears = Callable[[int, m.ToMaster], bool]
"""Is asked, for a slot and its message, whether the job master gets it."""

Obeys = Callable[[int, m.ToSlot], bool]
"""Is asked, in the slot's thread, whether a slot carries out an order."""


class InProcessSlot:
    """Carry out orders, one after the other, and run the tasks of epochs.

    Attributes:
        index: The subtask index of its operators.
        registration: What it says of itself when its attempt begins.
        lost: Whether it is gone: it then does nothing any more, and nothing of it is heard.
        left: Whether it has ended as it was told to.

    Args:
        attempt: The attempt.
        index: The subtask index.
        job: A pickled ``SlotJob``.
        name: The name by which tasks find it.
        hears: Whether the job master gets a message.
        obeys: Whether the slot carries out an order.
    """

    def __init__(self, attempt: int, index: int, job: bytes, name: str, hears: Hears, obeys: Obeys) -> None:
        self.index = index
        self.registration = m.Register(attempt, index, os.getpid(), socket.gethostname())
        self.lost = False
        self.left = False
        self._name = name
        self._hears = hears
        self._obeys = obeys
        self._program = partial(load_job, job)
        self._job = self._program()
        self._listener: SlotListener | None = None  # until the attempt begins
        self._slot: Slot | None = None
        self._opened = False
        self._orders: queue.SimpleQueue[m.ToSlot | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._epoch = 0  # the last one that has begun
        self._job_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f"slot {index} of attempt {attempt}")
        self._thread.start()

    def register(self, listener: SlotListener) -> None:
        """Speak with the job master from now on: the attempt has begun."""
        self._listener = listener
        self.say(self.registration)

    def say(self, message: m.ToMaster) -> None:
        """Tell the job master something."""
        if not self.lost and self._listener is not None and self._hears(self.index, message):
            self._listener.slot_said(self.index, message)

    def order(self, order: m.ToSlot) -> None:
        """Give an order."""
        self._orders.put(order)

    def lose(self, why: str | None = "it was killed") -> None:
        """Be gone, as a process after SIGKILL.

        Args:
            why: What the job master is told; None: nothing, since it was the one to hang up.
        """
        with self._changed:
            already, self.lost = self.lost or self.left, True
            self._changed.notify_all()
        self._orders.put(None)
        if self._slot is not None:
            self._slot.stop_queries()
        if not already and why is not None and self._listener is not None:
            self._listener.slot_lost(self.index, why)

    def end(self, timeout: float) -> None:
        """Let go of all that the slot has opened; the job is over.

        Args:
            timeout: How many seconds to wait for user code that does not return.
        """
        self._job_over.set()
        self.lose(None)
        self._thread.join(timeout)

    def run_task(
        self, task: m.OpenTask, frames: Frames, send: Callable[[Envelope], None], cancelled: Callable[[], bool]
    ) -> None:
        """Run a task of an epoch, in the thread that calls.

        Raises:
            SlotLostError: The slot is gone.
            SlotProtocolError: It failed; the job master has been told why.
        """
        with self._changed:
            while not self._changed.wait_for(lambda: self.lost or self._epoch >= task.epoch, _CANCEL_SECONDS):
                if cancelled():
                    raise SlotProtocolError(f"epoch {task.epoch} was cut off before it had begun in slot {self.index}")
        try:
            if not self.lost and self._slot is not None:
                self._slot.run_task(task, frames, send)
        except BaseException as error:
            raise SlotProtocolError(f"slot {self.index} failed: {self._failed(error)}") from error
        if self.lost:
            raise SlotLostError(f"slot {self.index} went away in the middle of a task", self.index)

    def _failed(self, error: BaseException) -> str:
        if self._slot is None:
            failure = describe_failure(error, self.index, self._job.show_records)
        else:
            failure = self._slot.describe(error)
        self.say(failure)
        return failure.summary

    def _run(self) -> None:
        while (order := self._orders.get()) is not None and not self.lost:
            try:
                if not self._obeys(self.index, order) or self.lost:
                    continue
                self._obey(order)
            except BaseException as error:
                if not isinstance(order, m.Shutdown) or self._opened:  # else some operators could not be opened
                    self._failed(error)
            if isinstance(order, m.Shutdown):
                self.left = True
                return
        self._job_over.wait()  # what a killed process leaves behind stays until then, too
        try:
            self._close(job_over=True)
        except BaseException as error:
            log.debug("slot %d, which was lost, could not be closed: %r", self.index, error)

    def _obey(self, order: m.ToSlot) -> None:
        if isinstance(order, m.OpenJob):
            self._open(order)
        elif isinstance(order, m.Shutdown):
            self._close(order.job_over)
        elif self._slot is not None:
            carry_out(self._slot, order)
            if isinstance(order, m.BeginEpoch):
                with self._changed:
                    self._epoch = order.epoch
                    self._changed.notify_all()

    def _open(self, order: m.OpenJob) -> None:
        if order.restore is not None:
            self._job.restore = RestoredCheckpoint.ordered(order.restore, self._job.snapshots.files)
        self._slot = FlinkOrderedSlot(
            self._job, self.index, self.registration.attempt, SystemClock(), self.say, self._program
        )
        self._slot.open()
        self._opened = True
        self.say(m.Ready(self._name, 0, "", self._slot.listen_for_queries(None, order.proxy_ports)))
        if self.lost:
            self._slot.stop_queries()

    def _close(self, job_over: bool) -> None:
        if self._slot is not None:
            self._slot.finish_uploads()
            self._slot.close(job_over)
