"""One entry of a job's log: who wrote it, and all that the next driver has to know.

    RKHA <version> <crc32 of what follows, hexadecimal>
    {…}                                                    LogEntry (JSON)

Every entry is complete in itself: the highest is all that a driver needs to go on, and older ones may go.
"""

from __future__ import annotations

import time
import zlib
from typing import Literal

import msgspec

from rekindle.exceptions import CheckpointCorruptError

_MAGIC = b"RKHA"
_VERSION = 1

EntryKind = Literal["claim", "checkpoint", "ids", "output", "ended"]
"""What an entry is there for: a driver takes over, a checkpoint is complete, more checkpoint ids are wanted, the output
of a job without checkpoints becomes visible, the job is over."""


class Owner(msgspec.Struct, frozen=True):
    """Name a driver."""

    id: str
    host: str
    pid: int

    def describe(self) -> str:
        """Name the driver, for people."""
        return f"process {self.pid} on {self.host}"


class CheckpointReference(msgspec.Struct, frozen=True):
    """Point to a completed checkpoint (or to the savepoint that a job was stopped with) by its directory.

    ``claimed``: another job took it, and this one deletes it in its time.
    """

    checkpoint_id: int
    location: str
    timestamp: int
    savepoint: bool = False
    claimed: bool = False


class LogEntry(msgspec.Struct, frozen=True):
    """Hold one entry.

    Attributes:
        number: Its place in the log.
        kind: What it is there for.
        owner: Who wrote it.
        claim: The number of the entry with which the writer took over.
        job_id: The job, over all its drivers.
        job_name: The name under which drivers find it.
        time: When it was written, in milliseconds, for people.
        ids_to: The highest checkpoint id that the writer may use; a later driver begins above it.
        checkpoints: The completed checkpoints, oldest first.
        status: How the job ended.
    """

    number: int
    kind: EntryKind
    owner: Owner
    claim: int
    job_id: str
    job_name: str
    time: int
    ids_to: int
    checkpoints: list[CheckpointReference] = []
    status: str | None = None

    @property
    def over(self) -> bool:
        """Return whether the job had come to its end."""
        return self.kind == "ended"

    def describe(self) -> str:
        """Return who wrote it and when, for people."""
        written = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.time / 1000))
        return f"{self.owner.describe()} ({written}, entry {self.number})"


def encode_entry(entry: LogEntry) -> bytes:
    """Encode an entry."""
    body = msgspec.json.encode(entry) + b"\n"
    return b"%s %d %08x\n" % (_MAGIC, _VERSION, zlib.crc32(body)) + body


def decode_entry(data: bytes, name: str) -> LogEntry:
    """Decode an entry; ``name`` is for the error message."""
    header, _, body = data.partition(b"\n")
    match header.split(b" "):
        case [magic, version, crc] if magic == _MAGIC:
            pass
        case _:
            raise _corrupt(name, "it does not begin as an entry does")
    if version != b"%d" % _VERSION:
        raise _corrupt(name, f"it has format version {version.decode(errors='replace')}, and this release reads 1")
    if b"%08x" % zlib.crc32(body) != crc:
        raise _corrupt(name, "its checksum is wrong")
    try:
        return msgspec.json.decode(body, type=LogEntry)
    except msgspec.DecodeError as error:
        raise _corrupt(name, str(error)) from error


def _corrupt(name: str, why: str) -> CheckpointCorruptError:
    return CheckpointCorruptError(
        f"entry {name} of the high-availability log cannot be read: {why}. While no driver of this job runs, the file "
        "can be deleted: the entry before it then counts, and output committed after that may be written again"
    )
