"""Queries that no client would send, to a job that goes on as if nothing had happened."""

from __future__ import annotations

import random
import sys
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.queryable_state import QueryableStateError, UnknownStateNameError
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.plain_data import PLAIN
from rekindle.runtime.queries.query_connection import QueryConnection
from rekindle.runtime.queries.user_token import user_token
from support.processes import wait_until
from support.queryable_jobs import KINDS, keeps_all, running, settings
from support.seeds import SEED, rounds

ODD_KEYS = [
    Decimal("1E+999999999"),
    (1, (2, Decimal("-1E+99999999"))),
    [1, 2],
    {"a": 1},
    {1, 2},
    float("nan"),
    None,
    "\0" * 1000,
    1 << 5000,
    b"",
    (),
]


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "untyped"])
@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
def test_no_query_harms_a_job(local_cluster: object, rocksdb: bool, typed: bool) -> None:
    rng = random.Random(SEED)
    with running(partial(keeps_all, typed=typed), settings(rocksdb), checkpoint_ms=50) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1, "checkpointed", typed=typed)
        connection = QueryConnection(job.proxies()[0], user_token().encode())
        asked = []
        odd = [PLAIN.to_bytes(key) for key in ODD_KEYS]
        for number in range(rounds(300, 5_000)):
            data = rng.choice(odd) if number % 2 else rng.randbytes(rng.randrange(40))
            query = p.Query(
                rng.choice([job.job_id, job.job_id, job.job_id, "", "x" * 100]),
                rng.choice([*KINDS, *KINDS, "", "x" * 1000, "\0"]),
                [p.QueriedKey(data, rng.randrange(-(1 << 63), 1 << 63)) for _ in range(rng.randrange(1, 4))],
                rng.choice(list(p.Consistency)),
                rng.choice(list(p.Form)),
                rng.choice([b"", b"", rng.randbytes(16)]),
                rng.choice([b"", b"", rng.randbytes(16)]),
                rng.choice(["", "", *KINDS, "other"]),
            )
            asked.append(connection.ask(query))
        answered = 0
        for each in asked:
            try:
                answered += len(each.result(60).results)
            except QueryableStateError:
                answered += 1
        assert answered >= len(asked)
        connection.close()
        job.feed.put(("a", 2))
        job.shows("list", "a", [1, 2], typed=typed)
        assert job.master.history.restarts == 0


class Exits:
    """Leave when somebody looks."""

    def __repr__(self) -> str:
        sys.exit("do not look")


class Unspeakable(BaseException):
    def __str__(self) -> str:
        raise self


class Speechless:
    def __repr__(self) -> str:
        raise Unspeakable


class KeepsObjects(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        described = ValueStateDescriptor("object")
        described.set_queryable("object")
        self._kept = runtime_context.get_state(described)

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        self._kept.update({"exits": Exits, "speechless": Speechless}.get(value, int)())


@pytest.mark.parametrize("consistency", list(p.Consistency))
def test_whatever_a_class_raises_a_query_is_answered_and_so_is_the_next(
    local_cluster: object, consistency: p.Consistency
) -> None:
    def build(env: object, stream: Any) -> None:
        stream.key_by(lambda record: record).process(KeepsObjects())

    with running(build, parallelism=1, checkpoint_ms=20) as job:
        job.feed.put("exits", "speechless", "a")
        registry = job.master.queryable_states()
        assert registry is not None
        key_by_key = [p.QueriedKey(key) for key in (b"exits", b"speechless", b"a")]
        query = p.Query(job.job_id, "object", key_by_key, consistency, p.Form.JSON)
        wanted = [p.Code.FAILED, p.Code.FAILED, None]

        def answered() -> bool:
            try:
                return [result.code for result in registry.ask(query).result(10).results] == wanted
            except UnknownStateNameError:
                return False

        wait_until(answered, "all of them are answered")
        assert answered()
        assert job.master.history.restarts == 0
