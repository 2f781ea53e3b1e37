"""Responses in parts, as event streams are: they may last, but not a client that does not read them."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rekindle.rest.guard import Guard
from rekindle.rest.settings import RestSettings

SCOPE = {
    "type": "http",
    "method": "GET",
    "path": "/stream",
    "raw_path": b"/stream",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1")],
}


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    own = [(b"content-security-policy", b"default-src 'self'")]
    await send({"type": "http.response.start", "status": 200, "headers": own})
    for _ in range(6):
        await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"data", "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def sent_by(app: ASGIApp, time_limit: float, read: int = 100) -> list[Any]:
    """Return what is sent to a client that reads so many messages, and no more."""
    sent: list[Any] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        if len(sent) == read:
            await asyncio.get_running_loop().create_future()
        sent.append(message)

    async def run() -> None:
        await Guard(app, RestSettings(), time_limit)(dict(SCOPE), receive, send)

    asyncio.run(asyncio.wait_for(run(), 30))
    return sent


def test_a_response_may_last_longer_than_the_time_limit_while_its_parts_come() -> None:
    assert len(sent_by(stream, time_limit=0.4)) == 8


def test_a_client_that_does_not_read_is_cut_off() -> None:
    assert len(sent_by(stream, time_limit=0.4, read=3)) == 3


def test_a_response_that_says_nothing_for_too_long_is_cut_off() -> None:
    assert len(sent_by(stream, time_limit=0.05)) == 1


def test_a_response_keeps_the_headers_that_it_brings() -> None:
    headers = dict(sent_by(stream, time_limit=10)[0]["headers"])
    assert headers[b"content-security-policy"] == b"default-src 'self'"
    assert headers[b"x-content-type-options"] == b"nosniff"
