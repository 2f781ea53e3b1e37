"""What a job leaves behind for its history: a small record beside its checkpoints.

A record holds the documents that the REST interface would answer with, so that the same pages can be shown from it.
It is bounded as those are: the last checkpoints, failures and epochs, and a fixed number of points for the whole run.
Each version of it is a file of its own, created whole, before the one before is deleted: a reader always finds one.
"""

from __future__ import annotations

import os
import re
import socket
from typing import Any

import msgspec

from rekindle.archive.job_entry import JobEntry, KeptJob
from rekindle.base.process_identity import boot_id, start_ticks
from rekindle.checkpoint import paths
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.graph.vertex_ids import vertex_id
from rekindle.rest import checkpoints_json, epochs_json, job_json
from rekindle.rest.configuration_json import configuration_json
from rekindle.rest.job_metrics import job_metrics
from rekindle.runtime.master.running_jobs import RegisteredJob

VERSION = 1
DIRECTORY = "_history"
"""The directory of the records, in that of the checkpoints."""

_MAX_EXCEPTIONS = 100
_NAME = re.compile(r"(?P<started>\d{13,})-(?P<job>[0-9a-f]{32})-(?P<number>\d{6,})\.json")


class JobRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Hold what is known of a job.

    Attributes:
        version: The version of this format.
        entry: Who ran the job, and in which state it was.
        written: When this was written, in milliseconds.
        documents: The answers of the REST interface, by what follows the id of the job in their paths.
    """

    version: int = VERSION
    entry: JobEntry
    written: int
    documents: dict[str, Any]

    @property
    def kept(self) -> KeptJob:
        """Return the job as it is known by now: its process may be gone."""
        return KeptJob(self.entry, self.written / 1000)


class RecordName(msgspec.Struct, frozen=True, order=True):
    """Name a version of a record; they are in the order in which jobs were started, and versions written."""

    started: int
    job_id: str
    number: int

    def __str__(self) -> str:
        return f"{self.started:013d}-{self.job_id}-{self.number:06d}.json"

    @staticmethod
    def parsed(name: str) -> RecordName | None:
        """Read the name of a file; None if it is another one."""
        found = _NAME.fullmatch(name)
        return None if found is None else RecordName(int(found["started"]), found["job"], int(found["number"]))


def record_of(job: RegisteredJob) -> JobRecord:
    """Describe a job as it is now."""
    history, settings = job.history, job.settings
    entry = JobEntry(
        job_id=job.job_id,
        job_name=settings.job_name,
        program="",
        arguments=(),
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid=os.getpid(),
        start_ticks=start_ticks(os.getpid()),
        started=history.start_time,
        ended=history.end_time,
        status=history.status.name,
        restarts=history.restarts,
    )
    return JobRecord(entry=entry, written=history.now(), documents=_documents(job))


def _documents(job: RegisteredJob) -> dict[str, Any]:
    readings, overview = job.read_metrics(), job.checkpoint_statistics()
    documents: dict[str, Any] = {
        "overview": job_json.overview_entry(job),
        "": job_json.job_details(job, readings),
        "/config": job_json.job_config(job),
        "/configuration": configuration_json(job),
        "/exceptions": job_json.exceptions(job, _MAX_EXCEPTIONS),
        "/attempts": epochs_json.attempts(job),
        "/epochs": epochs_json.epochs(job),
        "/metrics": job_metrics(job),
        "/plan": {"plan": job.plan_json()},
        "/checkpoints": checkpoints_json.checkpoints(overview),
        "/checkpoints/config": checkpoints_json.checkpoint_config(job.settings),
    }
    for node in job.plan.nodes:
        documents[f"/vertices/{vertex_id(node.uid)}"] = job_json.vertex_details(job, node, readings)
    for entry in overview.history:
        path = f"/checkpoints/details/{entry.checkpoint_id}"
        documents[path] = checkpoints_json.checkpoint_details(overview, entry.checkpoint_id)
        for task in entry.tasks:
            vertex = vertex_id(task.uid)
            document = checkpoints_json.checkpoint_subtasks(overview, entry.checkpoint_id, vertex)
            documents[f"{path}/subtasks/{vertex}"] = document
    return documents


def record_names(files: CheckpointFiles) -> list[RecordName]:
    """Return the versions of all records, the oldest first."""
    names = (RecordName.parsed(name) for name in files.list(DIRECTORY))
    return sorted(name for name in names if name is not None)


def write_record(files: CheckpointFiles, name: RecordName, record: JobRecord) -> None:
    """Write a version of a record.

    Raises:
        CheckpointError: It cannot be written.
    """
    files.create(paths.join(DIRECTORY, str(name)), msgspec.json.encode(_writable(msgspec.to_builtins(record))))


def read_record(files: CheckpointFiles, name: RecordName) -> JobRecord | None:
    """Read a version of a record; None if it is of a version that another Rekindle wrote, damaged, or none at all.

    Raises:
        CheckpointError: It is not there any more, or cannot be read.
    """
    try:
        record = msgspec.json.decode(files.read(paths.join(DIRECTORY, str(name))), type=JobRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    whole = all(isinstance(record.documents.get(path), dict) for path in ("overview", "", "/metrics"))
    return record if record.version == VERSION and record.entry.job_id == name.job_id and whole else None


def delete_record(files: CheckpointFiles, name: RecordName) -> None:
    """Delete a version of a record.

    Raises:
        CheckpointError: It cannot be deleted.
    """
    files.delete(paths.join(DIRECTORY, str(name)))


def _writable(value: Any) -> Any:
    """Escape what UTF-8 cannot write, such as half of a character in a user's error."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_writable(key): _writable(each) for key, each in value.items()}
    return [_writable(each) for each in value] if isinstance(value, list | tuple) else value
