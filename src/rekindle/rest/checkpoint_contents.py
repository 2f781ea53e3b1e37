"""What a checkpoint holds, as ``rekindle state`` tells: read by a process of its own.

Reading takes time and memory that belong to the job, and what reads snapshots stands above this package. So the command
is run, one at a time, and what it says of the last few checkpoints is kept: they do not change.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import OrderedDict
from typing import Any

import msgspec

from rekindle.rest.messages import RequestError

_SECONDS = 25.0
_MAX_BYTES = 4 << 20
_KEPT = 4

_one_at_a_time = threading.Lock()
_known: OrderedDict[str, Any] = OrderedDict()


def checkpoint_contents(location: str) -> Any:
    """Describe the checkpoint at a location.

    Raises:
        RequestError: It cannot be read.
    """
    with _one_at_a_time:
        if location not in _known:
            _known[location] = _read(location)
            while len(_known) > _KEPT:
                _known.popitem(last=False)
        return _known[location]


def _read(location: str) -> Any:
    command = [sys.executable, "-m", "rekindle.cli", "state", "--json", "--", location]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise RequestError(
            503, f"Reading {location} took longer than {_SECONDS:.0f} s. Use: rekindle state {location}"
        ) from None
    if len(ended.stdout) > _MAX_BYTES:
        raise RequestError(503, f"There is too much to tell about {location}. Use: rekindle state {location}")
    try:
        told = msgspec.json.decode(ended.stdout)
    except msgspec.MsgspecError:
        raise RequestError(500, f"{location} cannot be read. Use: rekindle state {location}") from None
    if ended.returncode != 0:
        raise RequestError(404, str(told.get("error", f"{location} cannot be read.")))
    return told
