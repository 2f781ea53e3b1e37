"""The slots of one job, as the job master sees them: it has them launched, hears them, and tells them what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from rekindle.runtime.wire import messages as m


@dataclass(frozen=True, slots=True)
class SlotPoolOptions:
    """Say how a job master keeps in touch with its slots.

    Attributes:
        secret: What slots and their callers prove that they belong together with.
        port: The port that slots call; 0: any.
        heartbeat_ms: The time between two heartbeats.
        heartbeat_timeout_ms: How long a slot may be silent before it counts as lost.
        orphan_timeout_ms: How long the job master may be silent before a slot ends itself.
    """

    secret: bytes
    port: int
    heartbeat_ms: int
    heartbeat_timeout_ms: int
    orphan_timeout_ms: int


class SlotListener(Protocol):
    """Hear from the slots of the current attempt, from any thread."""

    def slot_said(self, slot: int, message: m.ToMaster) -> None:
        """Take a message."""

    def slot_lost(self, slot: int, why: str) -> None:
        """Learn that a slot is gone."""


class SlotPool(Protocol):
    """Launch the slots of each attempt, and carry messages between them and the job master.

    Slots of an attempt may be launched before it begins; they are heard when it does. Once a later attempt has begun,
    nothing is heard of those of an earlier one.
    """

    def launch(self, attempt: int, job: bytes, slots: int) -> None:
        """Start all slots of an attempt; return when all have been started.

        Args:
            attempt: The attempt, which need not have begun.
            job: A pickled ``SlotJob``.
            slots: How many.

        Raises:
            RekindleError: One of them could not be started.
        """

    def cancel_launch(self, attempt: int) -> None:
        """Start no more slots of an attempt; nothing happens if all have been started. Those that run stay."""

    def begin_attempt(self, attempt: int, listener: SlotListener) -> None:
        """Hear slots of this attempt from now on, and of no other; those that are there already first."""

    def registered(self) -> Mapping[int, m.Register]:
        """Return the slots of the current attempt that are there, with what they said of themselves."""

    def broadcast(self, message: m.ToSlot) -> None:
        """Send a message to every slot of the current attempt."""

    def send(self, slot: int, message: m.ToSlot) -> None:
        """Send a message to one slot of the current attempt; nothing happens if it is gone."""

    def hang_up(self) -> None:
        """Fence off the current attempt: none of its slots is heard any more, and those still there are ended."""

    def close(self) -> None:
        """End all slots of the job."""
