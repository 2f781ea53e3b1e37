"""Answers requests from the records that jobs have left behind: the same paths, read-only."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import rekindle
from rekindle.base.local_path import is_local
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.exceptions import CheckpointError
from rekindle.rest.checkpoint_contents import checkpoint_contents
from rekindle.rest.checkpoint_requests import checkpoint_id_of
from rekindle.rest.job_record import JobRecord, RecordName, read_record, record_names
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.rest.pages import page_routes

log = logging.getLogger(__name__)

_NOT_ADDRESSABLE = "<"  # of Flink's "<checkpoint-not-externally-addressable>"


class HistoryApi:
    """Tell of the jobs whose records are in a directory.

    Attributes:
        handlers: Method, path and handler of each kind of request.
        routes: The pages.

    Args:
        files: The directory of checkpoints.
    """

    def __init__(self, files: CheckpointFiles) -> None:
        self._files = files
        self._read: dict[RecordName, JobRecord] = {}
        self.routes = page_routes()
        self.handlers: list[tuple[str, str, Handler]] = [
            ("GET", "/healthz", lambda request: answer({"status": "ok"})),
            ("GET", "/config", self._config),
            ("GET", "/jobs", self._jobs),
            ("GET", "/jobs/overview", self._overview),
            ("GET", "/jobs/{job}", self._job),
            ("GET", "/jobs/{job}/metrics", self._metrics),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}/state", self._contents),
            ("GET", "/jobs/{job}/{rest:path}", self._document),
        ]

    def linger(self, seconds: float) -> None:
        """Wait for nobody."""

    def records(self) -> list[JobRecord]:
        """Return the last version of all records, the newest job first."""
        names = {name.job_id: name for name in record_names(self._files)}
        known, self._read = self._read, {}
        for name in sorted(names.values(), reverse=True):
            record = known.get(name) or self._record(name)
            if record is not None:
                self._read[name] = record
        return list(self._read.values())

    def _record(self, name: RecordName) -> JobRecord | None:
        try:
            record = read_record(self._files, name)
        except CheckpointError as error:  # a newer version has replaced it, or it cannot be read
            log.warning("a record of job %s is left out: %s", name.job_id, error)
            return None
        if record is None:
            log.warning("the record %s is left out: it is damaged, or of another version of Rekindle", name)
        return record

    def _find(self, request: Request) -> JobRecord:
        job_id = request.path_params["job"].lower()
        found = next((record for record in self.records() if record.entry.job_id == job_id), None)
        if found is None:
            raise RequestError(404, f"Job {job_id} not found")
        return found

    def _config(self, request: Request) -> Response:
        features = {"web-submit": False, "web-cancel": False, "web-rescale": False, "web-history": True}
        return answer({"flink-version": f"rekindle {rekindle.__version__}", "features": features})

    def _jobs(self, request: Request) -> Response:
        jobs = [{"id": record.entry.job_id, "status": record.kept.status} for record in self.records()]
        return answer({"jobs": jobs})

    def _overview(self, request: Request) -> Response:
        return answer({"jobs": [_as_known(record, record.documents["overview"]) for record in self.records()]})

    def _job(self, request: Request) -> Response:
        record = self._find(request)
        return answer(_as_known(record, record.documents[""]))

    def _metrics(self, request: Request) -> Response:
        metrics = self._find(request).documents["/metrics"]
        wanted = request.query_params.get("get")
        if wanted is None:
            return answer([{"id": name} for name in metrics])
        names = [name for name in dict.fromkeys(wanted.split(",")) if name in metrics]
        return answer([{"id": name, "value": str(metrics[name])} for name in names])

    def _contents(self, request: Request) -> Response:
        checkpoint = self._of(request, f"/checkpoints/details/{checkpoint_id_of(request)}")
        path = str((isinstance(checkpoint, dict) and checkpoint.get("external_path")) or _NOT_ADDRESSABLE)
        if path.startswith(_NOT_ADDRESSABLE) or checkpoint.get("discarded"):
            raise RequestError(404, "There are no files of this checkpoint to look into.")
        if is_local(path) and not is_local(self._files.root):  # whoever can write there may have made it up
            raise RequestError(404, f"The record is in {self._files.root}, and names files of this machine.")
        return answer(checkpoint_contents(path))

    def _document(self, request: Request) -> Response:
        return answer(self._of(request, f"/{request.path_params['rest']}"))

    def _of(self, request: Request, path: str) -> Any:
        record = self._find(request)
        if path not in record.documents:
            raise RequestError(404, f"The record of job {record.entry.job_id} does not say: {path}")
        return record.documents[path]


def _as_known(record: JobRecord, document: dict[str, Any]) -> dict[str, Any]:
    """Say how a job ended, also if its driver could not."""
    kept = record.kept
    ended = kept.ended
    return {
        **document,
        "state": kept.status,
        "end-time": -1 if ended is None else ended,
        "duration": (record.written if ended is None else ended) - record.entry.started,
        "recorded": record.written,
    }
