"""``as_queryable_state`` in all its forms; time-to-live; windows; the client's other faces; metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rekindle.common import Time, Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.exceptions import InvalidArgumentError, JobExecutionError
from rekindle.queryable_state import AsyncQueryableStateClient, UnknownKeyError
from rekindle.testing import local_environment
from support.processes import wait_until
from support.queryable_jobs import descriptor, folding, keeps_all, running, settings

STRING, LONG = Types.STRING(), Types.LONG()


def test_a_stream_is_queryable_in_all_of_flinks_forms(local_cluster: object) -> None:
    streams: dict[str, Any] = {}

    def build(env: Any, stream: Any) -> None:
        keyed = stream.map(lambda record: record[1], LONG).key_by(lambda number: str(number % 2), STRING)
        streams["last"] = keyed.as_queryable_state("last")
        streams["value"] = keyed.as_queryable_state("value", ValueStateDescriptor("v", LONG))
        streams["most"] = keyed.as_queryable_state("most", ReducingStateDescriptor("r", max, LONG))
        streams["folded"] = keyed.as_queryable_state("folded", folding(LONG))

    with running(build, parallelism=1) as job:  # the records of a key stay in their order
        job.feed.put(("", 3), ("", 5), ("", 1), ("", 2))
        for name, odd, even in (("last", 1, 2), ("value", 1, 2), ("most", 5, 2), ("folded", 351, 2)):
            stream = streams[name]
            assert stream.get_queryable_state_name() == name
            for key, expected in (("1", odd), ("0", even)):

                def is_there(name: str = name, key: str = key, expected: int = expected, stream: Any = stream) -> bool:
                    asked = job.client.get_kv_state(
                        job.job_id, name, key, stream.get_key_type(), stream.get_state_descriptor()
                    )
                    try:
                        state: Any = asked.result(30)
                    except UnknownKeyError:
                        return False
                    return (state.value() if name in ("last", "value") else state.get()) == expected

                wait_until(is_there, f"{name} of {key} is {expected}")


def test_lists_and_maps_are_refused_with_the_reason() -> None:
    keyed = local_environment().from_collection([1]).key_by(lambda number: number)
    with pytest.raises(InvalidArgumentError, match="the list would keep every record of the stream for ever"):
        keyed.as_queryable_state("x", ListStateDescriptor("x", LONG))
    with pytest.raises(InvalidArgumentError, match="nothing says which entry a record belongs to"):
        keyed.as_queryable_state("x", MapStateDescriptor("x", LONG, LONG))
    with pytest.raises(TypeError, match="ValueStateDescriptor, ReducingStateDescriptor or FoldingStateDescriptor"):
        keyed.as_queryable_state("x", "y")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name under which clients query"):
        keyed.as_queryable_state(5)  # type: ignore[arg-type]


class Expires(KeyedProcessFunction):
    """Keep values that expire with time, and whose life reading prolongs."""

    def __init__(self, ttl_ms: int) -> None:
        self._ttl = ttl_ms

    def open(self, runtime_context: RuntimeContext) -> None:
        ttl = StateTtlConfig.new_builder(Time.milliseconds(self._ttl)).update_ttl_on_read_and_write().build()
        values, lists = ValueStateDescriptor("value", LONG), ListStateDescriptor("list", LONG)
        for described in (values, lists):
            described.enable_time_to_live(ttl)
            described.set_queryable(described.get_name())
        self._value, self._list = runtime_context.get_state(values), runtime_context.get_list_state(lists)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self._value.update(value[1])
        self._list.add(value[1])


@pytest.mark.parametrize("rocksdb", [False, True], ids=["heap", "rocksdb"])
def test_a_query_shows_nothing_that_has_expired_and_prolongs_no_life(local_cluster: object, rocksdb: bool) -> None:
    def build(ttl_ms: int) -> Any:
        return lambda env, stream: stream.key_by(lambda record: record[0], STRING).process(Expires(ttl_ms))

    with running(build(600_000), settings(rocksdb), 1) as job:
        job.feed.put(("a", 1))
        job.shows("value", "a", 1)
        job.shows("list", "a", [1])
    with running(build(400), settings(rocksdb), 1) as job:
        job.feed.put(("a", 1))

        def gone(kind: str) -> bool:  # asking again and again keeps it alive only if queries prolong its life
            try:
                job.ask(kind, "a")
            except UnknownKeyError:
                return bool(asked)
            asked.append(kind)
            return False

        asked: list[str] = []
        wait_until(lambda: gone("value"), "the value has expired")
        wait_until(lambda: gone("list"), "the list has expired")


def test_state_of_a_window_cannot_be_queried(local_cluster: object) -> None:
    from rekindle.datastream.functions import ProcessWindowFunction
    from rekindle.datastream.window import CountTumblingWindowAssigner

    class Keeps(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> list[Any]:
            described = ValueStateDescriptor("x", LONG)
            described.set_queryable("x")
            context.window_state().get_state(described)
            return []

    env = local_environment(1, settings())
    env.from_collection([1, 2]).key_by(lambda n: 0).window(CountTumblingWindowAssigner.of(1)).process(Keeps()).print()
    with pytest.raises(JobExecutionError, match="it belongs to a window, and queries are for the state of a key"):
        env.execute()


def test_the_client_has_an_asyncio_face(local_cluster: object) -> None:
    with running(keeps_all) as job:
        job.feed.put(*((str(number), number) for number in range(20)))
        for number in range(20):
            job.shows("value", str(number), number)

        async def ask() -> list[Any]:
            async with AsyncQueryableStateClient(*job.proxies()[0]) as client:
                value = descriptor("value")
                states = await asyncio.gather(
                    *(client.get_kv_state(job.job_id, "value", str(number), STRING, value) for number in range(20))
                )
                several = await client.get_kv_states(job.job_id, "value", ["1", "x"], STRING, value)
                with pytest.raises(UnknownKeyError):
                    await client.get_kv_state(job.job_id, "value", "x", STRING, value)
                assert client.metrics().queries == 22
                return [state.value() for state in states] + [several["1"].value(), len(several)]

        assert asyncio.run(ask()) == [*range(20), 1, 1]


def test_without_types_a_client_reads_plain_data(local_cluster: object) -> None:
    with running(keeps_all, parallelism=1) as job:
        job.feed.put(("a", 1), ("a", 2))
        job.shows("map", "a", {"1": 1, "2": 2})
        untyped: Any = job.client.get_kv_state(job.job_id, "map", "a").result(30)
        assert dict(untyped.items()) == {"1": 1, "2": 2}
        assert job.client.get_kv_state(job.job_id, "list", "a").result(30).get() == [1, 2]  # type: ignore[attr-defined]


def test_servers_and_proxies_count_queries(local_cluster: object) -> None:
    with running(keeps_all) as job:
        job.feed.put(*((str(number), number) for number in range(20)))
        job.shows("value", "19", 19)
        job.client.get_kv_states(job.job_id, "value", map(str, range(30)), STRING, descriptor("value")).result(30)

        def counts() -> dict[tuple[str, str], float]:
            found: dict[tuple[str, str], float] = {}
            for metric in job.master.metrics():
                if metric.operator == "Queryable state":
                    place = metric.groups[0], metric.name
                    found[place] = found.get(place, 0) + metric.values["count"]
            return found

        wait_until(lambda: counts().get(("stateServer", "numKeys"), 0) >= 31, "the keys are counted")
        read = counts()
        assert read["proxy", "numQueries"] >= 2
        assert read["proxy", "numKeys"] >= 31
        assert read["proxy", "queryLatency"] == read["proxy", "numQueries"]
        assert read["stateServer", "numFailures"] == 0
