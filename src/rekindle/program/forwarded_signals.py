"""How ``rekindle run`` passes requests to end on to its program, so that one request counts once.

A signal to a process group reaches both: ``timeout``, a closed terminal and Ctrl-C send such signals. Python does not
tell a program by whom a signal was sent. So the command passes it on under another number, as soon as the program
listens to that, and the program takes one that it gets under both numbers, soon after each other, for one request.
"""

from __future__ import annotations

import signal
from pathlib import Path

_FIRST = signal.SIGRTMIN + 13

FORWARDED: dict[int, signal.Signals] = {
    _FIRST: signal.SIGTERM,
    _FIRST + 1: signal.SIGHUP,
    _FIRST + 2: signal.SIGINT,
}
"""What a number means to a program that listens to it."""

_NUMBERS = {meaning: number for number, meaning in FORWARDED.items()}


def forwarded_number(pid: int, meaning: signal.Signals) -> int | None:
    """Return the number under which to pass a signal on; None: the process listens to none but the signal itself.

    Args:
        pid: The process.
        meaning: The signal.
    """
    number = _NUMBERS[meaning]
    return number if _catches(pid, number) else None


def _catches(pid: int, number: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return False
    masks = [line.partition(":")[2] for line in lines if line.startswith("SigCgt:")]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)
