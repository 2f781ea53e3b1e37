"""What the owner of a job asks the log for: to commit, to use checkpoint ids, to end the job."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

import msgspec

from rekindle.base.clock import Clock
from rekindle.exceptions import CheckpointError, JobFencedError
from rekindle.ha.entry import CheckpointReference, EntryKind, LogEntry
from rekindle.ha.log import JobLog

log = logging.getLogger(__name__)

IDS_AHEAD = 10
"""How many checkpoint ids are reserved at a time: an entry is written every so many checkpoints that fail in a row."""

ENTRIES_KEPT = 5
"""How many old entries stay, for people to look at."""


class JobOwnership:
    """Let the driver of one job act only while it is the owner. Without a log it always is.

    Args:
        clock: Tells the time that entries carry.
        log: The log; None: high availability is off.
        claim: The entry with which this driver took over.
    """

    def __init__(self, clock: Clock, log: JobLog | None = None, claim: LogEntry | None = None) -> None:
        self._clock = clock
        self._log = log
        self._last = claim
        self._lock = threading.Lock()
        self._fenced: JobFencedError | None = None

    @property
    def shared(self) -> bool:
        """Return whether another driver could take over at all."""
        return self._log is not None

    @property
    def fenced(self) -> bool:
        """Return whether another driver is known to have taken over: then nothing may be deleted."""
        return self._fenced is not None

    @property
    def ids_to(self) -> int | None:
        """Return the highest checkpoint id that this driver may use; None: any."""
        return None if self._last is None else self._last.ids_to

    def reserve(self, checkpoint_id: int) -> None:
        """Make sure that no other driver of this job ever uses a checkpoint id.

        Raises:
            JobFencedError: If another driver has taken over.
        """
        with self._lock:
            if self._last is not None and checkpoint_id > self._last.ids_to:
                self._append("ids", ids_to=checkpoint_id + IDS_AHEAD)

    def commit(self, checkpoints: Sequence[CheckpointReference]) -> None:
        """Note a complete checkpoint, before anybody is told of it.

        Args:
            checkpoints: All completed ones that are retained from now on, oldest first; the last is the new one.

        Raises:
            JobFencedError: If another driver has taken over.
            CheckpointError: If it could not be noted.
        """
        with self._lock:
            if self._last is not None:
                ids_to = max([self._last.ids_to, *(ref.checkpoint_id + IDS_AHEAD for ref in checkpoints)])
                self._append("checkpoint", ids_to=ids_to, checkpoints=list(checkpoints))

    def commit_output(self) -> None:
        """Note that output becomes visible without a checkpoint that could be gone back to.

        Raises:
            JobFencedError: If another driver has taken over.
        """
        with self._lock:
            if self._last is not None:
                self._append("output")

    def end(self, status: str) -> None:
        """Note that the job is over; its checkpoints may be deleted then, and the next driver begins anew.

        Raises:
            JobFencedError: If another driver has taken over.
            CheckpointError: If it could not be noted.
        """
        with self._lock:
            if self._last is not None:
                self._append("ended", keep=0, checkpoints=[], status=status)

    def check(self) -> None:
        """Look whether another driver has taken over.

        Raises:
            JobFencedError: If so.
        """
        with self._lock:
            if self._log is None or self._last is None:
                return
            self._raise_if_fenced()
            try:
                owned = self._log.owned(self._last)
            except CheckpointError as error:
                log.warning("%s. Whether another driver has taken over is looked for again soon", error)
                return
            if not owned:
                self._fenced = self._log.fenced(self._last.job_name)
                raise self._fenced

    def _append(
        self,
        kind: EntryKind,
        *,
        keep: int | None = None,
        ids_to: int | None = None,
        checkpoints: list[CheckpointReference] | None = None,
        status: str | None = None,
    ) -> None:
        assert self._log is not None
        assert self._last is not None
        self._raise_if_fenced()
        last = self._last
        entry = msgspec.structs.replace(
            last,
            number=last.number + 1,
            kind=kind,
            time=self._clock.now(),
            ids_to=last.ids_to if ids_to is None else ids_to,
            checkpoints=last.checkpoints if checkpoints is None else checkpoints,
            status=status,
        )
        try:
            self._log.append(entry, last)
        except JobFencedError as error:
            self._fenced = error
            raise
        self._last = entry
        try:
            self._log.trim(entry, ENTRIES_KEPT if keep is None else keep)
        except CheckpointError as error:
            log.warning("%s. Old entries can be deleted by hand", error)

    def _raise_if_fenced(self) -> None:
        if self._fenced is not None:
            raise self._fenced
