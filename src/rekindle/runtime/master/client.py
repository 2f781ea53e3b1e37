"""The JobClient of a job that runs in this process."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from rekindle.base.html_table import html_table
from rekindle.contracts.job.completable_future import CompletableFuture
from rekindle.contracts.job.job_client import JobClient
from rekindle.contracts.job.job_execution_result import JobExecutionResult
from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.job.job_status import JobStatus
from rekindle.contracts.job.savepoint_format_type import SavepointFormatType
from rekindle.runtime.master.job_master import JobMaster


class LocalJobClient(JobClient):
    """Watch and steer a job."""

    def __init__(self, master: JobMaster) -> None:
        self._master = master

    def _repr_html_(self) -> str:
        master = self._master
        history, checkpoint = master.history, master.checkpoint_statistics().latest_completed
        failures = history.exceptions()
        rows = {
            "Id": master.settings.job_id,
            "Status": history.status.name,
            "Running for": f"{history.duration() / 1000:,.0f} s",
            "Records from sources": f"{history.progress().records_in:,}",
            "Restarts": history.restarts,
            "Last checkpoint": None if checkpoint is None else checkpoint.checkpoint_id,
            "Last failure": failures[0].text if failures else None,
        }
        return html_table(master.settings.job_name, rows, master.recent_lines())

    def get_job_id(self) -> JobID:
        return JobID(self._master.settings.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self._master.status)

    def get_queryable_state_proxies(self) -> CompletableFuture[list[tuple[str, int]]]:
        states = self._master.queryable_states()
        return CompletableFuture.completed([] if states is None else states.proxies())

    def cancel(self) -> CompletableFuture[None]:
        self._master.cancel()
        done: Future[None] = Future()
        self._master.result.add_done_callback(lambda _: done.set_result(None))
        return CompletableFuture(done)

    def stop_with_savepoint(
        self,
        advance_to_end_of_event_time: bool,
        savepoint_directory: str | None = None,
        format_type: SavepointFormatType | None = None,
    ) -> CompletableFuture[str]:
        return CompletableFuture(self._master.stop_with_savepoint(savepoint_directory, advance_to_end_of_event_time))

    def cancel_with_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        return CompletableFuture(self._master.cancel_with_savepoint(savepoint_directory))

    def trigger_savepoint(
        self, savepoint_directory: str | None = None, format_type: SavepointFormatType | None = None
    ) -> CompletableFuture[str]:
        return CompletableFuture(self._master.trigger_savepoint(savepoint_directory))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        if self._master.result.done() and not self._master.result.cancelled() and not self._master.result.exception():
            return CompletableFuture.completed(self._master.result.result().get_all_accumulator_results())
        return CompletableFuture.completed(self._master.accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._master.result)
