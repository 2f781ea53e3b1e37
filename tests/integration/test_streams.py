"""Streams of hosted sources compared with plain Python, and what is special about them on Spark."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus, WatermarkStrategy
from rekindle.datastream import (
    CheckpointingMode,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.exceptions import JobCancelledError
from support.balances import environment, key_of
from support.left_behind import left_in

pytestmark = pytest.mark.usefixtures("no_slots_left")


class Twice(FlatMapFunction):
    def flat_map(self, value: int) -> Any:
        yield value
        yield -value


class CountPerKey(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def map(self, value: int) -> tuple[int, int]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        return value % 10, count


class FirstOfKey(FilterFunction):
    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_state(ValueStateDescriptor("seen", None))

    def filter(self, value: int) -> bool:
        first = self._seen.value() is None
        self._seen.update(True)
        return first


class Where(ProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self._subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: Any) -> Any:
        yield self._subtask, value


class AtTheEnd(KeyedProcessFunction):
    """Count in state, and emit the count when event time ends."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", None))

    def process_element(self, value: Any, ctx: Any) -> None:
        self._count.update((self._count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1_000)
        ctx.timer_service().register_event_time_timer(1_000)
        ctx.timer_service().register_event_time_timer(2_000)
        ctx.timer_service().delete_event_time_timer(2_000)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self._count.value(), timestamp


class Tick(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> None:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 300)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), ctx.time_domain().name


def numbers(env: StreamExecutionEnvironment, start: int, end: int) -> Any:
    return env.from_source(NumberSequenceSource(start, end), WatermarkStrategy.no_watermarks(), "numbers")


