"""Names of everything in a checkpoint directory: the one place that formats and parses them.

<checkpoint dir>/<job id>/chk-<n>/_metadata            the commit point: a checkpoint without it does not exist
<checkpoint dir>/<job id>/chk-<n>/slot-<i>-<attempt>   the state of slot i
"""

from __future__ import annotations

import re

METADATA = "_metadata"
_CHECKPOINT = re.compile(r"^chk-(\d+)$")


def join(*parts: str) -> str:
    """Join path parts with single slashes."""
    head, *rest = [part for part in parts if part]
    return "/".join([head.rstrip("/"), *(part.strip("/") for part in rest)])


def checkpoint_directory(job_id: str, checkpoint_id: int) -> str:
    """Name the directory of a checkpoint, relative to the checkpoint root."""
    return join(job_id, f"chk-{checkpoint_id}")


def checkpoint_id_of(directory: str) -> int | None:
    """Read the checkpoint id from a directory's name; None where it is no checkpoint directory."""
    match = _CHECKPOINT.match(directory.rstrip("/").rsplit("/", 1)[-1])
    return int(match.group(1)) if match else None


def slot_file(slot: int, attempt: int) -> str:
    """Name the state file of a slot; the attempt keeps a late writer of an old attempt out of the way."""
    return f"slot-{slot}-{attempt}"
