"""What those see who look after drivers: whether one is alive."""

from __future__ import annotations

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
    for method, path in [("GET", "/config"), ("GET", "/healthz/x"), ("POST", "/healthz"), ("GET", "/jobs")]:
        assert client.ask(method, path, headers={"host": "10.1.2.3:8081"}).status == 401
    loopback = served(FakeMaster().run())
    assert loopback.get("/healthz", host="somewhere.example").status == 200
    assert loopback.get("/", host="somewhere.example").status == 403
    assert loopback.get("/healthz", origin="http://somewhere.example").status == 403
