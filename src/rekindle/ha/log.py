"""The log of one job: numbered entries, of which the highest counts.

<storageDir>/<cluster id>/<job name>/entry-<number>

What makes it a fence is that a number is given out once: an entry is created only where there is none. These rules
keep it so although old entries are deleted:

- Numbers rise. The highest entry is never deleted, not even when the job is over.
- Entries are deleted oldest first, and only by a driver that has just appended one, below its own.
- An entry counts only once its writer has looked again: if there is a higher one, somebody had taken over, and the
  writer has merely filled a number that was deleted. Looking twice tells for sure: where the entry that it follows is
  still there afterwards, nothing after that one had been deleted while it looked for higher ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import CheckpointError, CheckpointStorageError, JobFencedError
from rekindle.ha.entry import LogEntry, decode_entry, encode_entry
from rekindle.storage.remote_files import OutcomeUnknownError

_ENTRY = re.compile(r"entry-(\d{12,})")
_TRIES = 1_000


class JobLog:
    """Read and append to the log of one job.

    Args:
        files: The storage.
        directory: The directory of the log in it.
    """

    def __init__(self, files: CheckpointFiles, directory: str) -> None:
        self._files = files
        self._directory = directory

    @property
    def location(self) -> str:
        """Return the full name of the directory."""
        return self._files.describe(self._directory)

    def latest(self) -> LogEntry | None:
        """Read the highest entry; None where there is none."""
        for _ in range(_TRIES):
            numbers = self._numbers()
            if not numbers:
                return None
            entry = self._read(numbers[-1])
            if entry is not None:
                return entry
        raise CheckpointStorageError(f"{self.location} changes faster than it can be read. Check who writes there")

    def claim(self, make: Callable[[LogEntry | None], LogEntry]) -> tuple[LogEntry, LogEntry | None]:
        """Append an entry that makes its writer the owner, whoever was it before.

        Args:
            make: Makes the entry that follows the highest one.

        Returns:
            The entry, and the one before it.

        Raises:
            ConfigurationError: The storage cannot keep two drivers apart.
        """
        self._files.check_fence(self._directory)
        for _ in range(_TRIES):
            before = self.latest()
            entry = make(before)
            if self._create(entry) and not self._lost(entry, before):
                return entry, before
        raise CheckpointStorageError(f"{self.location} changes faster than it can be claimed. Check who writes there")

    def append(self, entry: LogEntry, last: LogEntry) -> None:
        """Append an entry right after the writer's last one.

        Raises:
            JobFencedError: If somebody else has taken over. Nothing counts then that this driver does.
            CheckpointStorageError: If the storage fails, and the entry is certainly not in the log.
        """
        if not self._create(entry):
            raise self.fenced(entry.job_name)
        try:
            lost = self._lost(entry, last)
        except CheckpointError as error:
            raise self._unknown(entry, error) from error
        if lost:
            raise self.fenced(entry.job_name)

    def owned(self, last: LogEntry) -> bool:
        """Return whether the writer of the last entry is still the owner."""
        numbers = self._numbers()
        return bool(numbers) and numbers[-1] == last.number and self._read(last.number) == last

    def fenced(self, job_name: str) -> JobFencedError:
        """Return who has taken over."""
        try:
            latest = self.latest()
        except Exception as error:
            who = f"someone else (the log cannot be read: {error})"
        else:
            who = "nobody: the log was deleted" if latest is None else latest.describe()
        return JobFencedError(
            f"job {job_name!r} was taken over by {who}; see {self.location}. This driver stops. It commits nothing and "
            "deletes nothing from now on"
        )

    def trim(self, below: LogEntry, keep: int) -> None:
        """Delete old entries, oldest first; the caller has just appended ``below``."""
        numbers = [number for number in self._numbers() if number < below.number]
        for number in numbers[: max(0, len(numbers) - keep)]:
            self._files.delete(self._path(number))

    def _lost(self, entry: LogEntry, before: LogEntry | None) -> bool:
        """Return whether there was a higher entry than the one just created after ``before``."""
        return self._higher(entry.number) or (before is not None and self._read(before.number) != before)

    def _higher(self, number: int) -> bool:
        return any(other > number for other in self._numbers())

    def _create(self, entry: LogEntry) -> bool:
        """Create an entry; tell whether its number was free."""
        data = encode_entry(entry)
        try:
            self._files.create(self._path(entry.number), data)
        except CheckpointStorageError as error:
            # It may be there all the same: the storage may have failed after the fact.
            try:
                there = self._read(entry.number)
            except CheckpointStorageError as second:
                raise self._unknown(entry, second) from error
            if there is None and isinstance(error.__cause__, OutcomeUnknownError):
                raise self._unknown(entry, error) from error  # it may appear yet
            if there is None and not isinstance(error.__cause__, FileExistsError):
                raise
            return there == entry
        return True

    def _unknown(self, entry: LogEntry, error: CheckpointError) -> JobFencedError:
        return JobFencedError(
            f"job {entry.job_name!r} cannot tell whether entry {entry.number} of {self.location} was written: {error}. "
            "This driver stops, and deletes nothing: start the program again when the storage can be reached"
        )

    def _read(self, number: int) -> LogEntry | None:
        path = self._path(number)
        try:
            data = self._files.read(path)
        except CheckpointStorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            raise
        return decode_entry(data, self._files.describe(path))

    def _numbers(self) -> list[int]:
        """List the numbers of all entries, lowest first."""
        matches = (_ENTRY.fullmatch(name) for name in self._files.list(self._directory))
        return sorted(int(match.group(1)) for match in matches if match is not None)

    def _path(self, number: int) -> str:
        return paths.join(self._directory, f"entry-{number:012d}")
