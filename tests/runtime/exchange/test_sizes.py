"""Chunks have a limit in bytes: of what travels together, and of what is processed at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pytest

from rekindle.base.object_size import object_size
from rekindle.common import WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.datastream import ProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource
from rekindle.exceptions import RecordTooLargeError
from rekindle.graph.job_graph import JobEdge
from rekindle.graph.partitioning import REBALANCE, Partitioner, Partitioning
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange import sizes, writers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.partition_writers import BroadcastWriter, GlobalWriter
from rekindle.runtime.exchange.payload import decode
from rekindle.runtime.exchange.sizes import PAYLOAD_BYTES, SPLIT_BYTES, RecordLimit, chunk_size
from rekindle.runtime.exchange.writers import Envelope, ExchangeWriter, HashWriter, RoundRobinWriter
from rekindle.runtime.slot.failure import OperatorError
from support.in_process_job import InProcessJob, collect
from support.seeds import SEED

MEGABYTE = 1_000_000


@dataclass
class Blob:
    data: bytes
    name: str = "blob"


class TestEstimates:
    @pytest.mark.parametrize(
        "record",
        [
            bytes(10 * MEGABYTE),
            "x" * 10 * MEGABYTE,
            bytearray(10 * MEGABYTE),
            (1, "key", bytes(10 * MEGABYTE)),
            {"key": [bytes(5 * MEGABYTE), bytes(5 * MEGABYTE)]},
            Blob(bytes(10 * MEGABYTE)),
            [Blob(bytes(MEGABYTE)) for _ in range(10)],
            np.zeros(10 * MEGABYTE, np.uint8),
            (np.zeros(10 * MEGABYTE, np.uint8)[::1], 1),
            [[[[bytes(10 * MEGABYTE)]]]],
            ["x" * 1_000 for _ in range(10_000)],
        ],
        ids=range(11),
    )
    def test_what_is_large_is_seen_to_be(self, record: Any) -> None:
        assert 8 * MEGABYTE < object_size(record) < 12 * MEGABYTE

    @pytest.mark.parametrize("record", [1, None, 2.5, "user", (1, "user", 2.5), {"a": 1}, Blob(b"x"), [], object()])
    def test_what_is_small_is_not_large(self, record: Any) -> None:
        assert 0 < object_size(record) < 1_000

    def test_what_holds_itself_has_a_size_too(self) -> None:
        endless: list[Any] = [b"x" * 100]
        endless.append(endless)
        assert 100 < object_size(endless) < 1_000_000

    def test_a_chunk_is_as_large_as_its_records(self) -> None:
        assert 9 * MEGABYTE < chunk_size(Chunk([bytes(1_000) for _ in range(10_000)])) < 12 * MEGABYTE
        with_side = Chunk([1])
        with_side.side = {"late": Chunk([bytes(MEGABYTE)] * 3)}
        assert 3 * MEGABYTE < chunk_size(with_side) < 4 * MEGABYTE
        assert chunk_size(Chunk([])) == 0


class TestLimit:
    def test_it_begins_low_and_grows_with_small_records(self) -> None:
        limit = RecordLimit(16, 1_000_000)
        seen = []
        for _ in range(6):
            limit.learn(limit.records, limit.records * 10)
            seen.append(limit.records)
        assert seen == [256, 4_096, 32_768, 32_768, 32_768, 32_768]

    def test_it_shrinks_at_once_with_large_ones_down_to_one(self) -> None:
        limit = RecordLimit(32_768, 1_000_000)
        limit.learn(100, 10_000_000)
        assert limit.records == 10
        limit.learn(10, 1_000_000_000)
        assert limit.records == 1

    def test_few_small_records_say_nothing_of_many(self) -> None:
        limit = RecordLimit(100, 1_000_000)
        limit.learn(3, 30)
        assert limit.records == 100


def edge(kind: Partitioning = Partitioning.REBALANCE) -> JobEdge:
    partitioner = Partitioner(kind, len) if kind is Partitioning.HASH else REBALANCE
    return JobEdge(7, 0, 1, 0, partitioner, exchange=True)


WRITERS: dict[str, Any] = {
    "hash": lambda: HashWriter(edge(Partitioning.HASH), 2, KeyRoutes(2, 128), "target"),
    "round robin": lambda: RoundRobinWriter(edge(), 2, [0]),
    "broadcast": lambda: BroadcastWriter(edge(), 2),
    "global": lambda: GlobalWriter(edge(), 2),
}


def values_of(envelopes: list[Envelope], target: int) -> list[Any]:
    found: list[Any] = []
    for _, to, payload in envelopes:
        if to == target:
            chunk = decode(bytearray(payload))
            assert isinstance(chunk, Chunk)
            found += chunk.values
    return found


@pytest.mark.parametrize("kind", WRITERS)
class TestWriters:
    def test_payloads_of_large_records_are_small(self, kind: str) -> None:
        writer: ExchangeWriter = WRITERS[kind]()
        records = [bytes([number % 256]) * (3 * MEGABYTE + number) for number in range(40)]
        envelopes: list[Envelope] = []
        for start in range(0, 40, 8):
            envelopes += writer.write(Chunk(records[start : start + 8]))
        envelopes += writer.flush()
        assert max(len(payload) for _, _, payload in envelopes) <= SPLIT_BYTES
        assert sum(len(payload) > 2 * PAYLOAD_BYTES for _, _, payload in envelopes) <= 2, "it learns from the first"
        found = [*values_of(envelopes, 0), *values_of(envelopes, 1)]
        assert sorted(found) == sorted(records * (2 if kind == "broadcast" else 1))

    def test_a_few_large_records_among_small_ones_do_not_make_a_large_payload(self, kind: str) -> None:
        rng = random.Random(SEED)
        writer: ExchangeWriter = WRITERS[kind]()
        for _ in range(20):
            writer.write(Chunk(["small"] * 5_000))  # so many fit into one payload
        writer.flush()
        records: list[Any] = [f"{number}" for number in range(2_000)]
        for place in rng.sample(range(2_000), 9):
            records[place] = "large" * (4 * MEGABYTE)
        envelopes = writer.write(Chunk(records, list(range(2_000)))) + writer.flush()
        assert max(len(payload) for _, _, payload in envelopes) <= SPLIT_BYTES
        targets = {target for _, target, _ in envelopes}
        found = [values_of(envelopes, target) for target in targets]
        if kind == "broadcast":
            assert found == [records, records]
        else:
            assert Counter(map(len, chain.from_iterable(found))) == Counter(map(len, records))

    def test_small_records_leave_by_the_ten_thousands(self, kind: str) -> None:
        writer: ExchangeWriter = WRITERS[kind]()
        for _ in range(4):
            writer.write(Chunk([f"{number}" for number in range(50_000)]))
        writer.flush()
        assert writer.limit.records == 1 << 15
        envelopes = writer.write(Chunk(["x"] * 300_000)) + writer.flush()
        assert len(envelopes) <= 2 * (300_000 // (1 << 15) + 2)


class Enlarge(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterator[bytes]:
        yield bytes(value)


class OfEach(WatermarkGenerator):
    """Emit a watermark behind each record, so that all before it leave with it."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(len(event))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


