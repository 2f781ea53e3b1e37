"""Server-sent events: who listens is told, nothing is read for nobody, and nobody can hold the others up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rekindle.common import JobStatus
from rekindle.rest import event_streams
from rekindle.rest.app import rest_app
from rekindle.rest.event_streams import EventStreams
from rekindle.rest.settings import RestSettings
from support.rest_jobs import JOB, FakeMaster, registered

Events = list[dict[str, Any]]


class Listener:
    """Ask the application for a stream, and take what it sends until it has had enough."""

    def __init__(self, app: Any, path: str, reads: bool = True) -> None:
        self.status = 0
        self.body = b""
        self.reads = reads
        self.leaves = asyncio.Event()
        self.came = asyncio.Event()
        self.task = asyncio.create_task(self._ask(app, path))

    async def _ask(self, app: Any, path: str) -> None:
        begun = False

        async def receive() -> dict[str, Any]:
            nonlocal begun
            if not begun:
                begun = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self.leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
                return
            self.body += message.get("body", b"")
            self.came.set()
            if not self.reads:
                await asyncio.Event().wait()

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
        }
        await app(scope, receive, send)

    def events(self) -> Events:
        parts = [part for part in self.body.decode().split("\n\n") if part.startswith("event: update\n")]
        return [json.loads(part.partition("data: ")[2]) for part in parts]

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                self.came.clear()
                await asyncio.wait({asyncio.create_task(self.came.wait()), self.task}, timeout=0.05)

    async def leave(self) -> None:
        self.leaves.set()
        await self.task


def run(test: Callable[[EventStreams, Any], Awaitable[None]], *masters: FakeMaster, **options: Any) -> None:
    async def main() -> None:
        streams = EventStreams(registered(*masters), **{"period": 0.005, **options})
        await test(streams, rest_app(RestSettings(), [], routes=streams.routes()))
        assert streams.listeners == 0
        assert streams._topics == {}

    asyncio.run(main())


def test_a_listener_is_told_what_a_job_is_and_what_becomes_of_it() -> None:
    master = FakeMaster().run()

    async def test(streams: EventStreams, app: Any) -> None:
        listener = Listener(app, f"/jobs/{JOB}/events")
        await listener.until(listener.events)
        first = listener.events()[0]
        assert (first["job"]["state"], first["job"]["jid"]) == ("RUNNING", JOB)
        assert first.keys() == {"now", "job", "metrics", "epochs", "checkpoints", "exceptions"}
        master.history.enter(JobStatus.FAILING)
        await listener.until(lambda: listener.events()[-1]["job"]["state"] == "FAILING")
        await listener.leave()

    run(test, master)


def test_the_list_of_jobs_has_a_stream_of_its_own() -> None:
    async def test(streams: EventStreams, app: Any) -> None:
        listener = Listener(app, "/jobs/events")
        await listener.until(listener.events)
        assert [job["jid"] for job in listener.events()[0]["jobs"]] == [JOB]
        await listener.leave()

    run(test, FakeMaster().run())


def test_what_does_not_change_is_sent_once_and_signs_of_life_follow() -> None:
    async def test(streams: EventStreams, app: Any) -> None:
        listener = Listener(app, f"/jobs/{JOB}/events")
        await listener.until(lambda: listener.body.count(b": still here") > 2)
        assert len(listener.events()) == 1
        await listener.leave()

    run(test, FakeMaster().run(), heartbeat=0.02)


def test_listeners_share_what_is_read_and_nothing_is_read_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    master = FakeMaster().run()
    reads = 0

    def event(job: object) -> dict[str, Any]:
        nonlocal reads
        reads += 1
        return {"now": 0, "read": reads}

    monkeypatch.setattr(event_streams, "job_event", event)

    async def test(streams: EventStreams, app: Any) -> None:
        assert reads == 0
        first, second = (Listener(app, f"/jobs/{JOB}/events") for _ in range(2))
        await first.until(lambda: len(first.events()) > 2)
        await second.until(lambda: len(second.events()) > 1)
        assert streams.listeners == 2
        await first.leave()
        await second.leave()
        seen = reads
        await asyncio.sleep(0.05)
        assert reads <= seen + 1  # one may have been under way

    run(test, master)


def test_there_is_a_limit_to_listeners() -> None:
    async def test(streams: EventStreams, app: Any) -> None:
        first = Listener(app, f"/jobs/{JOB}/events")
        await first.until(first.events)
        refused = Listener(app, "/jobs/events")
        await refused.task
        assert refused.status == 503
        assert b"1 listeners already" in refused.body
        await first.leave()
        again = Listener(app, "/jobs/events")
        await again.until(again.events)
        await again.leave()

    run(test, FakeMaster().run(), most=1)


def test_a_listener_that_does_not_read_is_dropped_and_holds_nobody_up() -> None:
    master = FakeMaster().run()

    async def test(streams: EventStreams, app: Any) -> None:
        slow = Listener(app, f"/jobs/{JOB}/events", reads=False)
        quick = Listener(app, f"/jobs/{JOB}/events")
        await quick.until(quick.events)
        master.history.enter(JobStatus.FAILING)
        await quick.until(lambda: quick.events()[-1]["job"]["state"] == "FAILING")
        async with asyncio.timeout(30):
            await slow.task
        assert streams.listeners == 1
        assert len(slow.events()) <= 1
        await quick.leave()

    run(test, master, slow=0.05)


def test_a_job_that_is_not_there_has_no_stream() -> None:
    async def test(streams: EventStreams, app: Any) -> None:
        listener = Listener(app, f"/jobs/{'a' * 32}/events")
        await listener.task
        assert listener.status == 404

    run(test)


def test_what_cannot_be_read_is_tried_again(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    calls = 0

    def event(job: object) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("a bug")
        return {"now": 0, "calls": "enough"}

    monkeypatch.setattr(event_streams, "job_event", event)

    async def test(streams: EventStreams, app: Any) -> None:
        listener = Listener(app, f"/jobs/{JOB}/events")
        await listener.until(lambda: any(event.get("calls") for event in listener.events()))
        await listener.leave()

    run(test, FakeMaster().run())
    assert "could not be read; trying again" in caplog.text
