"""The sending side of an exchange: which record goes where."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common import TypeInformation, Types
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.exceptions import InvalidProgramError, SerializationError
from rekindle.graph.job_graph import JobEdge
from rekindle.graph.partitioning import REBALANCE, Partitioner, Partitioning
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange import key_routes
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.payload import decode
from rekindle.runtime.exchange.sizes import RecordLimit
from rekindle.runtime.exchange.writers import Envelope, HashWriter, RoundRobinWriter
from rekindle.state.key_hash import key_group_of
from support.seeds import SEED

EDGE = 7
MAX_PARALLELISM = 128


def hash_writer(parallelism: int, selector: Callable[[Any], Any] = lambda record: record) -> HashWriter:
    edge = JobEdge(EDGE, 0, 1, 0, Partitioner(Partitioning.HASH, selector), exchange=True)
    return HashWriter(edge, parallelism, KeyRoutes(parallelism, MAX_PARALLELISM), "the counter")


def typed_hash_writer(parallelism: int, key_type: TypeInformation, key_of: Callable[[Any], Any]) -> HashWriter:
    edge = JobEdge(EDGE, 0, 1, 0, Partitioner(Partitioning.HASH, key_of, key_type), exchange=True)
    (serializers,) = EdgeSerializers.of([edge])
    return HashWriter(edge, parallelism, KeyRoutes(parallelism, MAX_PARALLELISM), "the counter", serializers)


def round_robin_writer(parallelism: int, cursor: list[int]) -> RoundRobinWriter:
    return RoundRobinWriter(JobEdge(EDGE, 0, 1, 0, REBALANCE, exchange=True), parallelism, cursor)


def fixed_limit(records: int) -> RecordLimit:
    """Let so many records go into a payload, however large they are."""

    class Fixed(RecordLimit):
        def learn(self, records: int, size: int) -> None:
            pass

    return Fixed(records, 1)


def chunks(envelopes: list[Envelope]) -> list[tuple[int, Chunk]]:
    """Open envelopes: to which target goes which chunk."""
    opened = []
    for edge, target, payload in envelopes:
        chunk = decode(bytearray(payload))
        assert edge == EDGE
        assert isinstance(chunk, Chunk)
        assert chunk.values, "no envelope is empty"
        opened.append((target, chunk))
    return opened


def delivered(envelopes: list[Envelope], parallelism: int) -> list[list[Any]]:
    """Return the records of each target, in order."""
    received: list[list[Any]] = [[] for _ in range(parallelism)]
    for target, chunk in chunks(envelopes):
        received[target] += chunk.values
    return received


KEYS: st.SearchStrategy[Hashable] = st.none() | st.integers() | st.text() | st.tuples(st.integers(), st.text())


class TestHashWriter:
    @given(st.lists(KEYS, max_size=60), st.sampled_from([1, 2, 3, 128]))
    def test_each_record_goes_to_the_subtask_that_owns_the_key_group_of_its_key(
        self, keys: list[Hashable], parallelism: int
    ) -> None:
        writer = hash_writer(parallelism, lambda record: record[0])
        records = [(key, number) for number, key in enumerate(keys)]
        received = delivered(writer.write(Chunk(records)) + writer.flush(), parallelism)
        for target, own in enumerate(received):
            for key, _ in own:
                group = key_group_of(key, MAX_PARALLELISM)
                assert subtask_of_key_group(group, parallelism, MAX_PARALLELISM) == target
        assert sorted(number for own in received for _, number in own) == list(range(len(records)))

    def test_records_of_one_target_keep_their_order_over_many_chunks(self) -> None:
        writer = hash_writer(3, lambda record: record % 10)
        envelopes = []
        for start in range(0, 1_000, 70):
            envelopes += writer.write(Chunk(list(range(start, min(start + 70, 1_000)))))
        for own in delivered(envelopes + writer.flush(), 3):
            assert own == sorted(own)
            assert own

    def test_keys_travel_with_their_records(self) -> None:
        writer = hash_writer(2, len)
        envelopes = writer.write(Chunk(["a", "bb", "cc", "ddd"])) + writer.write(Chunk(["e", "ff"])) + writer.flush()
        for _, chunk in chunks(envelopes):
            assert chunk.keys == [len(value) for value in chunk.values]

    def test_timestamps_travel_with_their_records(self) -> None:
        writer = hash_writer(2)
        envelopes = writer.write(Chunk([1, 2, 3], [10, 20, None])) + writer.flush()
        stamps = {v: t for _, c in chunks(envelopes) for v, t in zip(c.values, c.timestamps or [], strict=True)}
        assert stamps == {1: 10, 2: 20, 3: None}

    def test_chunks_with_and_without_timestamps_can_be_mixed(self) -> None:
        for first, second in ([None, [7]], [[7], None]):
            writer = hash_writer(1)
            envelopes = writer.write(Chunk(["a"], first)) + writer.write(Chunk(["b"], second)) + writer.flush()  # type: ignore[arg-type]
            ((_, chunk),) = chunks(envelopes)
            assert chunk.values == ["a", "b"]
            assert chunk.timestamps == [(first or [None])[0], (second or [None])[0]]

    def test_keys_that_are_equal_have_one_route(self) -> None:
        writer = hash_writer(128, lambda record: record[0])
        records = [(1, "a"), (1.0, "b"), (True, "c")]
        assert len(chunks(writer.write(Chunk(records)) + writer.flush())) == 1

    def test_with_a_type_the_type_decides_which_keys_are_one(self) -> None:
        writer = typed_hash_writer(128, Types.TUPLE([Types.LONG()]), key_of=lambda record: (record[0],))
        records = [(1, "a"), (1.0, "b"), (True, "c")]
        ((_, chunk),) = chunks(writer.write(Chunk(records)) + writer.flush())
        assert chunk.values == records
        assert [(key, type(key[0])) for key in chunk.keys or []] == [((1,), int)] * 3

    def test_a_record_goes_where_its_converted_key_belongs(self) -> None:
        writer = typed_hash_writer(128, Types.FLOAT(), key_of=lambda record: record)
        ((target, chunk),) = chunks(writer.write(Chunk([0.1])) + writer.flush())
        assert (chunk.values, chunk.keys) == ([0.1], [0.10000000149011612])
        group = key_group_of(0.10000000149011612, MAX_PARALLELISM)
        assert target == subtask_of_key_group(group, 128, MAX_PARALLELISM)

    def test_a_key_that_does_not_fit_its_type_raises_naming_operator_key_and_type(self) -> None:
        writer = typed_hash_writer(2, Types.LONG(), key_of=lambda record: record)
        with pytest.raises(SerializationError, match=r"'the counter' returned a key that does not fit .*Long.*'x'"):
            writer.write(Chunk([1, "x"]))

    @pytest.mark.parametrize(
        ("key", "kind"), [([1], "a list:"), ({"a": 1}, "a dict:"), ((1, {}), "a tuple with a dict in it:")], ids=str
    )
    def test_an_unhashable_key_raises_naming_selector_operator_and_kind(self, key: Any, kind: str) -> None:
        writer = hash_writer(2, lambda record: key if record == 2 else record)
        with pytest.raises(InvalidProgramError) as info:
            writer.write(Chunk([1, 2, 3]))
        assert f"the key selector of key_by before operator 'the counter' returned {kind}" in str(info.value)
        assert "hashable" in str(info.value)

    def test_an_error_in_the_key_selector_is_the_users_own_with_a_note_on_where(self) -> None:
        writer = hash_writer(2, lambda record: record["user"])
        with pytest.raises(KeyError, match="user") as info:
            writer.write(Chunk([{}]))
        assert info.value.__notes__ == ["raised by the key selector of key_by, before operator 'the counter'"]

    def test_records_leave_in_large_chunks_and_the_rest_with_the_flush(self) -> None:
        writer = hash_writer(1)
        writer.limit = fixed_limit(100)
        assert writer.write(Chunk(list(range(99)))) == []
        ((_, full),) = chunks(writer.write(Chunk([99])))
        assert full.values == list(range(100))
        assert writer.flush() == []
        assert writer.write(Chunk([100])) == []
        ((_, rest),) = chunks(writer.flush())
        assert rest.values == [100]

    def test_an_empty_chunk_sends_nothing(self) -> None:
        writer = hash_writer(2)
        assert writer.write(Chunk([])) + writer.flush() == []

    def test_the_chunk_that_is_written_is_not_changed(self) -> None:
        chunk = Chunk([1, 2], [3, 4])
        writer = hash_writer(1)
        writer.write(chunk)
        writer.write(Chunk([5]))
        assert (chunk.values, chunk.timestamps, chunk.keys) == ([1, 2], [3, 4], None)


class TestKeyRoutes:
    def test_routes_are_remembered_up_to_a_number_and_right_beyond_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(key_routes, "_CACHED_KEYS", 10)
        routes = KeyRoutes(3, MAX_PARALLELISM)
        for key in list(range(25)) * 2:
            assert routes[key] == subtask_of_key_group(key_group_of(key, MAX_PARALLELISM), 3, MAX_PARALLELISM)
            assert len(routes) <= 10

    @pytest.mark.parametrize(
        "keys",
        [[-(1 << 63), -1, 0, 1, (1 << 63) - 1], [0, 1 << 63, 1 << 100], [1, True, 1.0, "1", None], []],
        ids=["integers", "large integers", "of several types", "none"],
    )
    def test_chunks_are_routed_as_their_keys_are(self, monkeypatch: pytest.MonkeyPatch, keys: list[Any]) -> None:
        monkeypatch.setattr(key_routes, "_CACHED_INTEGERS", 2)
        routes = KeyRoutes(3, MAX_PARALLELISM)
        assert routes.targets([7, 8]).tolist() == [routes[7], routes[8]]
        expected = [subtask_of_key_group(key_group_of(key, MAX_PARALLELISM), 3, MAX_PARALLELISM) for key in keys]
        assert routes.targets(keys).tolist() == expected

    def test_integers_are_not_remembered_once_there_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(key_routes, "_CACHED_INTEGERS", 100)
        routes = KeyRoutes(3, MAX_PARALLELISM)
        for start in range(0, 1000, 50):
            routes.targets(list(range(start, start + 50)))
        assert len(routes) == 100


class TestRoundRobinWriter:
    @given(st.lists(st.integers(0, 12), max_size=20), st.integers(1, 5), st.integers(0, 4))
    def test_records_are_dealt_out_one_by_one_across_calls(
        self, sizes: list[int], parallelism: int, start: int
    ) -> None:
        writer = round_robin_writer(parallelism, [start % parallelism])
        total = sum(sizes)
        numbers = iter(range(total))
        envelopes = [e for size in sizes for e in writer.write(Chunk([next(numbers) for _ in range(size)]))]
        received = delivered(envelopes + writer.flush(), parallelism)
        for number in range(total):
            assert number in received[(start + number) % parallelism]
        assert sum(map(len, received)) == total
        assert max(map(len, received)) - min(map(len, received)) <= 1

    def test_records_are_dealt_out_evenly_by_all_tasks_of_a_slot_together(self) -> None:
        chance = random.Random(SEED)
        cursor = [0]
        counts: Counter[int] = Counter()
        for _ in range(50):
            writer = round_robin_writer(4, cursor)
            envelopes = writer.write(Chunk(list(range(chance.randrange(4))))) + writer.flush()
            for target, chunk in chunks(envelopes):
                counts[target] += len(chunk.values)
        assert max(counts.values()) - min(counts.values()) <= 1

    def test_timestamps_travel_with_their_records(self) -> None:
        writer = round_robin_writer(2, [1])
        envelopes = writer.write(Chunk(["a", "b", "c"], [1, 2, 3])) + writer.flush()
        assert [(t, c.values, c.timestamps) for t, c in chunks(envelopes)] == [(0, ["b"], [2]), (1, ["a", "c"], [1, 3])]

    def test_records_leave_in_large_chunks(self) -> None:
        writer = round_robin_writer(2, [0])
        writer.limit = fixed_limit(10)
        assert writer.write(Chunk(list(range(18)))) == []
        assert [target for target, _ in chunks(writer.write(Chunk([18, 19])))] == [0, 1]
