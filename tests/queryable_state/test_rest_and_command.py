"""Queryable state over REST and by ``rekindle query``: keys and values as JSON, by their types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

import pytest

from rekindle.cli.query import _watch
from rekindle.client.remote_job import RemoteJob
from rekindle.client.rest_client import RestClient
from rekindle.common import JobStatus, Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import NotFoundError, RestError
from rekindle.rest.discovery import discovered
from support.command_line import rekindle_here
from support.processes import wait_until
from support.queryable_jobs import RunningJob, keeps_all, running, settings


@dataclass(frozen=True)
class Place:
    """A key with fields."""

    town: str
    number: int


class ByPlace(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        described = MapStateDescriptor("visits", Types.TUPLE([Types.STRING(), Types.INT()]), Place)
        described.set_queryable("visits")
        self._visits = runtime_context.get_map_state(described)

    def process_element(self, value: Place, ctx: KeyedProcessFunction.Context) -> None:
        self._visits.put((value.town, value.number), value)


def build(env: Any, stream: Any) -> None:
    keeps_all(env, stream)
    places = stream.map(lambda record: Place(record[0], record[1] or 0))
    places.key_by(lambda place: place, Place).process(ByPlace()).uid("places")


@pytest.fixture(scope="module")
def job() -> Iterator[RunningJob]:
    configuration = settings(**{"rest.enabled": "true", "rest.bind-port": "0"})
    with running(build, configuration, 2, checkpoint_ms=50) as job:
        job.feed.put(("a/b", 1), ("a/b", 3))
        job.shows("list", "a/b", [1, 3], "checkpointed")
        yield job


def client_of_the_driver() -> RestClient:
    driver = discovered()[-1]
    return RestClient(driver.url, driver.token)


@pytest.fixture
def rest(job: RunningJob) -> RestClient:
    wait_until(discovered, "the REST interface listens")
    return client_of_the_driver()


def test_the_states_of_a_job_are_listed(job: RunningJob, rest: RestClient) -> None:
    found = rest.get(f"/jobs/{job.job_id}/state")
    assert found["enabled"] is True
    assert found["proxies"] == [f"{host}:{port}" for host, port in job.proxies()]
    assert [state["name"] for state in found["states"]] == [
        "aggregating",
        "folding",
        "list",
        "map",
        "reducing",
        "value",
        "visits",
    ]
    value = found["states"][5]
    assert (value["kind"], value["key-type"], value["type"]) == ("value", "STRING", "LONG")
    assert (value["uid"], value["state"], value["parallelism"]) == ("keeps", "value", 2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("value", 3),
        ("list", [1, 3]),
        ("map", {"1": 1, "3": 3}),
        ("reducing", 3),
        ("aggregating", 2.0),
        ("folding", 13),
    ],
)
def test_a_look_up_shows_a_value_by_its_type(job: RunningJob, rest: RestClient, name: str, value: Any) -> None:
    found = rest.get(f"/jobs/{job.job_id}/state/{name}/a%2Fb")
    assert found["checkpoint-id"] is None
    assert {**found, "checkpoint-id": 0} == {
        "name": name,
        "key": "a/b",
        "kind": name,
        "consistency": "live",
        "checkpoint-id": 0,
        "value": value,
    }
    kept = rest.get(f"/jobs/{job.job_id}/state/{name}/a%2Fb?consistency=checkpointed")
    assert kept["value"] == value
    assert kept["checkpoint-id"] > 0


ODD_TEXTS = ["/x", "x/", "x", "a//b", "", " ", "\n", "a\nb", "%2F", "%", ".", "..", "../..", "?x=1", "#a", "é", "-x"]


class Named(KeyedProcessFunction):
    """Keep each record in states of all names."""

    def open(self, runtime_context: RuntimeContext) -> None:
        described = [ValueStateDescriptor(name, Types.STRING()) for name in ODD_TEXTS if name]
        for each in described:
            each.set_queryable(each.get_name())
        self._states = [runtime_context.get_state(each) for each in described]

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        for state in self._states:
            state.update(value)


def test_every_text_can_be_a_name_and_a_key(rest: RestClient) -> None:
    def build(env: Any, stream: Any) -> None:
        stream.key_by(lambda text: text, Types.STRING()).process(Named())

    with running(build, settings(**{"rest.enabled": "true", "rest.bind-port": "0"}), 1) as job:
        job.feed.put(*ODD_TEXTS)
        remote = RemoteJob(rest, job.job_id)

        def all_are_kept() -> bool:
            with suppress(NotFoundError):
                return bool(remote.query_state("x", ODD_TEXTS[-1], "live")["value"])
            return False

        wait_until(all_are_kept, "all of them are kept")
        for name, key in [*((name, "x/") for name in ODD_TEXTS if name), *(("x/", key) for key in ODD_TEXTS)]:
            found = remote.query_state(name, key, "live")
            assert (found["name"], found["key"], found["value"]) == (name, key, key)
        with pytest.raises(NotFoundError, match="A key follows the name"):
            remote.rest.get(f"/jobs/{job.job_id}/state/x")


def test_keys_with_fields_are_typed_as_json(job: RunningJob, rest: RestClient) -> None:
    for key in ('{"town": "a/b", "number": 3}', '["a/b", 3]'):
        from urllib.parse import quote

        found = rest.get(f"/jobs/{job.job_id}/state/visits/{quote(key, safe='')}")
        assert found["value"] == [[["a/b", 3], {"town": "a/b", "number": 3}]]


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("value/none", 404, "State 'value' holds nothing for key 'none'"),
        ("nothing/a", 404, "The job has no queryable state 'nothing'"),
        ("visits/nonsense", 400, "'nonsense' cannot be a key"),
        ("value/a?consistency=eventual", 400, "can only be live or checkpointed"),
        (f"value/{'x' * 3000}", 404, "holds nothing"),
    ],
)
def test_what_is_wrong_with_a_look_up_is_said(
    job: RunningJob, rest: RestClient, path: str, status: int, words: str
) -> None:
    with pytest.raises(RestError) as caught:
        rest.get(f"/jobs/{job.job_id}/state/{path}")
    assert caught.value.status == status
    assert words in str(caught.value)


def test_queries_are_among_the_metrics_for_prometheus(job: RunningJob, rest: RestClient) -> None:
    job.ask("value", "a/b")
    with urlopen(f"{rest.url}/metrics") as answer:
        text = answer.read().decode()
    for place in ("proxy", "stateServer"):
        assert f"{place}_numQueries" in text
        assert f"{place}_queryLatency" in text


def test_the_command_looks_up_and_lists(job: RunningJob, rest: RestClient) -> None:
    listed = rekindle_here("query", job.job_id)
    assert "visits" in listed.out
    assert "Clients can ask at 127.0.0.1:" in listed.out
    assert rekindle_here("query", job.job_id, "map", "a/b").out == '{"1": 1, "3": 3}\n'
    found = rekindle_here("query", job.job_id, "value", "a/b", "--consistency", "checkpointed", "--json").json()
    assert (found["value"], found["consistency"]) == (3, "checkpointed")
    for arguments, code in (
        (("value", "none"), 3),
        (("value",), 2),
        (("value", "a", "--consistency", "never"), 2),
        (("nothing", "a", "--watch"), 3),
    ):
        assert rekindle_here("query", job.job_id, *arguments).code == code


def test_a_job_without_queryable_state_says_so() -> None:
    from rekindle.testing import local_environment

    env = local_environment(1, {"rest.enabled": "true", "rest.bind-port": "0"})
    env.from_collection([1]).print()
    env.execute()
    wait_until(discovered, "the REST interface listens")
    rest = client_of_the_driver()
    job_id = rest.get("/jobs")["jobs"][-1]["id"]
    assert rest.get(f"/jobs/{job_id}/state") == {"enabled": False, "proxies": [], "states": []}
    with pytest.raises(RestError, match="Queryable state is off"):
        rest.get(f"/jobs/{job_id}/state/x/y")
    with pytest.raises(NotFoundError):
        rest.get(f"/jobs/{'0' * 32}/state")


class Changing:
    """Seem to be a job whose value changes with every look, through a restart, until somebody presses Ctrl-C."""

    def __init__(self) -> None:
        restarting = RestError("The job is restarting", 503)
        self._looks: list[Any] = [NotFoundError("Nothing", 404), 1, 1, restarting, 2, KeyboardInterrupt()]

    def query_state(self, name: str, key: str, consistency: str) -> dict[str, Any]:
        look = self._looks.pop(0)
        if isinstance(look, BaseException):
            raise look
        return {"value": look}

    def queryable_states(self) -> dict[str, Any]:
        return {"states": [{"name": "value"}]}

    def status(self) -> JobStatus:
        return JobStatus.RESTARTING


def test_watching_prints_what_changes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        _watch(Changing(), "value", "a", "live", 0.001, False)  # type: ignore[arg-type]
    assert capsys.readouterr().out == "null\n1\n2\n"
