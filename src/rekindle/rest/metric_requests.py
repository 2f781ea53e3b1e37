"""Requests for metrics: of a job, of an operator, and of everything for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from rekindle.rest.job_json import find_vertex
from rekindle.rest.job_metrics import job_metrics, operator_metrics
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import Handler, RequestError, answer
from rekindle.runtime.master.running_jobs import RunningJobs


class MetricRequests:
    """Answer what is asked about metrics."""

    def __init__(self, jobs: RunningJobs) -> None:
        self._jobs = jobs

    def handlers(self) -> list[tuple[str, str, Handler]]:
        """Return which requests are answered here."""
        return [
            ("GET", "/metrics", self.prometheus),
            ("GET", "/jobs/{job}/metrics", self.job),
            ("GET", "/jobs/{job}/vertices/{vertex}/metrics", self.vertex),
            ("GET", "/jobs/{job}/vertices/{vertex}/watermarks", self.watermarks),
        ]

    def prometheus(self, request: Request) -> Response:
        """Return all metrics to Prometheus."""
        from rekindle.rest.prometheus import CONTENT_TYPE, prometheus_text  # only for those who scrape

        return Response(prometheus_text(self._jobs), media_type=CONTENT_TYPE)

    def job(self, request: Request) -> Response:
        """Return the metrics of a job: the names of all, or the values of some."""
        return _listed(job_metrics(find_job(self._jobs, request)), request)

    def vertex(self, request: Request) -> Response:
        """Return the metrics of the subtasks of an operator."""
        return _listed(self._of_vertex(request), request)

    def watermarks(self, request: Request) -> Response:
        """Return the watermarks that have come to the subtasks of an operator."""
        found = self._of_vertex(request)
        return answer([_with_value(name, found[name]) for name in found if name.endswith(".currentInputWatermark")])

    def _of_vertex(self, request: Request) -> dict[str, int | float | str]:
        job, named = find_job(self._jobs, request), request.path_params["vertex"]
        node = find_vertex(job, named)
        if node is None:
            raise RequestError(404, f"Job {job.job_id} has no vertex {named}.")
        return operator_metrics(metric for metric in job.read_metrics().metrics() if metric.uid == node.uid)


def _listed(metrics: Mapping[str, int | float | str], request: Request) -> Response:
    wanted = request.query_params.get("get")
    if wanted is None:
        return answer([{"id": name} for name in metrics])
    return answer([_with_value(name, metrics[name]) for name in dict.fromkeys(wanted.split(",")) if name in metrics])


def _with_value(name: str, value: int | float | str) -> dict[str, str]:
    return {"id": name, "value": str(value)}
