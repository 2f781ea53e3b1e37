"""What those see who only look in: whether the driver is alive, and the page at the root."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from rekindle.common import JobStatus
from rekindle.rest.settings import RestSettings
from support.rest_jobs import JOB, FakeMaster, served


def test_a_driver_is_alive_while_its_jobs_are_looked_after() -> None:
    master = FakeMaster().run()
    client = served(master)
    answer = client.get("/healthz")
    assert (answer.status, answer.json) == (200, {"status": "ok", "jobs": 1, "jobs-dead": 0})
    master.alive = False
    answer = client.get("/healthz")
    assert (answer.status, answer.json) == (503, {"status": "dead", "jobs": 1, "jobs-dead": 1})
    master.end(JobStatus.FAILED)
    answer = client.get("/healthz")
    assert (answer.status, answer.json) == (200, {"status": "ok", "jobs": 0, "jobs-dead": 0})


def test_without_jobs_it_is_alive() -> None:
    assert served().get("/healthz").status == 200


def test_anybody_may_ask_whether_it_is_alive_and_nothing_else() -> None:
    """As Kubernetes does: by the address of the machine, and without the token."""
    client = served(FakeMaster().run(), settings=RestSettings(bind_address="0.0.0.0", token="secret"))
    answer = client.get("/healthz", host="10.1.2.3:8081")
    assert answer.status == 200
    assert JOB.encode() not in answer.body
    assert client.ask("HEAD", "/healthz?x=1").status == 200
    for method, path in [("GET", "/"), ("GET", "/healthz/x"), ("POST", "/healthz"), ("GET", "/jobs")]:
        assert client.ask(method, path, headers={"host": "10.1.2.3:8081"}).status == 401
    loopback = served(FakeMaster().run())
    assert loopback.get("/healthz", host="somewhere.example").status == 200
    assert loopback.get("/", host="somewhere.example").status == 403
    assert loopback.get("/healthz", origin="http://somewhere.example").status == 403


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name == "href" and value is not None]


def test_the_page_leads_to_what_there_is() -> None:
    client = served(FakeMaster().run())
    answer = client.get("/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = Links()
    page.feed(answer.body.decode())
    assert {"/metrics", "/healthz", f"/jobs/{JOB}"} <= set(page.found)
    assert {client.get(path).status for path in page.found} == {200}


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x>', "größe"])
def test_names_are_no_markup(name: str) -> None:
    master = FakeMaster(name=name).run()
    body = served(master).get("/").body.decode()
    assert "<script" not in body
    assert "<img" not in body
    assert ("größe" in body) == (name == "größe")


def test_without_jobs_the_page_says_so() -> None:
    assert b"no jobs" in served().get("/").body
