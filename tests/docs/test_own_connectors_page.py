"""The connectors of the page about writing one pass the kits, against a Redis and a web service in this process."""

from __future__ import annotations

import inspect
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rekindle.datastream.connectors import (
    CheckpointCommitter,
    GenericWriteAheadSink,
    Sink,
    SinkWriter,
    TwoPhaseCommitSinkFunction,
)
from rekindle.testing import BrokenPromiseError, OperatorHarness, Promise, check_sink, check_source, local_environment

PAGE = (Path(__file__).parents[2] / "docs" / "own-connectors.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


class FakeRedis:
    """As much of redis-py as the page uses; all clients share the data."""

    data: dict[str, Any]

    def __init__(self, host: str) -> None:
        assert host == "localhost"

    def rpush(self, name: str, *values: str) -> None:
        self.data.setdefault(name, []).extend(value.encode() for value in values)

    def lrange(self, name: str, start: int, end: int) -> list[bytes]:
        assert (start, end) == (0, -1)
        return list(self.data.get(name, []))

    def sadd(self, name: str, value: str) -> None:
        self.data.setdefault(name, set()).add(value)

    def smembers(self, name: str) -> set[str]:
        return set(self.data.get(name, ()))

    def delete(self, name: str) -> None:
        self.data.pop(name, None)

    def flushall(self) -> None:
        self.data.clear()

    def close(self) -> None: ...


@pytest.fixture
def fake_redis(monkeypatch: pytest.MonkeyPatch) -> type[FakeRedis]:
    monkeypatch.setattr(FakeRedis, "data", {}, raising=False)
    return FakeRedis


class OrdersService:
    """Take orders by PUT, and remember small notes."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self.busy = 0
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(200, service.content.get(self.path))

            def do_PUT(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if service.busy:
                    service.busy -= 1
                    self.answer(503, None)
                else:
                    service.content[self.path] = body
                    self.answer(200, None)

            def answer(self, status: int, content: Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(content).encode())

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def orders(self) -> list[Any]:
        return [order for path, order in self.content.items() if path.startswith("/orders/")]

    def clear(self) -> None:
        self.content.clear()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def orders_service() -> Iterator[OrdersService]:
    service = OrdersService()
    yield service
    service.close()


VISIBLE: list[str] = []


class CommitsAgain(Sink):
    """Forget what was committed."""

    def create_writer(self, context: Any) -> SinkWriter:
        return CommitsAgainWriter()


class CommitsAgainWriter(SinkWriter):
    def __init__(self) -> None:
        self.values: list[str] = []

    def write(self, values: list[str], timestamps: Any) -> None:
        self.values += values

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        values, self.values = self.values, []
        return [value.encode() for value in values]

    def commit(self, committables: list[bytes]) -> None:
        VISIBLE.extend(committable.decode() for committable in committables)

    def abort_leftovers(self) -> None: ...
    def close(self) -> None: ...


@pytest.fixture(scope="module")
def shown() -> Iterator[dict[str, Any]]:
    """The names of the page, its code run in one go."""
    module: Any = ModuleType("redis")
    module.Redis = FakeRedis
    sys.modules["redis"] = module
    page: Any = ModuleType("own_connectors_page")
    sys.modules[page.__name__] = page  # importable: classes of the page are not pickled with all they refer to
    exec(compile("\n".join(BLOCKS), "own-connectors.md", "exec"), vars(page))
    yield vars(page)
    del sys.modules["redis"], sys.modules[page.__name__]


TESTS = re.findall(r"^def (test_\w+)\(", "\n".join(BLOCKS), re.MULTILINE)


@pytest.mark.parametrize("name", TESTS)
def test_a_shown_test_passes(
    name: str, shown: dict[str, Any], fake_redis: type[FakeRedis], orders_service: OrdersService
) -> None:
    fixtures = {"fake_redis": fake_redis, "orders_service": orders_service}
    function = shown[name]
    function(*[fixtures[parameter] for parameter in inspect.signature(function).parameters])


def test_there_is_one_for_each_connector() -> None:
    assert len(TESTS) == 3


def test_each_example_has_about_40_lines() -> None:
    for name in ("RedisSink", "HttpSink", "Pages"):
        (block,) = [block for block in BLOCKS if f"class {name}" in block]
        assert len(block.strip().splitlines()) <= 50


def test_a_mistake_in_the_redis_sink_would_be_found(shown: dict[str, Any], fake_redis: type[FakeRedis]) -> None:
    class Forgetful(shown["RedisSink"]):  # type: ignore[misc]
        def pre_commit(self, transaction: str) -> None: ...

    server = fake_redis("localhost")

    def read() -> list[str]:
        return [value.decode() for name in server.smembers("lines") for value in server.lrange(name, 0, -1)]

    shown["Forgetful"] = Forgetful
    Forgetful.__module__, Forgetful.__qualname__ = "own_connectors_page", "Forgetful"
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(lambda: Forgetful("localhost", "lines"), read, reset=server.flushall)
    assert found.value.promise is Promise.NOT_COMMITTED


def test_what_a_busy_service_refuses_is_sent_again(shown: dict[str, Any], orders_service: OrdersService) -> None:
    harness = OperatorHarness.unkeyed(shown["HttpSink"](orders_service.url))
    harness.process({"id": 1})
    harness.snapshot(1)
    orders_service.busy = 1
    harness.complete(1)
    assert orders_service.orders == []
    harness.process({"id": 2})
    harness.snapshot(2)
    harness.complete(2)
    harness.close()
    assert orders_service.orders == [{"id": 1}, {"id": 2}]


def test_both_sinks_write_in_a_job(
    shown: dict[str, Any], fake_redis: type[FakeRedis], orders_service: OrdersService
) -> None:
    env = local_environment(2)
    env.enable_checkpointing(10)
    numbers = env.from_collection(list(range(20)))
    numbers.map(lambda n: f"line {n}").add_sink(shown["RedisSink"]("localhost", "lines"))
    numbers.map(lambda n: {"id": n}).add_sink(shown["HttpSink"](orders_service.url))
    env.execute("orders")
    server = fake_redis("localhost")
    lines = [value for name in server.smembers("lines") for value in server.lrange(name, 0, -1)]
    assert sorted(lines) == sorted(f"line {n}".encode() for n in range(20))
    assert sorted(order["id"] for order in orders_service.orders) == list(range(20))


def test_the_story_of_the_page_is_what_the_kit_tells() -> None:
    (story,) = re.findall(r"^```text\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE)
    visible: list[str] = VISIBLE
    with pytest.raises(BrokenPromiseError) as found:
        check_sink(CommitsAgain, lambda: list(visible), reset=visible.clear)
    assert str(found.value) == story


def test_every_method_of_the_classes_is_on_the_page() -> None:
    called_by_the_system = {"set_user_context", "set_job_id", "set_operator_id"}
    for cls in (TwoPhaseCommitSinkFunction, GenericWriteAheadSink, CheckpointCommitter):
        public = {name for name, value in vars(cls).items() if callable(value) and not name.startswith("_")}
        assert [name for name in public - called_by_the_system if f"{name}(" not in PAGE] == []


@pytest.mark.parametrize("check", [check_sink, check_source])
def test_every_argument_is_in_the_tables_with_its_default(check: Callable[..., None]) -> None:
    for name, parameter in inspect.signature(check).parameters.items():
        rows = [line for line in PAGE.splitlines() if re.match(rf"\| (`\w+`, )*`{name}`(, `\w+`)* \|", line)]
        assert rows, name
        if isinstance(parameter.default, int | float):
            assert any(f"| {parameter.default}" in row for row in rows), name
