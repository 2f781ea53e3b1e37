"""Keys whose type changed: they never migrate, and those that may change are found where they are looked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Row, Types
from rekindle.common.annotations import as_type_info
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import StateMigrationException
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.blocks import EVENT_TIMERS
from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.state.state_owner import StateOwner
from rekindle.state.timers import TimerQueue
from rekindle.testing import BackendUnderTest, ManualClock, take_snapshot
from support.evolution_changes import AS_IS, INCOMPATIBLE, MIGRATED, RECONFIGURED, Change, color, of, refused
from support.evolution_jobs import OPERATOR, UID, Everything, RunningProgram, held, held_by_operator
from support.evolution_serializers import words_1, words_2
from support.versioned_classes import MODULE, Versions, versioned_classes

GROUPS = 128
HALVES = (KeyGroupRange(0, 63), KeyGroupRange(64, 127))
PLACE = f"{MODULE}.Place"
CLOCK = ManualClock()


def place(versions: Versions, *fields: Any, kind: str = "dataclass") -> Any:
    return getattr(versions, kind)("Place", list(fields), frozen=True)


def places(kind: str, *fields: Any) -> Callable[[Versions], Any]:
    """Return two places, whatever the order of the fields."""

    def made(versions: Versions) -> Any:
        cls = place(versions, *fields, kind=kind)
        return cls, [cls(city="Rome", number=5), cls(city="Oslo", number=-1)]

    return made


CITY, NUMBER = ("city", str), ("number", int)


def renamed_rows(*names: str) -> Any:
    kind = Types.ROW_NAMED(list(names), [Types.INT(), Types.STRING()])
    return kind, [Row(**dict(zip(names, values, strict=True))) for values in ((1, "x"), (2, "y"))]


KEYS = [
    Change("strings stay", lambda v: (str, ["a", "b"]), lambda v: (str, ["a", "b"]), AS_IS),
    Change("dataclasses stay", places("dataclass", CITY, NUMBER), places("dataclass", CITY, NUMBER), AS_IS),
    Change(
        "fields of dataclasses are reordered",
        places("dataclass", CITY, NUMBER),
        places("dataclass", NUMBER, CITY),
        RECONFIGURED,
    ),
    Change(
        "fields of structs are reordered", places("struct", CITY, NUMBER), places("struct", NUMBER, CITY), RECONFIGURED
    ),
    Change(
        "an enum gets a member",
        lambda v: (color(v, RED=1, BLUE=2), [v.module.Color.RED, v.module.Color.BLUE]),  # type: ignore[attr-defined]
        lambda v: (color(v, NEW=0, RED=1, BLUE=2), [v.module.Color.RED, v.module.Color.BLUE]),  # type: ignore[attr-defined]
        AS_IS,
    ),
    Change(
        "an own serializer is reconfigured",
        lambda v: (words_1(v, "-"), ["a", "b"]),
        lambda v: (words_2(v, "+"), ["a", "b"]),
        RECONFIGURED,
    ),
    Change(
        "a field is added",
        lambda v: of(place(v, CITY), ("Rome",), ("Oslo",)),
        lambda v: refused(place(v, CITY, NUMBER)),
        MIGRATED,
        ("never migrates", f"field 'number' of {PLACE} was added"),
    ),
    Change(
        "an own serializer writes otherwise",
        lambda v: (words_1(v, "-"), ["a", "b"]),
        lambda v: refused(words_2(v, "-", wide=True)),
        MIGRATED,
        ("never migrates", "characters became wide"),
    ),
    Change(
        "another type",
        lambda v: (str, ["a", "b"]),
        lambda v: refused(int),
        INCOMPATIBLE,
        ("the type was STRING and is BIG_INT now",),
    ),
    Change(
        "they were pickled",
        lambda v: (None, ["a", "b"]),
        lambda v: refused(str),
        INCOMPATIBLE,
        ("the type was pickled Python objects and is STRING now", "pickled objects have no schema"),
    ),
]
STAY = [change for change in KEYS if not change.words]
REFUSED = [change for change in KEYS if change.words]
OTHER_KEYS = [
    Change("fields of rows are renamed", lambda v: renamed_rows("a", "b"), lambda v: renamed_rows("z", "c"), AS_IS),
    Change(
        "a member of an enum becomes an alias",
        lambda v: (color(v, RED=1, BLUE=2), [v.module.Color.RED, v.module.Color.BLUE]),  # type: ignore[attr-defined]
        lambda v: refused(color(v, CRIMSON=1, RED=1, BLUE=2)),
        AS_IS,
    ),
    Change(
        "members of an enum of numbers get other values",
        lambda v: (color(v, IntEnum, RED=1, BLUE=2), [v.module.Color.RED, v.module.Color.BLUE]),  # type: ignore[attr-defined]
        lambda v: refused(color(v, IntEnum, RED=3, BLUE=4)),
        AS_IS,
    ),
    Change(
        "a field does not count any more when keys are compared",
        places("dataclass", CITY, NUMBER),
        places("dataclass", CITY, ("number", int, dataclasses.field(compare=False))),
        AS_IS,
    ),
]
"""Types that evolve as those of values do, and make other keys of what was written."""

BACKENDS = {"heap": BackendSettings(), "RocksDB": BackendSettings(RocksDBSettings(), incremental=True)}


@pytest.fixture(params=BACKENDS)
def under_test(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    made = BackendUnderTest(request.param, BACKENDS[request.param])
    yield made
    made.close()


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def owner(kind: Any) -> StateOwner:
    serializer = PickleSerializer() if kind is None else serializer_of(as_type_info(kind, "the key type"))
    return StateOwner(OPERATOR, UID, serializer)


def states(backend: KeyedStateBackend, map_key: Any = str) -> tuple[Any, Any, Any, Any]:
    return (
        backend.get_or_create(ValueStateDescriptor("value", str)),
        backend.get_or_create(ListStateDescriptor("list", str)),
        backend.get_or_create(MapStateDescriptor("map", map_key, str)),
        backend.get_or_create_namespaced(ValueStateDescriptor("windowed", str)).use(7),
    )


def fill(backend: KeyedStateBackend, keys: list[Any]) -> None:
    value, elements, mapping, windowed = states(backend)
    for number, backend.key in enumerate(keys):
        value.update(f"value {number}")
        elements.add_all([f"one {number}", f"two {number}"])
        mapping.put("key", f"entry {number}")
        windowed.update(f"window {number}")


def found(backend: KeyedStateBackend, key: Any) -> Any:
    value, elements, mapping, windowed = states(backend)
    backend.key = key
    return value.value(), list(elements), dict(mapping.items()), windowed.value()


def filled(number: int) -> Any:
    elements = [f"one {number}", f"two {number}"]
    return f"value {number}", elements, {"key": f"entry {number}"}, f"window {number}"


@pytest.mark.parametrize("canonical", [True, False], ids=["savepoint", "checkpoint"])
@pytest.mark.parametrize("change", STAY, ids=lambda change: change.name)
def test_state_is_found_by_keys_that_may_change(
    change: Change, under_test: BackendUnderTest, versions: Versions, canonical: bool
) -> None:
    """And in the subtask that gets their records: what sends a key to its key group must not change with its type."""
    kind, keys = change.before(versions)
    before = under_test.create(KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(kind))
    fill(before, keys)
    snapshots = [take_snapshot(before, 1, canonical=canonical)]
    kind, keys = change.after(versions)
    for checkpoint_id in (2, 3):
        halves = [under_test.restore(snapshots, half, GROUPS, CLOCK.now, owner(kind)) for half in HALVES]
        for number, key in enumerate(keys):
            half = next(each for each in halves if key_group_of(key, GROUPS) in each.key_groups)
            assert found(half, key) == filled(number)
            assert key in list(half.keys("value"))
        snapshots = [take_snapshot(half, checkpoint_id, canonical=canonical) for half in halves]


@pytest.mark.parametrize("canonical", [True, False], ids=["savepoint", "checkpoint"])
@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.name)
def test_state_of_keys_that_changed_otherwise_is_refused(
    change: Change, under_test: BackendUnderTest, versions: Versions, canonical: bool
) -> None:
    kind, keys = change.before(versions)
    before = under_test.create(KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(kind))
    fill(before, keys)
    snapshot = take_snapshot(before, 1, canonical=canonical)
    kind, _ = change.after(versions)
    after = under_test.restore([snapshot], KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(kind))
    with pytest.raises(StateMigrationException) as caught:
        after.get_or_create(ValueStateDescriptor("value", str))
    assert f"the key type of state 'value' of operator {OPERATOR!r} (uid {UID!r}) changed" in str(caught.value)
    for words in change.words:
        assert words in str(caught.value)


@pytest.mark.parametrize("change", STAY, ids=lambda change: change.name)
def test_timers_of_keys_that_may_change_are_kept(change: Change, versions: Versions) -> None:
    kind, keys = change.before(versions)
    queue = TimerQueue(EVENT_TIMERS, owner(kind))
    for number, key in enumerate(keys):
        queue.register(key, 100 + number)
    blocks = list(queue.snapshot_blocks(GROUPS))
    kind, keys = change.after(versions)
    for _ in range(2):
        queue = TimerQueue(EVENT_TIMERS, owner(kind))
        queue.restore_blocks(blocks, GROUPS)
        blocks = list(queue.snapshot_blocks(GROUPS))
        assert {block.key_group for block in blocks} == {key_group_of(key, GROUPS) for key in keys}
        assert [queue.pop_due(1_000) for _ in keys] == [(key, 100 + number) for number, key in enumerate(keys)]


@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.name)
def test_timers_of_keys_that_changed_otherwise_are_refused(change: Change, versions: Versions) -> None:
    kind, keys = change.before(versions)
    queue = TimerQueue(EVENT_TIMERS, owner(kind))
    queue.register(keys[0], 100)
    blocks = list(queue.snapshot_blocks(GROUPS))
    kind, _ = change.after(versions)
    with pytest.raises(StateMigrationException) as caught:
        TimerQueue(EVENT_TIMERS, owner(kind)).restore_blocks(blocks)
    assert f"of operator {OPERATOR!r} (uid {UID!r}) changed" in str(caught.value)
    for words in change.words:
        assert words in str(caught.value)


@pytest.mark.parametrize("change", OTHER_KEYS, ids=lambda change: change.name)
def test_timers_of_keys_that_become_other_keys_are_refused(change: Change, versions: Versions) -> None:
    kind, keys = change.before(versions)
    queue = TimerQueue(EVENT_TIMERS, owner(kind))
    queue.register(keys[0], 100)
    blocks = list(queue.snapshot_blocks(GROUPS))
    kind, _ = change.after(versions)
    with pytest.raises(StateMigrationException, match=r"of operator .* is another key now"):
        TimerQueue(EVENT_TIMERS, owner(kind)).restore_blocks(blocks, GROUPS)


@pytest.mark.parametrize("change", OTHER_KEYS, ids=lambda change: change.name)
def test_keys_that_become_other_keys_are_refused(
    change: Change, under_test: BackendUnderTest, versions: Versions
) -> None:
    kind, keys = change.before(versions)
    before = under_test.create(KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(kind))
    fill(before, keys)
    snapshots = [take_snapshot(before, 1, canonical=True), take_snapshot(before, 2)]
    kind, _ = change.after(versions)
    for snapshot in snapshots:
        after = under_test.restore([snapshot], KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(kind))
        with pytest.raises(StateMigrationException, match=r"the key type of state 'value' of .* is another key now"):
            after.get_or_create(ValueStateDescriptor("value", str))


# --- the keys of maps ---


@pytest.mark.parametrize("change", KEYS, ids=lambda change: change.name)
def test_keys_of_a_map_may_change_as_keys_may(change: Change, under_test: BackendUnderTest, versions: Versions) -> None:
    descriptor: Callable[[Any], Any] = lambda kind: MapStateDescriptor("map", kind, str)  # noqa: E731
    kind, keys = change.before(versions)
    before = under_test.create(KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(str))
    mapping: Any = before.get_or_create(descriptor(kind))
    before.key = "key"
    for number, key in enumerate(keys):
        mapping.put(key, f"entry {number}")
    snapshots = [take_snapshot(before, 1, canonical=True), take_snapshot(before, 2)]
    kind, keys = change.after(versions)
    for snapshot in snapshots:
        after = under_test.restore([snapshot], KeyGroupRange(0, GROUPS - 1), GROUPS, CLOCK.now, owner(str))
        if change.words:
            with pytest.raises(StateMigrationException) as caught:
                after.get_or_create(descriptor(kind))
            assert f"the map key type of state 'map' of operator {OPERATOR!r} (uid {UID!r})" in str(caught.value)
            for words in change.words:
                assert words in str(caught.value)
            continue
        mapping = after.get_or_create(descriptor(kind))
        after.key = "key"
        assert dict(mapping.items()) == {key: f"entry {number}" for number, key in enumerate(keys)}
        assert [mapping.get(key) for key in keys] == ["entry 0", "entry 1"]


# --- whole jobs ---


def test_a_job_whose_declared_key_type_changed_is_refused(tmp_path: Path) -> None:
    heap = BackendSettings()
    with RunningProgram(Everything(str), tmp_path / "a", heap, key_type=Types.STRING()) as program:
        program.put_keyed("key", ["one", "two"])
        program.put_operator(["one", "two"])
        savepoint = program.savepoint()
    with pytest.raises(
        StateMigrationException, match=r"the key type of state 'value' of operator .* STRING and is LONG"
    ):
        RunningProgram(Everything(str), tmp_path / "b", heap, savepoint, key_type=Types.LONG())
    with RunningProgram(Everything(str), tmp_path / "c", heap, savepoint, key_type=Types.STRING()) as program:
        assert program.keyed("key") == held(["one", "two"])


def test_keys_of_broadcast_state_may_migrate(tmp_path: Path, versions: Versions) -> None:
    heap = BackendSettings()
    old = place(versions, CITY)
    keys = [old("Rome"), old("Oslo")]
    with RunningProgram(Everything(str, broadcast_key=old), tmp_path / "a", heap) as program:
        program.put_keyed("key", ["one", "two"])
        program.put_operator(["one", "two"], keys)
        savepoint = program.savepoint()
    new = place(versions, CITY, NUMBER)
    keys = [new("Rome", 0), new("Oslo", 0)]
    for number in range(2):
        with RunningProgram(Everything(str, broadcast_key=new), tmp_path / f"b-{number}", heap, savepoint) as program:
            assert program.operator_states() == held_by_operator(["one", "two"], keys)
            savepoint = program.savepoint()
