"""Crash records: the record that made a user's function raise, with all that is needed to call the function again.

<checkpoint dir>/<job id>/crashes/crash-<time>-<operator>-<failure>-<state>

A file is ``RKCR``, a version, the length of the summary, a CRC-32 of all that follows, the summary, and the contents.
The summary is plain data: listing crash records runs no code. Contents hold pickles of the user's record and function:
who opens them runs code.
"""

from __future__ import annotations

import logging
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

import msgspec

from rekindle.base.file_owners import distrust, is_trusted
from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import CheckpointCorruptError, CheckpointError, CheckpointNotFoundError, CrashRecordError
from rekindle.state.blocks import KeyGroupBlock
from rekindle.state.operator_state.stored import StoredList

log = logging.getLogger(__name__)

MAGIC = b"RKCR"
VERSION = 1

_HEADER = struct.Struct(">4sHII")
_NAME = re.compile(r"^crash-(\d{13,})-([0-9a-f]{8})-([0-9a-f]{16})-(before|after|none)$")


class StateTaken(StrEnum):
    """Say as of when a crash record has the state of the key."""

    BEFORE = "before"
    """From before the function was called: calling it again leads to the same."""

    AFTER = "after"
    """From after the function raised: with what it changed until then."""

    NONE = "none"
    """There is none: the operator has no keyed state, or the record has no key."""


class StateCopies(StrEnum):
    """Say when the state of a key is copied before a function is called with a record of it."""

    AFTER_FAILURE = "after-failure"
    ALWAYS = "always"
    NEVER = "never"


class CrashKind(StrEnum):
    """Say what a function was called for."""

    RECORD = "record"
    TIMER = "timer"
    KEY = "key"  # a key selector was called


@dataclass(frozen=True, slots=True)
class CrashRecordSettings:
    """Say where crash records go, and how many and how large they may be.

    Attributes:
        files: The checkpoint storage.
        max_number: How many of a job are kept; older ones are deleted.
        max_bytes: How large one may be. What does not fit is left out of it.
        copies: When state is copied beforehand.
    """

    files: CheckpointFiles
    max_number: int = 10
    max_bytes: int = 4 << 20
    copies: StateCopies = StateCopies.AFTER_FAILURE


class CrashSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Describe a crash, in plain text and numbers.

    Attributes:
        time: When it was, in milliseconds.
        job_id: The job.
        operator: The name of the operator.
        uid: Its uid.
        transformation: What kind of operator it is.
        subtask: The subtask.
        parallelism: How many subtasks there were.
        max_parallelism: The number of key groups.
        attempt: How often the job had been restarted.
        kind: What the function was called for.
        side: Which input the record came from: 0 for the first.
        key: The key, shortened; None: there was none.
        record: The record, shortened, or the timer.
        timestamp: That of the record or the timer.
        event_time: Whether the timer was one in event time.
        watermark: The watermark of the operator.
        processing_time: The time on the clock, in milliseconds.
        restored: The checkpoint that the attempt was restored from; None: it began anew.
        checkpoint_id: The last completed checkpoint that the attempt knew; None: there was none.
        checkpoint: Where it is.
        exception: The class of the exception, with its module.
        message: What it said.
        lines: Where it was raised, as file and line, from the outside in.
        traceback: The user's part of the traceback.
        identity: The same for the same failure after a restart.
        state: As of when there is state.
        states: The names of the states that the key had.
        left_out: What is missing, and why.
        python: The version of Python.
        sys_path: Where modules were found.
    """

    time: int
    job_id: str
    operator: str
    uid: str
    transformation: str
    subtask: int
    parallelism: int
    max_parallelism: int
    attempt: int
    kind: CrashKind
    side: int = 0
    key: str | None = None
    record: str = ""
    timestamp: int | None = None
    event_time: bool = True
    watermark: int
    processing_time: int
    restored: int | None = None
    checkpoint_id: int | None = None
    checkpoint: str | None = None
    exception: str
    message: str
    lines: tuple[str, ...] = ()
    traceback: str = ""
    identity: str
    state: StateTaken = StateTaken.NONE
    states: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    python: str = ""
    sys_path: tuple[str, ...] = ()


class CrashContents(msgspec.Struct, frozen=True, kw_only=True):
    """Hold what the function is called with.

    Attributes:
        program: A pickle of the operator as it was deployed; empty where it was left out.
        call: A pickle of the record, its key and the timer; empty where it was left out.
        blocks: The state of the key.
        timers: Its timers, in blocks; the one that had fired stands first.
        lists: Operator state of the subtask, broadcast state included.
    """

    program: bytes = b""
    call: bytes = b""
    blocks: list[KeyGroupBlock] = []
    timers: list[KeyGroupBlock] = []
    lists: dict[str, StoredList] = {}


@dataclass(frozen=True, slots=True)
class StoredCrash:
    """A crash record in a directory.

    Attributes:
        path: Where it is, in full.
        size: How many bytes it has.
        summary: What it says; None: it cannot be read.
        problem: Why not.
    """

    path: str
    size: int
    summary: CrashSummary | None
    problem: str | None = None


def crash_name(summary: CrashSummary) -> str:
    """Name the file of a crash record."""
    return f"crash-{summary.time:013d}-{operator_digest(summary.uid)}-{summary.identity}-{summary.state}"


def operator_digest(uid: str) -> str:
    """Name an operator in the name of a file."""
    return f"{zlib.crc32(uid.encode('utf-8', 'backslashreplace')):08x}"


@dataclass(frozen=True, slots=True)
class CrashName:
    """Read the name of a crash record's file."""

    name: str
    time: int
    operator: str
    identity: str
    state: StateTaken


