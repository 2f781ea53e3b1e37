"""The JobClient of a job that runs in another process, here or on another machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from rekindle.client.polling import poll
from rekindle.client.remote_job import RemoteJob
from rekindle.contracts.job.completable_future import CompletableFuture
from rekindle.contracts.job.job_client import JobClient
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.job.job_status import JobStatus
from rekindle.contracts.job.savepoint_format_type import SavepointFormatType
from rekindle.exceptions import JobCancelledError, JobExecutionError

T = TypeVar("T")


class RemoteJobClient(JobClient):
    """Watch and steer a job through its REST interface. The futures are filled by threads of this process."""

    def __init__(self, job: RemoteJob) -> None:
        self._job = job

    def get_job_id(self) -> JobID:
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return _in_background(self._job.status)

    def cancel(self) -> CompletableFuture[None]:
        return _in_background(self._cancelled)

    def _cancelled(self) -> None:
        self._job.cancel()
        self._end()

    def _end(self) -> JobStatus:
        """Wait until the job has ended."""

        def ended() -> JobStatus | None:
            status = self._job.status()
            return status if status.is_terminal_state() else None

        return poll(ended)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType | None = None,
    ) -> CompletableFuture[str]:
        return self._location(self._job.stop_with_savepoint(savepoint_directory, advance_to_end_of_event_time))

    def cancel_with_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        return self._location(self._job.trigger_savepoint(savepoint_directory, cancel_job=True))

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        return self._location(self._job.trigger_savepoint(savepoint_directory))

    def _location(self, request: str) -> CompletableFuture[str]:
        return _in_background(lambda: poll(lambda: self._job.savepoint_location(request)))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        return CompletableFuture.completed({})

    def get_queryable_state_proxies(self) -> CompletableFuture[list[tuple[str, int]]]:
        return _in_background(self._proxies)

    def _proxies(self) -> list[tuple[str, int]]:
        places = (str(place).rpartition(":") for place in self._job.queryable_states()["proxies"])
        return [(host, int(port)) for host, _, port in places]

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return _in_background(self._result)

    def _result(self) -> JobExecutionResult:
        status = self._end()
        details = self._job.details()
        name = details["name"]
        if status is JobStatus.CANCELED:
            raise JobCancelledError(f"job {name!r} was cancelled")
        if status is JobStatus.FAILED:
            raise JobExecutionError(f"job {name!r} failed: {self._job.last_failure()}")
        if status is JobStatus.SUSPENDED:
            raise JobExecutionError(f"job {name!r} was suspended: another driver may have taken it over")
        return JobExecutionResult(self.get_job_id(), int(details["duration"]))


def _in_background(call: Callable[[], T]) -> CompletableFuture[T]:
    """Call in a thread that keeps no process alive."""
    future: Future[T] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="remote-job", daemon=True).start()
    return CompletableFuture(future)
