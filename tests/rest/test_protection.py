"""Who may ask: each rule with a request that it refuses, and the same request as it should be."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response

from rekindle.base.loopback import is_loopback
from rekindle.common import Configuration
from rekindle.exceptions import ConfigurationError
from rekindle.rest.messages import Handler, answer
from rekindle.rest.settings import RestSettings
from support.rest_jobs import Client

TOKEN = "a-token"
LOCAL = RestSettings(max_content_length=100)
WIDE = RestSettings(bind_address="0.0.0.0", token=TOKEN, max_content_length=100)
OWN = RestSettings(token=TOKEN, made_up=True)
BEARER = {"authorization": f"Bearer {TOKEN}"}


def echo(request: Request) -> Response:
    return answer({"method": request.method, "path": request.scope["path"], "body": request.state.body.decode()})


def client(settings: RestSettings = LOCAL, handler: Handler = echo, time_limit: float = 30.0) -> Client:
    """Return a client of an interface where a handler answers everything."""
    return Client([(method, "/{path:path}", handler) for method in ("GET", "POST", "PATCH")], settings, time_limit)


REFUSED: list[tuple[str, RestSettings, str, str, Any, dict[str, str], int]] = [
    ("a name that leads here from elsewhere", LOCAL, "GET", "/jobs", None, {"host": "evil.example:8081"}, 403),
    ("a name that only begins like ours", LOCAL, "GET", "/jobs", None, {"host": "localhost.evil.example"}, 403),
    ("a name in front of ours", LOCAL, "GET", "/jobs", None, {"host": "evil@evil.example"}, 403),
    ("a name in front of this machine's", LOCAL, "GET", "/jobs", None, {"host": "evil.example@localhost"}, 403),
    ("a fragment after this machine's name", LOCAL, "GET", "/jobs", None, {"host": "localhost#.evil.example"}, 403),
    ("a path after this machine's name", LOCAL, "GET", "/jobs", None, {"host": "localhost/.evil.example"}, 403),
    ("a query after this machine's name", LOCAL, "GET", "/jobs", None, {"host": "localhost?.evil.example"}, 403),
    ("a name with a tab in it", LOCAL, "GET", "/jobs", None, {"host": "local\thost"}, 403),
    ("a port that is none", LOCAL, "GET", "/jobs", None, {"host": "localhost:evil.example"}, 403),
    ("a name in brackets", LOCAL, "GET", "/jobs", None, {"host": "[localhost]"}, 403),
    ("no host", LOCAL, "GET", "/jobs", None, {"host": ""}, 403),
    ("a host that is none", LOCAL, "GET", "/jobs", None, {"host": "[::1"}, 403),
    ("a page of somebody else", LOCAL, "POST", "/jobs", {}, {"origin": "http://evil.example"}, 403),
    ("a page of another server here", LOCAL, "POST", "/jobs", {}, {"origin": "http://127.0.0.1:9999"}, 403),
    ("a page from nowhere", LOCAL, "POST", "/jobs", {}, {"origin": "null"}, 403),
    ("a page that only asks", LOCAL, "GET", "/jobs", None, {"origin": "http://evil.example"}, 403),
    ("a form", LOCAL, "POST", "/jobs", b"a=b", {"content-type": "application/x-www-form-urlencoded"}, 415),
    ("a form with text", LOCAL, "POST", "/jobs", b"{}", {"content-type": "text/plain"}, 415),
    ("a body without a type", LOCAL, "PATCH", "/jobs", b"{}", {"content-type": ""}, 415),
    ("a body of which the length is not known", LOCAL, "POST", "/j", None, {"transfer-encoding": "chunked"}, 415),
    (
        "a body of two lengths",
        LOCAL,
        "POST",
        "/j",
        b"{}",
        {"transfer-encoding": "chunked", "content-length": "2", "content-type": "application/json"},
        400,
    ),
    ("a body that says it is too large", LOCAL, "POST", "/jobs", b" " * 101, {}, 413),
    ("an address that is too long", LOCAL, "GET", "/" + "x" * 4096, None, {}, 414),
    ("a query that is too long", LOCAL, "GET", "/jobs?get=" + "x" * 4096, None, {}, 414),
    ("headers that are too long", LOCAL, "GET", "/jobs", None, {"x-long": "x" * 16_400}, 431),
    ("a query with too many parts", LOCAL, "GET", "/jobs?" + "a&" * 60, None, {}, 400),
    ("no token", WIDE, "GET", "/jobs", None, {}, 401),
    ("no token for metrics", WIDE, "GET", "/metrics", None, {}, 401),
    ("a wrong token", WIDE, "GET", "/jobs", None, {"authorization": "Bearer a-tokem"}, 401),
    ("a part of the token", WIDE, "GET", "/jobs", None, {"authorization": "Bearer a-toke"}, 401),
    ("an empty token", WIDE, "GET", "/jobs", None, {"authorization": "Bearer "}, 401),
    ("a token with letters of its own", WIDE, "GET", "/jobs", None, {"authorization": "Bearer \xe9"}, 401),
    ("another way to prove oneself", WIDE, "GET", "/jobs", None, {"authorization": f"Basic {TOKEN}"}, 401),
    ("the token in the address", WIDE, "GET", f"/jobs?token={TOKEN}", None, {}, 401),
    ("a token on loopback, where one is set", RestSettings(token=TOKEN), "GET", "/jobs", None, {}, 401),
    ("no token on this machine", OWN, "GET", "/jobs", None, {}, 401),
    ("no token to change anything", OWN, "POST", "/savepoint-disposal", {}, {}, 401),
    ("no token for what is no page", OWN, "POST", "/", {}, {}, 401),
    ("no token beside the metrics", OWN, "GET", "/metrics/", None, {}, 401),
    ("a name that leads here, with the token", OWN, "GET", "/j", None, {**BEARER, "host": "evil.example"}, 403),
    ("a name that leads here, for metrics", OWN, "GET", "/metrics", None, {"host": "evil.example"}, 403),
    ("a name that leads here, for the page", OWN, "GET", "/", None, {"host": "evil.example"}, 403),
    ("the token as a cookie", OWN, "GET", "/jobs", None, {"cookie": f"token={TOKEN}"}, 401),
    ("no token for metrics, where one is set", RestSettings(token=TOKEN), "GET", "/metrics", None, {}, 401),
    ("a page of somebody else with the token", WIDE, "POST", "/j", {}, {**BEARER, "origin": "http://e.example"}, 403),
]


@pytest.mark.parametrize(
    ("settings", "method", "target", "body", "headers", "status"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_it_is_refused(
    settings: RestSettings, method: str, target: str, body: Any, headers: dict[str, str], status: int
) -> None:
    refused = client(settings).ask(method, target, body, headers)
    assert refused.status == status
    assert refused.error
    assert refused.headers["content-type"] == "application/json; charset=UTF-8"
    assert TOKEN not in refused.body.decode()


ALLOWED: list[tuple[str, RestSettings, str, Any, dict[str, str]]] = [
    ("this machine by number", LOCAL, "GET", None, {"host": "127.0.0.1:8081"}),
    ("this machine by name", LOCAL, "GET", None, {"host": "localhost:8081"}),
    ("this machine by name in capitals", LOCAL, "GET", None, {"host": "LOCALHOST"}),
    ("this machine in the new way", LOCAL, "GET", None, {"host": "[::1]:8081"}),
    ("the name that was set", RestSettings(address="driver.example"), "GET", None, {"host": "driver.example:8081"}),
    ("our own page", LOCAL, "POST", {}, {"host": "localhost:8081", "origin": "http://localhost:8081"}),
    ("JSON", LOCAL, "POST", {}, {"content-type": "application/json; charset=UTF-8"}),
    ("JSON in capitals", LOCAL, "POST", {}, {"content-type": "Application/JSON"}),
    ("no body at all", LOCAL, "POST", None, {}),
    ("an empty body", LOCAL, "POST", None, {"content-length": "0"}),
    ("the largest body", LOCAL, "POST", b" " * 100, {}),
    ("the token", WIDE, "GET", None, BEARER),
    ("the token, whatever the host", WIDE, "GET", None, {**BEARER, "host": "driver.example:8081"}),
    ("the token and another spelling", WIDE, "GET", None, {"authorization": f"bearer  {TOKEN}"}),
]


@pytest.mark.parametrize(
    ("settings", "method", "body", "headers"), [case[1:] for case in ALLOWED], ids=[case[0] for case in ALLOWED]
)
def test_it_passes(settings: RestSettings, method: str, body: Any, headers: dict[str, str]) -> None:
    assert client(settings).ask(method, "/jobs", body, headers).status == 200


def test_prometheus_on_this_machine_needs_no_token() -> None:
    assert client(OWN).get("/metrics").status == 200


def test_who_has_no_token_is_told_how_to_send_one() -> None:
    assert client(WIDE).get("/jobs").headers["www-authenticate"] == 'Bearer realm="rekindle"'


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "content-length"])
def test_a_header_that_counts_may_not_come_twice(name: str) -> None:
    settings = WIDE if name == "authorization" else LOCAL
    own = [("authorization", f"Bearer {TOKEN}")] if settings is WIDE else []
    headers = [*own, (name, "127.0.0.1:8081"), (name, "127.0.0.1:8081")]
    assert client(settings).ask("POST", "/jobs", headers=headers).status == 400


def test_a_body_that_grows_too_large_is_not_read_to_its_end() -> None:
    headers = {"transfer-encoding": "chunked", "content-type": "application/json"}
    refused = client().ask("POST", "/jobs", headers=headers, chunks=[b" " * 60, b" " * 60, b"never read"])
    assert refused.status == 413
    assert "rest.server.max-content-length" in refused.error
    assert refused.headers["connection"] == "close"


def test_a_body_in_parts_is_put_together() -> None:
    headers = {"transfer-encoding": "chunked", "content-type": "application/json"}
    assert client().ask("POST", "/jobs", headers=headers, chunks=[b"{", b"}"]).json["body"] == "{}"


def test_a_request_that_takes_too_long_is_given_up() -> None:
    going_on = threading.Event()

    def slow(request: Request) -> Response:
        going_on.wait()
        return answer({})

    late = client(LOCAL, slow, time_limit=0.05).get("/jobs")
    going_on.set()
    assert late.status == 503
    assert "took too long" in late.error


def test_what_goes_wrong_inside_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    def broken(request: Request) -> Response:
        raise RuntimeError("a secret of the inside")

    failed = client(LOCAL, broken).get("/jobs")
    assert failed.status == 500
    assert failed.error == "Internal server error. The log of the driver says more."
    assert "a secret of the inside" in caplog.text


def test_an_error_of_the_configuration_is_the_clients_to_know() -> None:
    def broken(request: Request) -> Response:
        raise ConfigurationError("name a directory")

    failed = client(LOCAL, broken).get("/jobs")
    assert (failed.status, failed.error) == (400, "name a directory")


def test_answers_are_not_kept_or_shown_by_browsers() -> None:
    headers = client().get("/jobs").headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert not [name for name in headers if name.startswith("access-control")]


# --- settings ---


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", "::1", "[::1]", "localhost", "LocalHost"])
def test_loopback_is_this_machine_only(address: str) -> None:
    assert is_loopback(address)


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "10.0.0.1", "driver.example", "localhost.example", "127.0.0.1.x", ""]
)
def test_anything_else_can_be_reached_from_elsewhere(address: str) -> None:
    assert not is_loopback(address)


def settings_of(**values: str) -> RestSettings:
    configuration = Configuration()
    for key, value in values.items():
        configuration.set_string(f"rest.{key.replace('__', '.').replace('_', '-')}", value)
    return RestSettings.of(configuration)


def test_by_default_it_is_reached_from_here_with_a_token_that_nobody_guesses() -> None:
    first, settings = settings_of(), settings_of()
    assert settings.token
    assert len(settings.token) >= 43
    assert settings.token != first.token
    assert settings.token not in repr(settings)
    assert settings == RestSettings(
        enabled=True,
        bind_address="127.0.0.1",
        ports=tuple(range(8081, 8181)),
        address=None,
        token=settings.token,
        made_up=True,
        max_content_length=1 << 20,
    )
    assert settings.loopback
    assert settings.told


def test_without_a_token_it_listens_on_loopback_only() -> None:
    assert settings_of(authentication="false").token is None
    for other in ({"bind_address": "0.0.0.0"}, {"token": "mine"}):
        with pytest.raises(ConfigurationError, match=r"rest\.authentication is false, and rest\."):
            settings_of(authentication="false", **other)


def test_bound_wider_it_makes_up_a_token_that_nobody_guesses() -> None:
    first, second = settings_of(bind_address="0.0.0.0"), settings_of(bind_address="0.0.0.0")
    assert first.token
    assert len(first.token) >= 43
    assert first.token != second.token
    assert first.token not in repr(first)


def test_a_token_that_is_set_counts_everywhere() -> None:
    assert settings_of(token="mine").token == "mine"
    assert settings_of(token="mine", bind_address="0.0.0.0").token == "mine"
    assert not settings_of(token="mine").told


@pytest.mark.parametrize("token", ["", " ", "with\nline", "tr\xe4ge", " padded "])
def test_a_token_that_cannot_stand_in_a_header_is_refused(token: str) -> None:
    with pytest.raises(ConfigurationError, match=r"rest\.token contains characters"):
        settings_of(token=token)


def test_flinks_other_key_of_the_port_counts_too() -> None:
    assert settings_of(port="9000").ports == (9000,)
    assert settings_of(port="9000", bind_port="9001-9002").ports == (9001, 9002)


def test_the_limit_of_bodies_is_read_as_a_size() -> None:
    assert settings_of(server__max_content_length="2 kb").max_content_length == 2048