@pytest.mark.parametrize("flushed_by", ["the end of the task", "a watermark"])
def test_a_record_above_what_spark_carries_names_operators_size_and_limit(
    flushed_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "RECORD_BYTES", MEGABYTE)
    env = StreamExecutionEnvironment.get_execution_environment()
    enlarged = env.from_collection([10, 20, 2 * MEGABYTE, 30]).process(Enlarge())
    if flushed_by == "a watermark":
        enlarged = enlarged.assign_timestamps_and_watermarks(WatermarkStrategy.for_generator(OfEach))
    collect(enlarged.name("Enlarge").key_by(len).map(len).name("Measure"))
    with InProcessJob(env, 2) as job, pytest.raises(OperatorError) as caught:
        job.run_to_end()
    error = caught.value.__cause__
    assert isinstance(error, RecordTooLargeError)
    assert str(error).startswith("a record that operator 'Enlarge' sends to 'Measure' has 2,000,")
    assert "Spark carries at most 1,000,000 in one piece" in str(error)


class Watched(ProcessFunction):
    """Make a large value of each number, and watch how many exist."""

    alive = most = 0

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        yield Counted(value)


class Counted:
    """A value of a megabyte that is counted as long as it exists."""

    def __init__(self, number: int) -> None:
        self.__setstate__({"number": number, "data": bytes(MEGABYTE)})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        Watched.alive += 1
        Watched.most = max(Watched.most, Watched.alive)

    def __del__(self) -> None:
        Watched.alive -= 1


@pytest.mark.parametrize("exchange", [False, True])
@pytest.mark.parametrize("source", ["collection", "generator"])
def test_records_that_become_large_are_processed_few_at_a_time(exchange: bool, source: str) -> None:
    Watched.alive = Watched.most = 0
    env = StreamExecutionEnvironment.get_execution_environment()
    if source == "generator":
        generated = DataGeneratorSource(Counted, 1_000)
        large = env.from_source(generated, WatermarkStrategy.no_watermarks(), "numbers")
    else:
        large = env.from_collection(list(range(1_000))).process(Watched())
    if exchange:
        large = large.key_by(lambda value: value.number)
    collect(large.map(lambda value: value.number))
    with InProcessJob(env, 2 if exchange else 1) as job:
        assert sorted(job.run_to_end()) == list(range(1_000))
    assert Watched.most < 150
    assert Watched.alive <= 1


def test_portions_grow_to_whole_chunks_where_records_are_small() -> None:
    processed: list[int] = []

    class Noting(ProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            yield value

    env = StreamExecutionEnvironment.get_execution_environment()
    collect(env.from_collection(list(range(100_000))).process(Noting()).name("Noting"))
    with InProcessJob(env, 1, watermark_interval_ms=3_600_000) as job:  # a portion may take as long as it likes
        running = next(r for r in job.slots[0]._graph if r.node.name == "Noting")
        real = running.operator.process
        running.operator.process = lambda chunk: (processed.append(len(chunk.values)), real(chunk))[1]  # type: ignore[method-assign]
        job.run_to_end()
    assert processed[:13] == [1 << doubled for doubled in range(13)]
    assert set(processed[17:]) <= {10_000}, "as many as are polled at once"


def test_a_row_of_sparks_takes_the_largest_record() -> None:
    longest_array, other_columns = (1 << 31) - 16, 64
    assert sizes.RECORD_BYTES + other_columns <= longest_array
