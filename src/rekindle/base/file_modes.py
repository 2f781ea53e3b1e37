"""The permissions of files that hold state, or what users wrote: for their owner, and whom the umask lets write.

The usual umask, 022, keeps others from writing and lets them read. Nobody chose that for state, so it means 0600 here.
A umask that lets the group write, 002 or 007, is chosen where several users work on the same files, as on a cluster
whose executors run as another user than the driver: then the group gets what its members need.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress

_GROUP, _OTHERS = 0o070, 0o007
_WRITING = 0o022
_asking = threading.Lock()


def file_mode() -> int:
    """Return the permissions of a file."""
    return _let_in(_umask()) & 0o666


def directory_mode() -> int:
    """Return the permissions of a directory."""
    return _let_in(_umask())


def _let_in(umask: int) -> int:
    mode = 0o700
    for who in (_GROUP, _OTHERS):
        if not umask & who & _WRITING:
            mode |= who & ~umask
    return mode


def _umask() -> int:
    with suppress(OSError), open("/proc/thread-self/status", "rb") as status:
        for line in status:
            if line.startswith(b"Umask:"):
                return int(line.split()[1], 8)
    with _asking:  # it can only be read by changing it: for a moment, other threads write more privately
        umask = os.umask(0o077)
        os.umask(umask)
        return umask
