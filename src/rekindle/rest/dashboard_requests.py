"""Requests that only the dashboard makes: epochs, attempts, settings, and what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rekindle.checkpoint.statistics import CheckpointStatus
from rekindle.rest import epochs_json
from rekindle.rest.checkpoint_contents import checkpoint_contents
from rekindle.rest.checkpoint_requests import checkpoint_id_of
from rekindle.rest.configuration_json import configuration_json
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.runtime.master.running_jobs import RunningJobs


class DashboardRequests:
    """Answer what Flink's interface does not tell.

    Args:
        jobs: The jobs.
        contents: Describes the checkpoint at a location.
    """

    def __init__(self, jobs: RunningJobs, contents: Callable[[str], Any] = checkpoint_contents) -> None:
        self._jobs = jobs
        self._contents = contents

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/jobs/{job}/epochs", self.epochs),
            ("GET", "/jobs/{job}/attempts", self.attempts),
            ("GET", "/jobs/{job}/configuration", self.configuration),
            ("GET", "/jobs/{job}/checkpoints/details/{checkpoint}/state", self.contents),
        ]

    def epochs(self, request: Request) -> Response:
        """Tell how the epochs of a job went."""
        return answer(epochs_json.epochs(find_job(self._jobs, request)))

    def attempts(self, request: Request) -> Response:
        """List the attempts of a job."""
        return answer(epochs_json.attempts(find_job(self._jobs, request)))

    def configuration(self, request: Request) -> Response:
        """List the settings that a job was submitted with, and where each was written."""
        return answer(configuration_json(find_job(self._jobs, request)))

    def contents(self, request: Request) -> Response:
        """Tell what a checkpoint holds: only one of the job's own, at the path where it was written."""
        job, checkpoint_id = find_job(self._jobs, request), checkpoint_id_of(request)
        entry = job.checkpoint_statistics().find(checkpoint_id)
        if entry is None or entry.status is not CheckpointStatus.COMPLETED:
            raise RequestError(404, f"There is no completed checkpoint {checkpoint_id} among the last ones.")
        if entry.external_path is None or entry.discarded:
            where = "is in the driver's memory" if entry.external_path is None else "has been deleted"
            raise RequestError(404, f"Checkpoint {checkpoint_id} {where}: there are no files to look into.")
        return answer(self._contents(entry.external_path))
