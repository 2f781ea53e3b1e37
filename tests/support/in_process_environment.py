"""An environment whose programs run in the test's process: what they print and collect is there without Spark."""

from __future__ import annotations

from rekindle.common import JobExecutionResult, JobID
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.closeable_iterator import CloseableIterator
from rekindle.exceptions import JobExecutionError
from rekindle.runtime.master.job_settings import settle
from rekindle.runtime.slot.failure import OperatorError, describe_failure, explain
from rekindle.runtime.wire.messages import CommitFinal
from support.in_process_job import InProcessJob


class InProcessEnvironment(StreamExecutionEnvironment):
    """Run whole programs, bounded ones, without Spark; they raise what they would raise on Spark."""

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        job = self._run(job_name)
        for line in job.printed:
            print(line)
        return JobExecutionResult(JobID(), 0)

    def _execute_and_collect(self, job_name: str | None) -> CloseableIterator:
        job = self._run(job_name)
        for line in job.printed:
            print(line)
        return CloseableIterator(iter(job.collected), lambda: None)

    def _run(self, job_name: str | None) -> InProcessJob:
        graph = self._compile()
        settings = settle(
            JobID().to_hex_string(),
            job_name or "",
            self._configuration,
            self._checkpoint_config,
            self._config,
            self._state_backend,
            graph.batch,
        )
        self._graph.submitted = len(self._graph.nodes)
        try:
            with InProcessJob(graph, job_parameters=settings.job_parameters) as job:
                job.run_to_end()
                job.broadcast(CommitFinal())
        except OperatorError as error:
            raise JobExecutionError(explain(describe_failure(error, 0))) from error.__cause__
        return job
