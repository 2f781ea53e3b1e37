"""The files of the archive: one for each job and driver, written whole or not at all, the oldest removed in time."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rekindle.archive.job_entry import VERSION, JobEntry, KeptJob
from rekindle.base.private_directory import durable_directory


def archive_directory() -> Path:
    """Return the directory of this user's files, and make it if it is not there.

    Raises:
        ConfigurationError: It is not a directory, or belongs to another user.
        OSError: It cannot be made.
    """
    return durable_directory("jobs", "jobs are not recorded there")


def log_directory() -> Path:
    """Return the directory for the logs of detached programs, and make it if it is not there.

    Raises:
        ConfigurationError: It belongs to somebody else.
        OSError: It cannot be made.
    """
    return durable_directory("logs", "there is no place for the log, unless --log names a file")


def write_entry(directory: Path, entry: JobEntry) -> Path:
    """Write what is known of a job."""
    path = directory / entry.file_name
    descriptor, temporary = tempfile.mkstemp(prefix=".job-", dir=directory)  # with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(_writable(msgspec.to_builtins(entry))))
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return path


def _writable(value: Any) -> Any:
    """Escape what UTF-8 cannot write, such as arguments of a program that are no text."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {key: _writable(each) for key, each in value.items()}
    return [_writable(each) for each in value] if isinstance(value, list | tuple) else value


def kept_jobs() -> list[KeptJob]:
    """Return all jobs that are known, the oldest first; of several drivers of a job, what the last one wrote."""
    jobs = sorted(_all(archive_directory()), key=lambda job: (job.started, job.job_id))
    return list({job.job_id: job for job in jobs}.values())


def forget_oldest(directory: Path, kept: int) -> None:
    """Forget the oldest jobs that have ended, and their logs, beyond a number of them."""
    ended = sorted((job for job in _all(directory) if job.has_ended), key=lambda job: job.started)
    for job in ended[: max(0, len(ended) - kept)]:
        with suppress(OSError):
            (directory / job.entry.file_name).unlink()
        _forget_log(job.entry.log)


def _forget_log(log: str | None) -> None:
    """Delete a log and what it was rotated to, unless the user said where it goes."""
    if log is None or Path(log).parent != log_directory():
        return
    for path in Path(log).parent.glob(f"{_literally(Path(log).name)}*"):
        with suppress(OSError):
            path.unlink()


def _literally(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _all(directory: Path) -> list[KeptJob]:
    return [job for path in directory.glob("*.json") if (job := _read(path)) is not None]


def _read(path: Path) -> KeptJob | None:
    """Read a file; None if it is not one of ours, or of a version that another Rekindle wrote."""
    try:
        found = path.lstat()
        if found.st_uid != os.getuid():
            return None
        entry = msgspec.json.decode(path.read_bytes(), type=JobEntry)
    except (OSError, msgspec.MsgspecError):
        return None
    return KeptJob(entry, found.st_mtime) if entry.version == VERSION and path.name == entry.file_name else None
