"""Watermarks follow each partition: one that is behind makes nothing late, whichever comes first."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from rekindle.common import Duration, Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, OutputTag, ProcessFunction, ProcessWindowFunction
from rekindle.datastream.window import TumblingEventTimeWindows
from rekindle.runtime.operators.operator import MIN_WATERMARK
from rekindle.testing import local_environment
from support.kafka_tables import KafkaTables, epoch, read
from support.seeds import SEED

LATE = OutputTag("late")
IN_ORDER = WatermarkStrategy.for_monotonous_timestamps()
HOUR = 3_600_000


class Counts(ProcessWindowFunction):
    def process(self, key: str, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        yield key, context.window().start, len(list(elements))


class Seen(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


class SeenKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


class Minutes(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return int(value) * 60_000 + record_timestamp


def message(key: str, stamp: int) -> tuple[bytes, int]:
    return key.encode(), stamp


def windows_and_late(epochs: list[pa.Table], parallelism: int, strategy: WatermarkStrategy) -> tuple[Any, int]:
    env = local_environment(parallelism)
    keyed = env.from_source(KafkaTables(epochs), strategy, "kafka").key_by(lambda value: value)
    counted = keyed.window(TumblingEventTimeWindows.of(Time.seconds(10))).side_output_late_data(LATE).process(Counts())
    late = counted.get_side_output(LATE).map(lambda value: "late")
    with counted.map(lambda c: c).union(late).execute_and_collect() as results:
        found = Counter(results)
    lost = found.pop("late", 0)
    return found, lost


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_a_partition_that_is_an_hour_behind_has_no_late_records_and_makes_none(parallelism: int) -> None:
    print("seed", SEED)
    draw = random.Random(SEED)
    expected: Counter[Any] = Counter()
    epochs = []
    clocks = {0: HOUR, 1: 0, 2: 2 * HOUR, 3: 10_000}
    counts: Counter[tuple[str, int]] = Counter()
    for _ in range(6):
        tasks = []
        for partition in clocks:
            stamps = []
            for _ in range(draw.randint(0, 30)):
                clocks[partition] += draw.randint(0, 3000)
                stamps.append(clocks[partition])
            keys = [draw.choice("abc") for _ in stamps]
            counts.update((key, stamp // 10_000 * 10_000) for key, stamp in zip(keys, stamps, strict=True))
            if stamps:
                tasks.append(read(partition, map(message, keys, stamps)))
        draw.shuffle(tasks)  # Spark omits empty partitions, and its tasks run in any order
        epochs.append(epoch(*tasks))
    expected.update((key, start, number) for (key, start), number in counts.items())

    assert windows_and_late(epochs, parallelism, IN_ORDER) == (expected, 0)


def test_the_watermark_is_that_of_the_slowest_partition_once_all_have_records() -> None:
    first = epoch(read(0, [message("a", 5000)]), read(1, [message("b", 1000)]))
    second = epoch(read(0, [message("c", 6000)]), read(1, [message("d", 2000)]))
    third = epoch(read(1, [message("e", 9000)]))
    fourth = epoch(read(1, [message("f", 9500)]))
    env = local_environment()
    stream = env.from_source(KafkaTables([first, second, third, fourth]), IN_ORDER, "kafka").process(Seen())
    with stream.execute_and_collect() as results:
        seen = {value: (stamp, watermark) for value, stamp, watermark in results}

    assert {value: stamp for value, (stamp, _) in seen.items()} == {
        "a": 5000, "b": 1000, "c": 6000, "d": 2000, "e": 9000, "f": 9500
    }  # fmt: skip
    assert [seen[value][1] for value in "ab"] == [MIN_WATERMARK, MIN_WATERMARK]
    assert [seen[value][1] for value in "cd"] == [999, 999]
    assert [seen[value][1] for value in "ef"] == [1999, 5999]  # partition 0 brings nothing more, and holds it back


def test_a_partition_without_records_holds_the_watermark_back_as_in_flink() -> None:
    first, last = epoch(read(0, [message("a", 5000)])), epoch(read(0, [message("b", 6000)]))
    end = epoch(read(1, [message("c", 100)]))  # so partition 1 is there from the beginning
    env = local_environment()
    stream = env.from_source(KafkaTables([first, last, end]), IN_ORDER, "kafka").process(Seen())
    with stream.execute_and_collect() as results:
        assert [watermark for _, _, watermark in results] == [MIN_WATERMARK] * 3


def test_a_subtask_without_partitions_holds_nothing_back() -> None:
    epochs = [epoch(read(0, [message(key, stamp)])) for key, stamp in (("a", 1000), ("b", 20_000), ("c", 21_000))]
    env = local_environment(3)
    stream = env.from_source(KafkaTables(epochs), IN_ORDER, "kafka").key_by(lambda value: "all").process(SeenKeyed())
    with stream.execute_and_collect() as results:
        assert [watermark for _, watermark in results] == [MIN_WATERMARK, 999, 19_999]


def test_an_assigner_gets_the_timestamp_of_kafka() -> None:
    strategy = IN_ORDER.with_timestamp_assigner(Minutes())
    env = local_environment()
    stream = env.from_source(KafkaTables([epoch(read(0, [message("2", 7)]))]), strategy, "kafka").process(Seen())
    with stream.execute_and_collect() as results:
        assert [(value, stamp) for value, stamp, _ in results] == [("2", 120_007)]


@pytest.mark.parametrize("strategy", [IN_ORDER, WatermarkStrategy.no_watermarks()])
def test_the_position_of_a_source_has_the_uid_that_the_program_gives(strategy: WatermarkStrategy) -> None:
    env = local_environment(2)
    stream = env.from_source(KafkaTables([epoch(read(0, [message("a", 1)]))]), strategy, "kafka")
    stream.uid("orders").set_parallelism(1).map(str).print()
    (source,) = env._compile().cluster_sources
    assert source.uid == "orders"
    assert env._compile().nodes[source.node].parallelism == 1


def test_a_derived_uid_is_the_same_with_and_without_watermarks() -> None:
    def uid(strategy: WatermarkStrategy) -> str:
        env = local_environment()
        env.from_source(KafkaTables([epoch(read(0, [message("a", 1)]))]), strategy, "kafka").print()
        return env._compile().cluster_sources[0].uid

    assert uid(IN_ORDER) == uid(WatermarkStrategy.no_watermarks())


def test_bounded_out_of_orderness_counts_for_each_partition() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
    jumps = [message("a", stamp) for stamp in (10_000, 6000, 12_000, 8000, 30_000, 25_500)]
    behind = [message("a", stamp) for stamp in (100, 50, 5100, 200)]
    expected = Counter({("a", start, n): 1 for start, n in ((0, 6), (10_000, 2), (20_000, 1), (30_000, 1))})
    assert windows_and_late([epoch(read(0, jumps), read(1, behind))], 2, strategy) == (expected, 0)
