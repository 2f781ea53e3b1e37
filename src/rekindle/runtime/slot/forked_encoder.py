"""Encodes state in a forked copy of the slot.

The child holds the state exactly as it was at the barrier, whatever the parent changes meanwhile, encodes it on another
core and ends. The parent only stops for the fork: milliseconds for gigabytes.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import stat
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import msgspec

from rekindle.exceptions import CheckpointError, kind_named
from rekindle.runtime.slot.failure import describe_failure, explain, is_curable
from rekindle.runtime.wire.messages import SlotFailed

_LIBC = ctypes.CDLL(None) if sys.platform.startswith("linux") else None
_PR_SET_PDEATHSIG = 1
_NICENESS = 10  # a tenth of the time of a core that it shares with a slot: records go first


class ForkedEncoder:
    """Run an encoding in a child that writes into ``buffer``."""

    def __init__(self, pid: int, buffer: BinaryIO) -> None:
        self._pid = pid
        self._buffer = buffer
        self._over = False

    @staticmethod
    def start(buffer: BinaryIO, slot: int, encode: Callable[[], None], awaited: bool = False) -> ForkedEncoder | None:
        """Fork; None where there is no memory for a copy of the process.

        Args:
            buffer: Where the child reports a failure, and writes what it encodes.
            slot: The slot.
            encode: Encodes.
            awaited: Whether records may have to wait for it. If not, they go first where no core is idle.
        """
        try:
            with warnings.catch_warnings():
                # The child does nothing but pickle and write to a descriptor: it touches no lock of another thread.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
        except OSError:
            return None
        if child:
            return ForkedEncoder(child, buffer)
        status = 1
        try:
            _leave_the_slot()
            if not awaited:
                os.nice(_NICENESS)
            encode()
            status = 0
        except BaseException as error:
            with suppress(BaseException):
                os.ftruncate(buffer.fileno(), 0)
                os.pwrite(buffer.fileno(), msgspec.msgpack.encode(describe_failure(error, slot)), 0)
        finally:
            os._exit(status)

    def wait(self) -> None:
        """Wait for the end; raise what went wrong in the child."""
        _, status = os.waitpid(self._pid, 0)
        self._over = True
        if os.WIFSIGNALED(status):
            raise CheckpointError(f"the process that wrote the snapshot was killed by signal {os.WTERMSIG(status)}")
        if os.waitstatus_to_exitcode(status) != 0:
            self._buffer.seek(0)
            failure = msgspec.msgpack.decode(self._buffer.read(), type=SlotFailed)
            raise (CheckpointError if is_curable(failure) else kind_named(failure.kind))(explain(failure))

    def kill(self) -> None:
        """Give up; :meth:`wait` raises."""
        with suppress(ProcessLookupError):
            if not self._over:
                os.kill(self._pid, signal.SIGKILL)


def _leave_the_slot() -> None:
    """Make a forked child independent: it holds no connection of the slot, and does not outlive it."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    gc.freeze()  # a collection would look at all that the slot has, and copy the pages it is in
    for name in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.close(int(name))
