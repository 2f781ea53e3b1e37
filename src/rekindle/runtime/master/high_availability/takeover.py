"""How a driver becomes the owner of a job: as its first, or in place of one that is gone, or thought to be.

The claim comes before anything of the other driver is read for good: from then on nothing is added to it. Before the
claim it is only looked at, so that a program that does not fit takes the job from nobody.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rekindle.base.clock import Clock
from rekindle.checkpoint import paths
from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.checkpoint.metadata import CheckpointMetadata, decode_metadata
from rekindle.checkpoint.restoring import FALLBACK_KEY, WRITTEN_AGAIN
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.exceptions import (
    CheckpointCorruptError,
    CheckpointStorageError,
    ConfigurationError,
    StateRestoreError,
)
from rekindle.ha.entry import CheckpointReference, LogEntry, Owner
from rekindle.ha.log import JobLog
from rekindle.ha.ownership import IDS_AHEAD, JobOwnership
from rekindle.runtime.master.restarts.recovery import as_restored
from rekindle.runtime.master.settings.job_settings import JobSettings

log = logging.getLogger(__name__)

_LOOKS = 10
_running: set[str] = set()
_running_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Takeover:
    """Say what a driver goes on with.

    Attributes:
        settings: The job's, with the job id that it has had from the beginning.
        ownership: Lets this driver act while it is the owner.
        completed: The completed checkpoints that it takes over, oldest first.
        first_id: The first checkpoint id that no other driver can have used.
        whole: Whether all checkpoints were taken over that the log names, so that whatever else there is can go.
        before: The last entry of the driver before; None for the first one, and when the job was over.
        location: Where the log is; None without high availability.
    """

    settings: JobSettings
    ownership: JobOwnership
    completed: tuple[CompletedCheckpoint, ...] = ()
    first_id: int = 1
    whole: bool = True
    before: LogEntry | None = None
    location: str | None = field(default=None)

    def begin(self) -> None:
        """Let no other job of this process take over this one."""
        if self.location is not None:
            with _running_lock:
                _running.add(self.location)

    def end(self) -> None:
        """Forget the job."""
        if self.location is not None:
            with _running_lock:
                _running.discard(self.location)


def take_over(settings: JobSettings, clock: Clock, fits: Callable[[CheckpointMetadata], object]) -> Takeover:
    """Make this driver the owner of a job.

    Args:
        settings: The job's.
        clock: Tells the time.
        fits: Raises if the program does not fit a checkpoint.

    Raises:
        ConfigurationError: If a job of this name runs in this process.
        StateRestoreError: If the program does not fit the last checkpoint.
        CheckpointError: If the log, or the last checkpoint, cannot be read.
    """
    if settings.high_availability is None:
        return Takeover(settings, JobOwnership(clock))
    job_log = JobLog(settings.high_availability.files, settings.high_availability.directory)
    if job_log.location in _running:
        raise ConfigurationError(
            f"job {settings.job_name!r} runs in this process already, and with high availability a job is known by its "
            "name: give each job a name of its own, env.execute('…'), or set high-availability.cluster-id"
        )
    _check_fits(job_log, fits)
    owner = Owner(uuid.uuid4().hex, socket.gethostname(), os.getpid())

    def claim(latest: LogEntry | None) -> LogEntry:
        number = 1 if latest is None else latest.number + 1
        known = latest is not None and not latest.over
        return LogEntry(
            number=number,
            kind="claim",
            owner=owner,
            claim=number,
            job_id=latest.job_id if latest is not None and known else settings.job_id,
            job_name=settings.job_name,
            time=clock.now(),
            ids_to=(latest.ids_to if latest is not None and known else 0) + IDS_AHEAD,
            checkpoints=latest.checkpoints if latest is not None and known else [],
        )

    entry, before = job_log.claim(claim)
    before = None if before is None or before.over else before
    settings = replace(settings, job_id=entry.job_id, driver_number=entry.number)
    completed = _completed(entry.checkpoints, settings, job_log)
    return Takeover(
        settings,
        JobOwnership(clock, job_log, entry),
        completed,
        first_id=entry.ids_to - IDS_AHEAD + 1,
        whole=len(completed) == len(entry.checkpoints),
        before=before,
        location=job_log.location,
    )


def references(
    completed: tuple[CompletedCheckpoint, ...], new: StoredCheckpoint, num_retained: int
) -> list[CheckpointReference]:
    """List the checkpoints that are retained once a new one is complete, oldest first."""
    own = [_reference(c.location, c.claimed) for c in completed if not c.savepoint]
    if new.metadata.savepoint:
        return [*own, _reference(new)]
    # A checkpoint may complete after the savepoint that the job stops with: sinks have committed up to that.
    after = [c for c in completed if c.savepoint and c.checkpoint_id > new.metadata.checkpoint_id]
    return [*[*own, _reference(new)][-num_retained:], *(_reference(c.location) for c in after)]


def _reference(stored: StoredCheckpoint, claimed: bool = False) -> CheckpointReference:
    assert stored.files is not None  # with high availability, checkpoints are in files
    metadata = stored.metadata
    location = stored.files.describe(stored.directory)
    return CheckpointReference(metadata.checkpoint_id, location, metadata.timestamp, metadata.savepoint, claimed)


def _check_fits(job_log: JobLog, fits: Callable[[CheckpointMetadata], object]) -> None:
    """Look at what would be taken over. Its owner may be at work on it: then it is looked at again."""
    for _ in range(_LOOKS):
        latest = job_log.latest()
        if latest is None or latest.over or not latest.checkpoints:
            return
        try:
            metadata = _open(latest.checkpoints[-1], None).metadata
        except CheckpointStorageError as error:
            if job_log.latest() == latest:
                raise _unreadable(latest.checkpoints[-1], job_log, error) from error
        except CheckpointCorruptError:
            return  # what follows depends on the settings
        else:
            fits(metadata)
            return


def _unreadable(reference: CheckpointReference, job_log: JobLog, error: Exception) -> StateRestoreError:
    return StateRestoreError(
        f"checkpoint {reference.checkpoint_id}, which {job_log.location} names as complete, cannot be read: "
        f"{error}. To start the job from scratch, delete that directory while no driver of the job runs"
    )


def _completed(
    references: list[CheckpointReference], settings: JobSettings, job_log: JobLog
) -> tuple[CompletedCheckpoint, ...]:
    """Open the checkpoints that the log names; damaged ones are left out, the last only if that is wanted."""
    opened: list[CompletedCheckpoint] = []
    for reference in references:
        last = reference is references[-1]
        try:
            stored = _open(reference, settings)
        except CheckpointCorruptError as error:
            if last and not (settings.fallback_to_earlier and opened):
                advice = f". Set {FALLBACK_KEY} to true to fall back to the previous one" if opened else ""
                raise CheckpointCorruptError(f"{error}{advice}") from error
            log.warning("%s; it is left out. %s", error, WRITTEN_AGAIN if last else "It is not the last one")
        except CheckpointStorageError as error:
            raise _unreadable(reference, job_log, error) from error
        else:
            opened.append(_as_completed(stored, settings, reference.claimed))
    return tuple(opened)


def _as_completed(stored: StoredCheckpoint, settings: JobSettings, claimed: bool) -> CompletedCheckpoint:
    if claimed:
        return as_restored(stored, claimed)
    if stored.metadata.savepoint or stored.files is not settings.checkpoint_files:
        return as_restored(stored)
    return replace(as_restored(stored), savepoint=False)


def _open(reference: CheckpointReference, settings: JobSettings | None) -> StoredCheckpoint:
    """Open a checkpoint: as one of the job's own if it is where the job's checkpoints are."""
    above, _, name = reference.location.rpartition("/")
    if settings is not None and settings.checkpoint_files is not None and not reference.savepoint:
        directory = paths.checkpoint_directory(settings.job_id, reference.checkpoint_id)
        if settings.checkpoint_files.describe(directory) == reference.location:
            return _stored(settings.checkpoint_files, directory)
    return _stored(checkpoint_files(above), name)


def _stored(files: CheckpointFiles, directory: str) -> StoredCheckpoint:
    path = paths.join(directory, paths.METADATA)
    return StoredCheckpoint(decode_metadata(files.read(path), files.describe(path)), files, directory)