def test_stateless_and_keyed_operators_give_what_plain_python_gives(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    stream = numbers(env, 1, 5_000).map(lambda n: n * 3).flat_map(Twice()).filter(lambda n: n % 2 == 0)
    collected = stream.key_by(lambda n: n % 10).map(CountPerKey()).execute_and_collect()
    with collected:
        result = Counter(collected)
    values = [v for n in range(1, 5_001) for v in (n * 3, -n * 3) if v % 2 == 0]
    totals = Counter(v % 10 for v in values)
    assert result == Counter((key, count) for key, total in totals.items() for count in range(1, total + 1))


def test_reduce_emits_every_update_in_the_order_of_each_key(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    words = ["a", "b", "a", "c", "a", "b"]
    stream = env.from_collection([(word, 1) for word in words])
    result = list(stream.key_by(lambda t: t[0]).reduce(lambda x, y: (x[0], x[1] + y[1])).execute_and_collect())
    for word in "abc":
        assert [count for w, count in result if w == word] == list(range(1, words.count(word) + 1))


def test_union_of_streams_and_of_different_depth(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    deep = numbers(env, 1, 100).key_by(lambda n: n % 5).filter(FirstOfKey())
    shallow = numbers(env, 1_000, 1_010)
    collection = env.from_collection([-1, -2])
    result = sorted(deep.union(shallow, collection).map(lambda n: n + 1).execute_and_collect())
    firsts = [n for n in result if 0 < n <= 101]
    assert sorted((n - 1) % 5 for n in firsts) == [0, 1, 2, 3, 4]
    assert [n for n in result if n > 101] == list(range(1_001, 1_012))
    assert [n for n in result if n < 1] == [-1, 0]


def test_rebalance_deals_records_out_evenly(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    placed = list(env.from_collection(range(1_000)).rebalance().process(Where()).execute_and_collect())
    assert sorted(value for _, value in placed) == list(range(1_000))
    assert Counter(subtask for subtask, _ in placed) == {0: 500, 1: 500}


def test_order_within_a_key_is_kept_across_exchanges(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    stream = env.from_collection(range(8_000)).key_by(key_of).map(lambda n: n)
    arrived: dict[str, list[int]] = {}
    for n in stream.key_by(key_of).map(lambda n: n).execute_and_collect():
        arrived.setdefault(key_of(n), []).append(n)
    assert sum(map(len, arrived.values())) == 8_000
    assert all(sequence == sorted(sequence) for sequence in arrived.values())


def test_event_time_timers_fire_once_at_the_end_of_input(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    result = sorted(numbers(env, 1, 100).key_by(lambda n: n % 4).process(AtTheEnd()).execute_and_collect())
    assert result == [(0, 25, 1_000), (1, 25, 1_000), (2, 25, 1_000), (3, 25, 1_000)]


def test_processing_time_timers_fire_while_the_sources_are_idle(spark: Any, tmp_path: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("x\ny\n")
    env = environment(spark, None)
    stream = env.from_data_frame(spark.readStream.text(str(tmp_path / "in")), uid="lines")
    iterator = stream.key_by(lambda row: row.value).process(Tick()).execute_and_collect()
    with iterator:
        assert sorted(next(iterator) for _ in range(2)) == [("x", "PROCESSING_TIME"), ("y", "PROCESSING_TIME")]


def test_print_and_user_output_appear_on_the_driver(spark: Any, capfd: Any) -> None:
    env = environment(spark, None)

    def loud(value: int) -> int:
        print(f"saw {value}")
        return value

    env.from_collection([1, 2]).map(loud).set_parallelism(1).print().set_parallelism(1)
    env.from_collection(["x"]).print("tagged")
    env.execute()
    out = capfd.readouterr().out.splitlines()
    assert sorted(line for line in out if not line.startswith("tagged")) == ["1", "2", "saw 1", "saw 2"]
    assert [line for line in out if line.startswith("tagged")] in (["tagged:1> x"], ["tagged:2> x"])


def test_a_sink_function_is_opened_called_and_closed_in_every_subtask(local_cluster: Any, tmp_path: Any) -> None:
    class Files(SinkFunction):
        def __init__(self, directory: str) -> None:
            self._directory = directory

        def open(self, runtime_context: Any) -> None:
            self._file = open(f"{self._directory}/{runtime_context.get_index_of_this_subtask()}", "w")  # noqa: SIM115

        def invoke(self, value: Any, context: Any) -> None:
            self._file.write(f"{value}\n")

        def close(self) -> None:
            self._file.write("closed\n")
            self._file.close()

    env = environment(local_cluster, None)
    numbers(env, 1, 10).add_sink(Files(str(tmp_path)))
    env.execute()
    written = [(tmp_path / str(subtask)).read_text().splitlines() for subtask in (0, 1)]
    assert [lines.pop() for lines in written] == ["closed", "closed"]
    assert sorted(int(n) for lines in written for n in lines) == list(range(1, 11))


def test_a_job_that_never_ends_can_be_cancelled(spark: Any, tmp_path: Any) -> None:
    env = environment(spark, str(tmp_path / "checkpoints"))
    stream = env.from_data_frame(spark.readStream.text(str(tmp_path)), uid="never")
    stream.map(lambda row: row).print()
    client = env.execute_async("endless")
    assert client.get_job_status().result() in (JobStatus.CREATED, JobStatus.RUNNING)
    client.cancel().result(60)
    assert client.get_job_status().result() is JobStatus.CANCELED
    with pytest.raises(JobCancelledError):
        client.get_job_execution_result().result()
    assert left_in(tmp_path / "checkpoints") == [], "checkpoints are deleted unless they are to be retained"


class OpensSlowly(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self._parameter = runtime_context.get_job_parameter("factor", "1")
        time.sleep(4.5)

    def map(self, value: int) -> int:
        return value * int(self._parameter)


def test_a_slot_that_opens_longer_than_the_orphan_timeout_is_no_orphan(spark: Any) -> None:
    settings = {"rekindle_slot_orphan__timeout": "3 s", "pipeline_global__job__parameters": "factor:2"}
    env = environment(spark, None, restarts=0, **settings)
    assert list(env.from_collection([1, 2]).map(OpensSlowly()).set_parallelism(1).execute_and_collect()) == [2, 4]


def test_at_least_once_loses_nothing_behind_an_operator_that_emits_only_once(local_cluster: Any, tmp_path: Any) -> None:
    """A deduplicating operator does not emit again after a replay: what it sent must not be lost on the way."""
    marker = tmp_path / "failed"

    def fail_once(n: int) -> int:
        if n == 5_500 and not marker.exists():
            marker.write_text("x")
            raise RuntimeError("this once")
        return n

    env = environment(local_cluster, str(tmp_path / "checkpoints"), CheckpointingMode.AT_LEAST_ONCE)
    unique = numbers(env, 1, 6_000).key_by(lambda n: n).filter(FirstOfKey())
    seen = set(unique.key_by(lambda n: n % 7).map(fail_once).execute_and_collect())
    assert marker.exists()
    assert seen == set(range(1, 6_001))


def test_limit_ends_the_job(local_cluster: Any) -> None:
    env = environment(local_cluster, None)
    result = env.from_collection(range(100_000)).execute_and_collect(limit=3)
    assert result == [0, 1, 2]


def test_an_environment_without_a_session_takes_the_active_one_and_executes_several_programs(spark: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"rekindle.progress": "none"}))
    env.set_parallelism(1)
    assert list(env.from_collection([("a", 1)]).key_by(lambda t: t[0]).map(lambda t: t[1]).execute_and_collect()) == [1]
    assert env._session is spark
    assert list(env.from_collection([2]).execute_and_collect()) == [2]
