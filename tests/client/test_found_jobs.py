"""Which job somebody means, and where jobs are looked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rekindle.base.process_identity import start_ticks
from rekindle.client import FoundJob, RestClient, find_jobs, get_job_client
from rekindle.client.found_job import resolve
from rekindle.client.search import search
from rekindle.exceptions import AmbiguousJobError, NotFoundError, UnreachableError
from rekindle.rest.discovery import Endpoint, publish
from support.fake_rest import FakeJob, FakeRest, serving

ENDED = "it may have ended: see rekindle list -a"
REST = RestClient("http://127.0.0.1:1")
HERE = Endpoint(pid=1, start_ticks=None, url="http://127.0.0.1:1", token=None, started=1)


def job(job_id: str, name: str = "orders", state: str = "RUNNING") -> FoundJob:
    return FoundJob(REST, FakeJob(job_id.ljust(32, "0"), name, state).overview(), HERE)


JOBS = [
    job("aaaa1"),
    job("aaaa2", "payments"),
    job("bbbb", "orders", "FINISHED"),
    job("cccc", "twice"),
    job("dddd", "twice"),
]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("aaaa1".ljust(32, "0"), "aaaa1"),
        ("AAAA1".ljust(32, "0"), "aaaa1"),
        ("aaaa1", "aaaa1"),
        ("bbbb", "bbbb"),
        ("orders", "aaaa1"),  # the one of this name that runs
        ("payments", "aaaa2"),
    ],
)
def test_a_job_is_known_by_id_beginning_or_name(wanted: str, found: str) -> None:
    assert resolve(JOBS, wanted).job_id == found.ljust(32, "0")


def test_a_name_of_ended_jobs_only_means_one_of_them() -> None:
    assert resolve([job("aaaa", state="FAILED")], "orders").job_id.startswith("aaaa")


def test_of_several_that_have_ended_a_name_means_the_last() -> None:
    def ended(job_id: str, started: int) -> FoundJob:
        overview = {**FakeJob(job_id.ljust(32, "0"), state="FAILED").overview(), "start-time": started}
        return FoundJob(REST, overview, HERE)

    assert resolve([ended("aaaa", 2), ended("bbbb", 3), ended("cccc", 1)], "orders").job_id.startswith("bbbb")


def driver(port: int, state: str, started: int) -> FoundJob:
    """Return a job as one of several drivers knows it."""
    overview = {**FakeJob("aaaa".ljust(32, "0"), "orders", state).overview(), "start-time": started}
    return FoundJob(RestClient(f"http://127.0.0.1:{port}"), overview, HERE)


@pytest.mark.parametrize("wanted", ["aaaa".ljust(32, "0"), "aaaa", "orders"])
@pytest.mark.parametrize(
    ("drivers", "meant"),
    [
        ([driver(1, "SUSPENDED", 1), driver(2, "RUNNING", 2)], 2),
        ([driver(1, "RUNNING", 2), driver(2, "SUSPENDED", 1)], 1),
        ([driver(1, "RUNNING", 1), driver(2, "SUSPENDED", 2)], 1),
        ([driver(1, "SUSPENDED", 1), driver(2, "FINISHED", 2)], 2),
        ([driver(1, "RUNNING", 2), driver(2, "RUNNING", 1)], 1),
    ],
)
def test_a_job_that_was_taken_over_is_the_one_that_runs(drivers: list[FoundJob], meant: int, wanted: str) -> None:
    assert resolve(drivers, wanted).rest.url == f"http://127.0.0.1:{meant}"
    assert resolve([job("bbbb", "payments"), *drivers], wanted).rest.url == f"http://127.0.0.1:{meant}"


@pytest.mark.parametrize(("wanted", "candidates"), [("aaaa", ["aaaa1", "aaaa2"]), ("twice", ["cccc", "dddd"])])
def test_several_are_listed(wanted: str, candidates: list[str]) -> None:
    with pytest.raises(AmbiguousJobError) as caught:
        resolve(JOBS, wanted)
    message = str(caught.value)
    assert message.startswith(f"{wanted!r} can mean 2 jobs")
    assert all(candidate.ljust(32, "0") in message for candidate in candidates)
    assert message.count("\n") == 2


def test_a_name_that_is_also_the_beginning_of_an_id_is_ambiguous() -> None:
    with pytest.raises(AmbiguousJobError):
        resolve([job("beef1"), job("0123", "beef")], "beef")
    assert resolve([job("beef1", "beef"), job("0123")], "beef").job_id.startswith("beef1")


def test_none_says_which_there_are() -> None:
    with pytest.raises(NotFoundError, match=f"there is no job 'nothing'; {ENDED}. There are:\n  aaaa1"):
        resolve(JOBS, "nothing")
    with pytest.raises(NotFoundError, match="can be shortened to 4 digits"):
        resolve(JOBS, "bbb")
    with pytest.raises(NotFoundError, match=f"nor any other; {ENDED}"):
        resolve([], "nothing")


@pytest.fixture(autouse=True)
def _own_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REKINDLE_STATE_DIR", str(tmp_path))


def announce(url: str, pid: int | None = None, token: str | None = None) -> Path:
    pid = os.getpid() if pid is None else pid
    return publish(Endpoint(pid=pid, start_ticks=start_ticks(pid), url=url, token=token, started=1))


def test_jobs_of_this_machine_are_found_with_their_tokens() -> None:
    with serving(FakeRest(FakeJob("a" * 32), token="secret")) as rest:
        announce(rest.url, token="secret")
        (found,) = find_jobs(token="another")
    assert (found.job_id, found.on_this_machine) == ("a" * 32, True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_of_a_driver_on_this_machine_needs_no_token(host: str) -> None:
    with serving(FakeRest(FakeJob("a" * 32), token="secret")) as rest:
        port = rest.url.rpartition(":")[2]
        with pytest.raises(UnreachableError, match="requires a token"):
            find_jobs(f"{host}:{port}")
        announce(rest.url, token="secret")
        (found,) = find_jobs(f"{host}:{port}")
    assert (found.job_id, found.on_this_machine) == ("a" * 32, False)


def test_a_token_goes_to_nobody_else() -> None:
    with serving(FakeRest(FakeJob("a" * 32))) as another:
        announce("http://127.0.0.1:1", token="secret")
        find_jobs(another.address)
    assert [request.authorization for request in another.requests] == [None]


def test_without_any_driver_there_are_no_jobs() -> None:
    assert find_jobs() == []


def test_a_driver_that_does_not_answer_is_passed_over() -> None:
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with serving(FakeRest(FakeJob("a" * 32))) as rest:
            announce(rest.url)
            announce("http://127.0.0.1:1", sleeper.pid)
            found = search()
    finally:
        sleeper.communicate(b"\n")
    assert [job.job_id for job in found.jobs] == ["a" * 32]
    (silent,) = found.silent
    assert (silent.pid, silent.url, found.drivers) == (sleeper.pid, "http://127.0.0.1:1", 2)
    assert "nothing answers" in str(silent)


def test_an_address_is_asked_instead_of_this_machine() -> None:
    with serving(FakeRest(FakeJob("a" * 32))) as here, serving(FakeRest(FakeJob("b" * 32), token="t")) as there:
        announce(here.url)
        (found,) = find_jobs(there.address, "t")
        assert (found.job_id, found.on_this_machine) == ("b" * 32, False)
        with pytest.raises(UnreachableError, match="refuses this token"):
            find_jobs(there.address, "wrong")
        assert get_job_client("orders", there.address, "t").get_job_id().to_hex_string() == "b" * 32
        assert get_job_client("aaaa").get_job_id().to_hex_string() == "a" * 32
    with pytest.raises(UnreachableError, match="nothing answers"):
        find_jobs("127.0.0.1:1")
