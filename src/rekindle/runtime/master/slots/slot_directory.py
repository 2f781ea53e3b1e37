"""Where the slots of an attempt are reached. Spark's Python workers import no more than this of the job master."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SlotAddress:
    """Say where the tasks of a slot are served.

    Attributes:
        host: The machine, by its own name.
        unix_name: The name by which it is reached on that machine; empty: there is none.
        address: Its address for other machines.
        port: The port there.
    """

    host: str
    unix_name: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class SlotDirectory:
    """Say where all slots of an attempt are, and with which secret they are spoken to."""

    attempt: int
    secret: bytes
    slots: tuple[SlotAddress, ...]
