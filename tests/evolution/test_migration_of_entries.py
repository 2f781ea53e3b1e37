"""Migration, entry by entry: with time-to-live, None, keys that stand beside their values, many entries, and subtasks
of which only some have migrated."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest

from rekindle.common import Time
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.exceptions import RekindleError
from rekindle.serialization.snapshots.stored_snapshot import snapshot_to_bytes
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.state_owner import StateOwner
from rekindle.testing import BackendSnapshot, BackendUnderTest, ManualClock, take_snapshot
from support.evolution_changes import CHANGES, Change
from support.evolution_serializers import WordSerializer, words_1, words_2
from support.versioned_classes import Versions, versioned_classes

GROUPS = 128
ALL = KeyGroupRange(0, GROUPS - 1)
HALVES = (KeyGroupRange(0, 63), KeyGroupRange(64, 127))
OWNER = StateOwner("words", "words-uid")
TTL = 1_000
BACKENDS = {
    "heap": BackendSettings(incremental=True),
    "RocksDB": BackendSettings(RocksDBSettings(), incremental=True),
    "RocksDB, no cache": BackendSettings(RocksDBSettings(cache_entries=0), incremental=True),
}
KEYS = ["text", 1, True, 2.0, 2.5, None, (1, "x"), ("nested", (2.0, False)), "x" * 300]
"""Untyped keys, some of which stand beside their values in RocksDB, as True is stored as the 1 it equals."""


@pytest.fixture(params=BACKENDS)
def under_test(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    made = BackendUnderTest(request.param, BACKENDS[request.param])
    yield made
    made.close()


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def descriptors(kind: Any, ttl: bool = False) -> tuple[Any, Any, Any]:
    made = (
        ValueStateDescriptor("value", kind),
        ListStateDescriptor("list", kind),
        MapStateDescriptor("map", None, kind),
    )
    for descriptor in made:
        if ttl:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(TTL)).build())
    return made


def opened(backend: KeyedStateBackend, kind: Any, ttl: bool = False) -> tuple[Any, Any, Any]:
    value, elements, mapping = descriptors(kind, ttl)
    return backend.get_or_create(value), backend.get_or_create(elements), backend.get_or_create(mapping)


def read(states: tuple[Any, Any, Any]) -> Any:
    value, elements, mapping = states
    return value.value(), list(elements), dict(mapping.items())


def written(under_test: BackendUnderTest, clock: ManualClock, kind: Any, ttl: bool, keys: list[Any]) -> BackendSnapshot:
    backend = under_test.create(ALL, GROUPS, clock.now, OWNER)
    value, elements, mapping = opened(backend, kind, ttl)
    for backend.key in keys:
        value.update(f"value {backend.key!r}")
        elements.add_all(["one", f"two {backend.key!r}"])
        mapping.put_all({"a": "entry", True: f"true {backend.key!r}", None: "nothing"})
        if not ttl:
            mapping.put("none", None)
    return take_snapshot(backend, 1)


def holds(key: Any, ttl: bool) -> Any:
    entries = {"a": "entry", True: f"true {key!r}", None: "nothing", **({} if ttl else {"none": None})}
    return f"value {key!r}", ["one", f"two {key!r}"], entries


@pytest.mark.parametrize("ttl_now", [False, True], ids=["no ttl now", "ttl now"])
@pytest.mark.parametrize("ttl_before", [False, True], ids=["no ttl before", "ttl before"])
def test_entries_migrate_with_their_times_their_nones_and_their_keys(
    under_test: BackendUnderTest, versions: Versions, ttl_before: bool, ttl_now: bool
) -> None:
    clock = ManualClock(10_000)
    keys = list(dict.fromkeys(KEYS))
    snapshot = written(under_test, clock, words_1(versions, "-"), ttl_before, keys)
    clock.advance(TTL // 2)
    kind = words_2(versions, "-", wide=True)
    for checkpoint_id in (2, 3):
        backend = under_test.restore([snapshot], ALL, GROUPS, clock.now, OWNER)
        states = opened(backend, kind, ttl_now)
        for backend.key in keys:
            assert read(states) == holds(backend.key, ttl_before)
        assert [(type(key), key) for key in backend.keys("value")] == [
            (type(key), key) for key in sorted(keys, key=list(backend.keys("value")).index)
        ]
        snapshot = take_snapshot(backend, checkpoint_id)
    clock.advance(TTL // 2)
    for backend.key in keys:
        expired = ttl_before and ttl_now
        assert read(states) == ((None, [], {}) if expired else holds(backend.key, ttl_before))


def test_many_entries_migrate_each_once(under_test: BackendUnderTest, versions: Versions) -> None:
    clock = ManualClock()
    keys = [f"key {number}" for number in range(800)]
    snapshot = written(under_test, clock, words_1(versions, "-"), False, keys)
    backend = under_test.restore([snapshot], ALL, GROUPS, clock.now, OWNER)
    states = opened(backend, words_2(versions, "-", wide=True))
    assert sorted(backend.keys("list")) == sorted(keys)
    for backend.key in keys:
        assert read(states) == holds(backend.key, False)


MIXED = [
    change
    for change in CHANGES
    if change.name
    in (
        "dataclass: a field with a default is added",
        "dataclass: fields are reordered",
        "an enum gets a member",
        "own serializer: it writes otherwise",
        "own serializer: it must be reconfigured",
        "Avro: int becomes double",
    )
]


@pytest.mark.parametrize("canonical", [True, False], ids=["savepoint", "checkpoint"])
@pytest.mark.parametrize("change", MIXED, ids=lambda change: change.name)
def test_subtasks_of_which_only_some_asked_for_a_state_come_together(
    change: Change, under_test: BackendUnderTest, versions: Versions, canonical: bool
) -> None:
    """A function may ask for its state late: then one subtask has migrated it, and its neighbour has not."""
    clock = ManualClock()
    kind, (value, _) = change.before(versions)
    backend = under_test.create(ALL, GROUPS, clock.now, OWNER)
    state: Any = backend.get_or_create(ValueStateDescriptor("v", kind))
    keys = [f"key {number}" for number in range(20)]
    for backend.key in keys:
        state.update(value)
    snapshot = take_snapshot(backend, 1, canonical=canonical)
    kind, (value, other) = change.after(versions)
    halves = [under_test.restore([snapshot], half, GROUPS, clock.now, OWNER) for half in HALVES]
    asked: Any = halves[0].get_or_create(ValueStateDescriptor("v", kind))
    halves[0].key = changed = next(key for key in keys if key_group_of(key, GROUPS) in HALVES[0])
    asked.update(other)
    for order in (1, -1):
        snapshots = [take_snapshot(half, 2, canonical=canonical) for half in halves][::order]
        whole = under_test.restore(snapshots, ALL, GROUPS, clock.now, OWNER)
        state = whole.get_or_create(ValueStateDescriptor("v", kind))
        assert sorted(whole.keys("v")) == sorted(keys)
        for whole.key in keys:
            assert state.value() == (other if whole.key == changed else value)
        again = under_test.restore([take_snapshot(whole, 3)], ALL, GROUPS, clock.now, OWNER)
        state = again.get_or_create(ValueStateDescriptor("v", kind))
        for again.key in keys:
            assert state.value() == (other if again.key == changed else value)


class Unreadable(WordSerializer):
    """Read nothing."""

    def deserialize(self, stream: BytesIO) -> str:
        raise ValueError("these bytes make no sense")


def test_a_value_that_cannot_be_read_when_it_migrates_names_the_state(
    under_test: BackendUnderTest, versions: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    snapshot = written(under_test, clock, words_1(versions, "-"), False, ["key"])
    kind = words_2(versions, "-", wide=True)
    monkeypatch.setattr(
        kind.snapshot_class, "restore_serializer", lambda self: Unreadable(type(self), self.mark, self.wide)
    )
    backend = under_test.restore([snapshot], ALL, GROUPS, clock.now, OWNER)
    with pytest.raises(RekindleError, match=r"state 'value'.*these bytes make no sense"):
        backend.get_or_create(ValueStateDescriptor("value", kind))


def test_what_was_migrated_is_not_migrated_again(versions: Versions, monkeypatch: pytest.MonkeyPatch) -> None:
    """In RocksDB the record of a state changes with its values: a restore after that reads them as they are."""
    rocksdb, clock = BackendUnderTest("RocksDB", BACKENDS["RocksDB"]), ManualClock()
    snapshot = written(rocksdb, clock, words_1(versions, "-"), False, ["key"])
    kind = words_2(versions, "-", wide=True)
    backend = rocksdb.restore([snapshot], ALL, GROUPS, clock.now, OWNER)
    opened(backend, kind)
    snapshot = take_snapshot(backend, 2)
    canonical = take_snapshot(backend, 3, canonical=True)
    stored = {block.serializers.value for block in canonical.blocks if block.serializers is not None}
    assert stored == {snapshot_to_bytes(kind.snapshot_configuration())}
    monkeypatch.setattr(
        kind.snapshot_class, "restore_serializer", lambda self: pytest.fail("nothing is left to migrate")
    )
    again = rocksdb.restore([snapshot], ALL, GROUPS, clock.now, OWNER)
    states = opened(again, kind)
    again.key = "key"
    assert read(states) == holds("key", False)
    rocksdb.close()
