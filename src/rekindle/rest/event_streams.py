"""Server-sent events: what a dashboard shows of jobs, sent once a second while somebody listens.

An event holds all there is to say, so a listener that cannot keep up misses some and lacks nothing; one that does not
read at all is dropped. All who listen to one job share what is read for them, and nothing is read for nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rekindle.rest import checkpoints_json, epochs_json, job_json
from rekindle.rest.job_metrics import job_metrics
from rekindle.rest.job_requests import find_job
from rekindle.rest.messages import RequestError
from rekindle.rest.threads import in_daemon_thread
from rekindle.runtime.master.running_jobs import RegisteredJob, RunningJobs

log = logging.getLogger(__name__)

MOST_LISTENERS = 16
PERIOD_SECONDS = 1.0
HEARTBEAT_SECONDS = 10.0
SLOW_SECONDS = 10.0
_RECENT_EPOCHS = 60
_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
_HEARTBEAT = b": still here\n\n"

Read = Callable[[], dict[str, Any]]


class EventStreams:
    """Let clients listen to jobs.

    Args:
        jobs: The jobs.
        most: How many may listen at a time.
        period: How many seconds lie between two events.
        heartbeat: After how many seconds without one a sign of life is sent.
        slow: For how many seconds a listener may not read.
    """

    def __init__(
        self,
        jobs: RunningJobs,
        most: int = MOST_LISTENERS,
        period: float = PERIOD_SECONDS,
        heartbeat: float = HEARTBEAT_SECONDS,
        slow: float = SLOW_SECONDS,
    ) -> None:
        self._jobs = jobs
        self._most = most
        self._period = period
        self._heartbeat = heartbeat
        self._slow = slow
        self._topics: dict[str, _Topic] = {}

    @property
    def listeners(self) -> int:
        """Return how many listen."""
        return sum(len(topic.listeners) for topic in self._topics.values())

    def routes(self) -> list[Route]:
        """Return where to listen."""
        return [
            Route("/jobs/events", self.all_jobs, methods=["GET"]),
            Route("/jobs/{job}/events", self.one_job, methods=["GET"]),
        ]

    async def all_jobs(self, request: Request) -> Response:
        """Send the list of jobs."""
        return self._stream("", lambda: jobs_event(self._jobs))

    async def one_job(self, request: Request) -> Response:
        """Send what there is to say about a job."""
        job = find_job(self._jobs, request)
        return self._stream(job.job_id, lambda: job_event(job))

    def _stream(self, name: str, read: Read) -> Response:
        if self.listeners >= self._most:
            raise RequestError(503, f"There are {self._most} listeners already. Close another page, or try later.")
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = _Topic(read, self._period, lambda: self._topics.pop(name, None))
        return _EventResponse(topic, self._heartbeat, self._slow)


class _Listener:
    """Hold the last event that a listener has not been sent."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self._event: bytes | None = None

    def put(self, event: bytes) -> None:
        self._event = event
        self.news.set()

    def take(self) -> bytes | None:
        self.news.clear()
        event, self._event = self._event, None
        return event


class _Topic:
    """Read something once a second, as long as somebody listens."""

    def __init__(self, read: Read, period: float, over: Callable[[], object]) -> None:
        self.listeners: list[_Listener] = []
        self._read = read
        self._period = period
        self._over = over
        self._last: bytes | None = None
        self._task: asyncio.Task[None] | None = None

    def join(self) -> _Listener:
        listener = _Listener()
        self.listeners.append(listener)
        if self._last is not None:
            listener.put(self._last)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return listener

    def leave(self, listener: _Listener) -> None:
        self.listeners.remove(listener)
        if not self.listeners and self._task is not None:
            self._task.cancel()
            self._over()

    async def _run(self) -> None:
        shown: dict[str, Any] | None = None
        while True:
            try:
                document = await asyncio.wrap_future(in_daemon_thread(self._read, "rest-events"))
            except Exception:
                log.exception("what a dashboard shows could not be read; trying again")
                document = shown or {}
            if shown is None or {**document, "now": 0} != {**shown, "now": 0}:
                shown = document
                self._last = b"event: update\ndata: " + msgspec.json.encode(document) + b"\n\n"
                for listener in self.listeners:
                    listener.put(self._last)
            await asyncio.sleep(self._period)


class _EventResponse(Response):
    """Send events to one listener until it leaves, or does not read."""

    def __init__(self, topic: _Topic, heartbeat: float, slow: float) -> None:
        super().__init__()
        self._topic = topic
        self._heartbeat = heartbeat
        self._slow = slow

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        listener = self._topic.join()
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            while not gone.done():
                event = await self._next(listener, gone)
                async with asyncio.timeout(self._slow):
                    await send({"type": "http.response.body", "body": event, "more_body": True})
        finally:
            gone.cancel()
            self._topic.leave(listener)

    async def _next(self, listener: _Listener, gone: asyncio.Task[None]) -> bytes:
        news = asyncio.create_task(listener.news.wait())
        try:
            await asyncio.wait({news, gone}, timeout=self._heartbeat, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        return listener.take() or _HEARTBEAT


async def _until_gone(receive: Receive) -> None:
    with suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass


def jobs_event(jobs: RunningJobs) -> dict[str, Any]:
    """Return what the list of jobs shows."""
    return {"jobs": [{**job_json.overview_entry(job), "duration": None} for job in jobs.all()]}


def job_event(job: RegisteredJob) -> dict[str, Any]:
    """Return what the pages of a job show, but for what hardly changes or is long."""
    overview = job.checkpoint_statistics()
    summary = checkpoints_json.checkpoints(overview)
    epochs = epochs_json.epochs(job)
    return {
        "now": job.history.now(),
        "job": {**job_json.job_details(job, job.read_metrics()), "now": None, "plan": None, "duration": None},
        "metrics": job_metrics(job),
        "epochs": {**epochs, "recent": epochs["recent"][:_RECENT_EPOCHS]},
        "checkpoints": {"counts": summary["counts"], "latest": summary["latest"]},
        "exceptions": len(job.history.exceptions()),
    }