def crash_names(files: CheckpointFiles, job_id: str) -> list[CrashName]:
    """List the crash records of a job by their names, oldest first."""
    matches = map(_NAME.match, files.list(paths.join(job_id, paths.CRASHES)))
    found = [CrashName(m[0], int(m[1]), m[2], m[3], StateTaken(m[4])) for m in matches if m]
    return sorted(found, key=lambda name: (name.time, name.name))


def store_crash(settings: CrashRecordSettings, summary: CrashSummary, contents: CrashContents) -> str | None:
    """Write a crash record, unless the same failure has one that is as good; delete those that are too many.

    Returns:
        Its path; None: it was not written.

    Raises:
        CheckpointStorageError: The storage failed.
    """
    files, job_id = settings.files, summary.job_id
    known = crash_names(files, job_id)
    same = [name for name in known if name.identity == summary.identity]
    if same and (summary.state is not StateTaken.BEFORE or any(name.state is StateTaken.BEFORE for name in same)):
        return None
    path = paths.join(job_id, paths.CRASHES, crash_name(summary))
    files.create(path, encode_crash(summary, contents))
    others = [name for name in known if name not in same]
    for name in [*same, *others[: max(0, len(others) + 1 - settings.max_number)]]:
        files.delete(paths.join(job_id, paths.CRASHES, name.name))
    return files.describe(path)


def encode_crash(summary: CrashSummary, contents: CrashContents) -> bytes:
    """Encode a crash record."""
    head, body = msgspec.msgpack.encode(summary), msgspec.msgpack.encode(contents)
    return _HEADER.pack(MAGIC, VERSION, len(head), zlib.crc32(body, zlib.crc32(head))) + head + body


def decode_crash(data: bytes, name: str) -> tuple[CrashSummary, CrashContents]:
    """Decode a crash record. That runs no code yet: pickles stay bytes.

    Raises:
        CheckpointCorruptError: It is damaged, or of another version.
    """
    if len(data) < _HEADER.size:
        raise _corrupt(name, "it is too short")
    magic, version, length, crc = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise _corrupt(name, "it does not begin as a crash record does")
    if version != VERSION:
        raise _corrupt(name, f"it has format version {version}, and this release reads version {VERSION}")
    rest = memoryview(data)[_HEADER.size :]
    if zlib.crc32(rest) != crc or length > len(rest):
        raise _corrupt(name, "its checksum is wrong")
    try:
        summary = msgspec.msgpack.decode(rest[:length], type=CrashSummary)
        return summary, msgspec.msgpack.decode(rest[length:], type=CrashContents)
    except msgspec.MsgspecError as error:
        raise _corrupt(name, str(error)) from error


def read_crash(path: str) -> tuple[CrashSummary, CrashContents]:
    """Read a crash record of this machine.

    Raises:
        CrashRecordError: The path is not one of this machine, or not that of a file that can be read.
        CheckpointNotFoundError: There is no such file.
        CheckpointCorruptError: It is damaged.
    """
    if not is_local(path):
        raise CrashRecordError(
            f"{path} is not on this machine. Opening a crash record runs code that it holds: if you trust those who "
            "can write there, copy it here first"
        )
    local = local_path(path)
    try:
        with open(local, "rb", opener=_open_without_waiting) as file:
            found = os.fstat(file.fileno())
            if not is_trusted(found.st_uid):
                raise CrashRecordError(distrust(local, found.st_uid))
            if not stat.S_ISREG(found.st_mode):
                raise CrashRecordError(
                    f"cannot read {local}: it is not a file; give the path of one, as rekindle crashes lists them"
                )
            return decode_crash(file.read(), local)
    except FileNotFoundError as error:
        raise CheckpointNotFoundError(f"there is no crash record {local}") from error
    except OSError as error:
        hint = "; give the path of one file, as rekindle crashes lists them" if os.path.isdir(local) else ""
        raise CrashRecordError(f"cannot read {local}: {error.strerror or error}{hint}") from error


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe, which anybody could have put there, is not waited for."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def crash_records(directory: str) -> list[StoredCrash]:
    """List the crash records of a job, newest first. Runs no code of theirs.

    Args:
        directory: The job's directory of checkpoints, or its ``crashes`` directory, or a directory of such jobs; a path
            or a URI.
    """
    files = checkpoint_files(paths.directory(directory))
    found = [crash for job in _jobs(files) for crash in _stored(files, job)]
    return sorted(found, key=lambda crash: (-crash.summary.time if crash.summary else 0, crash.path))


def _jobs(files: CheckpointFiles) -> Iterator[str]:
    """Yield the directories that have crash records in them, relative to the root."""
    names = files.list("")
    if any(map(_NAME.match, names)):
        yield ""
    elif paths.CRASHES in names:
        yield paths.CRASHES
    else:
        for name in names:
            with suppress(CheckpointError):
                if paths.CRASHES in files.list(name):
                    yield paths.join(name, paths.CRASHES)


def _stored(files: CheckpointFiles, directory: str) -> Iterator[StoredCrash]:
    for name in files.list(directory):
        if not _NAME.match(name):
            continue
        path = paths.join(directory, name) if directory else name
        try:
            data = files.read(path)
            yield StoredCrash(files.describe(path), len(data), decode_crash(data, files.describe(path))[0])
        except (CheckpointError, OSError) as error:
            yield StoredCrash(files.describe(path), 0, None, str(error))


def _corrupt(name: str, why: str) -> CheckpointCorruptError:
    return CheckpointCorruptError(f"crash record {name} cannot be read: {why}")
