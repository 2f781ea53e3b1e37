"""Jobs that only seem to run, and requests that go to the REST interface without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from starlette.routing import Route

from rekindle.checkpoint.statistics_overview import CheckpointsOverview
from rekindle.common import Configuration, ExecutionConfig, JobStatus
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.exceptions import ConfigurationError
from rekindle.graph.plan import DATA_SINK, DATA_SOURCE, OPERATOR, Plan, PlanInput, PlanNode
from rekindle.rest.api import RestApi
from rekindle.rest.app import rest_app
from rekindle.rest.messages import Handler
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.checkpoints.requested_checkpoints import CheckpointKind, check_kind
from rekindle.runtime.master.running_jobs import RunningJobs
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS, SlotReadings
from rekindle.runtime.master.views.job_history import JobHistory, SlotPlace
from rekindle.testing import ManualClock

JOB = "0123456789abcdef0123456789abcdef"
PLAN = Plan(
    (
        PlanNode(1, "Source: numbers", DATA_SOURCE, "Source: numbers", 2, uid="numbers", max_parallelism=128),
        PlanNode(
            2, "Map", OPERATOR, "adds one", 2, (PlanInput(1, "HASH", exchange=True),), "map", True, max_parallelism=128
        ),
        PlanNode(3, "Sink: Out", DATA_SINK, "Sink: Out", 1, (PlanInput(2, "FORWARD"),), "out", max_parallelism=128),
    )
)


class FakeMaster:
    """Seem to be a job master. Savepoints are complete when the test says so."""

    def __init__(
        self,
        job_id: str = JOB,
        name: str = "a job",
        clock: ManualClock | None = None,
        configuration: Configuration | None = None,
        plan: Plan = PLAN,
    ) -> None:
        configuration = configuration or Configuration()
        self.clock = clock or ManualClock()
        self.settings = settle(job_id, name, configuration, CheckpointConfig(configuration), ExecutionConfig())
        self.history = JobHistory(self.clock, self.slot_places)
        self.plan: Plan | None = plan
        self.result: Future[Any] = Future()
        self.overview = CheckpointsOverview()
        self.readings: SlotReadings = NO_READINGS
        self.asked: list[tuple[Any, ...]] = []
        self.savepoint: Future[str] = Future()
        self.checkpoint: Future[int] = Future()
        self.alive = True
        self._at_end: list[Callable[[], None]] = []

    def at_end(self, finish: Callable[[], None]) -> None:
        if self.history.status.is_terminal_state():
            finish()
        else:
            self._at_end.append(finish)

    def suspend(self) -> None:
        self.asked.append(("suspend",))

    def run(self) -> FakeMaster:
        """Let the slots be ready."""
        self.history.enter(JobStatus.RUNNING)
        self.history.attempt_started(0, None)
        return self

    def end(self, status: JobStatus) -> None:
        """Let the job be over."""
        self.history.enter(status)
        for finish in self._at_end:
            finish()
        self.result.set_result(None)

    def slot_places(self) -> dict[int, SlotPlace]:
        return {0: SlotPlace("here", 11), 1: SlotPlace("there", 22)}

    def read_metrics(self) -> SlotReadings:
        return self.readings

    def checkpoint_statistics(self) -> CheckpointsOverview:
        return self.overview

    def trigger_savepoint(self, directory: str | None) -> Future[str]:
        return self._asked("savepoint", directory)

    def trigger_checkpoint(self, kind: CheckpointKind) -> Future[int]:
        check_kind(self.settings, kind)
        self.asked.append(("checkpoint", kind.name))
        return self.checkpoint

    def cancel_with_savepoint(self, directory: str | None) -> Future[str]:
        return self._asked("cancel", directory)

    def stop_with_savepoint(self, directory: str | None, drain: bool) -> Future[str]:
        return self._asked("stop", directory, drain)

    def cancel(self, keep_checkpoints: bool = False) -> None:
        self.asked.append(("cancel", "keep") if keep_checkpoints else ("cancel",))
        self.history.enter(JobStatus.CANCELLING)

    def _asked(self, what: str, directory: str | None, *more: Any) -> Future[str]:
        if directory is None:
            raise ConfigurationError("a savepoint needs a directory, and none is configured")
        self.asked.append((what, directory, *more))
        return self.savepoint


@dataclass(frozen=True)
class Answer:
    """Hold what came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Read the body."""
        return json.loads(self.body)

    @property
    def error(self) -> str:
        """Return the only error of the body."""
        (error,) = self.json["errors"]
        return str(error)


class Client:
    """Ask the application directly."""

    def __init__(
        self,
        handlers: Iterable[tuple[str, str, Handler]],
        settings: RestSettings | None = None,
        time_limit: float = 30.0,
        routes: Iterable[Route] = (),
    ) -> None:
        self._app = rest_app(settings or RestSettings(), handlers, time_limit, routes)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        headers: dict[str, str] | Iterable[tuple[str, str]] = (),
        chunks: list[bytes] | None = None,
    ) -> Answer:
        """Send one request. A body that is not bytes is sent as JSON."""
        path, _, query = target.partition("?")
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = list(headers.items() if isinstance(headers, dict) else headers)
        names = {name.lower() for name, _ in given}
        if "host" not in names:
            given.append(("host", "127.0.0.1:8081"))
        if raw and "content-length" not in names:
            given.append(("content-length", str(len(raw))))
        if raw and "content-type" not in names:
            given.append(("content-type", "application/json"))
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given if value],
        }
        parts = chunks if chunks is not None else [raw]
        incoming = [
            {"type": "http.request", "body": part, "more_body": index + 1 < len(parts)}
            for index, part in enumerate(parts)
        ]
        sent: list[Any] = []

        async def receive() -> Any:
            if incoming:
                return incoming.pop(0)
            return await asyncio.get_running_loop().create_future()  # the client is silent

        async def send(message: Any) -> None:
            sent.append(message)

        async def run() -> None:
            await self._app(scope, receive, send)

        asyncio.run(run())
        start, content = sent
        found = {name.decode(): value.decode() for name, value in start["headers"]}
        return Answer(start["status"], found, content["body"])

    def get(self, target: str, **headers: str) -> Answer:
        """Send a GET request."""
        return self.ask("GET", target, headers=headers)


def served(*masters: FakeMaster, settings: RestSettings | None = None) -> Client:
    """Return a client of an interface over some jobs."""
    api = RestApi(registered(*masters))
    return Client(api.handlers, settings, routes=api.routes)


def registered(*masters: FakeMaster) -> RunningJobs:
    """Register jobs."""
    jobs = RunningJobs()
    for master in masters:
        jobs.register(master)
    return jobs
