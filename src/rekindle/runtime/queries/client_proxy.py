"""What clients ask: it sends their queries to the slots that own the keys."""

from __future__ import annotations

import time

from rekindle.exceptions import QueryableStateError, UnknownJobError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.query_metrics import QueryMetrics
from rekindle.runtime.queries.query_port import Reply
from rekindle.runtime.queries.router import Router


class ClientProxy:
    """Pass queries on.

    Args:
        job_id: The job.
        router: Knows the owners of keys.
        metrics: Counts.
    """

    def __init__(self, job_id: str, router: Router, metrics: QueryMetrics) -> None:
        self._job_id = job_id
        self._router = router
        self._metrics = metrics

    def handle(self, query: p.Query, reply: Reply) -> None:
        """See to a query.

        Raises:
            QueryableStateError: It cannot be passed on.
        """
        started = time.monotonic()

        def done(answer: p.Answer) -> None:
            self._metrics.answered(answer, time.monotonic() - started)
            reply(answer)

        try:
            if query.job_id != self._job_id:
                raise UnknownJobError(f"this proxy serves job {self._job_id}, not {query.job_id!r}")
            self._router.route(query, done)
        except QueryableStateError:
            self._metrics.failed(len(query.keys), time.monotonic() - started)
            raise
