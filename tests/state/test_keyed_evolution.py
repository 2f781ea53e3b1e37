"""How backends carry state over to the types of another program: what is read, written, passed on and said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pytest

from rekindle.common import Row, Types
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.exceptions import (
    SerializationError,
    SerializerSnapshotError,
    StateMigrationException,
    StateRestoreError,
)
from rekindle.serialization import (
    DataInputView,
    DataOutputView,
    TypeSerializer,
    TypeSerializerSchemaCompatibility,
    TypeSerializerSnapshot,
)
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_to_bytes
from rekindle.state.key_hash import key_group_of
from rekindle.state.rocksdb import table as rocksdb_table
from rekindle.state.state_owner import StateOwner
from rekindle.state.timers import TimerQueue
from rekindle.testing import BackendUnderTest, ManualClock, heap_backends, rocksdb_backends, take_snapshot

ALL = KeyGroupRange(0, 15)
MAX_PARALLELISM = 16
KEYS = range(40)


class Width(TypeSerializer[int]):
    """Serialize integers in so many bytes: the next version of a program may need more of them."""

    def __init__(self, width: int) -> None:
        self.width = width

    def serialize(self, element: int, stream: BytesIO) -> None:
        stream.write(element.to_bytes(self.width, "big"))

    def deserialize(self, stream: BytesIO) -> int:
        return int.from_bytes(stream.read(), "big")

    def snapshot_configuration(self) -> TypeSerializerSnapshot[int]:
        return WidthSnapshot(self.width)


class WidthSnapshot(TypeSerializerSnapshot[int]):
    """Remember the width. Wider is a migration, narrower is incompatible."""

    def __init__(self, width: int = 0) -> None:
        self._width = width

    def get_current_version(self) -> int:
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        output.write_int(self._width)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        self._width = input_view.read_int()

    def restore_serializer(self) -> TypeSerializer[int]:
        return Width(self._width)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        assert isinstance(old_serializer_snapshot, WidthSnapshot)
        before = old_serializer_snapshot._width
        if before == self._width:
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        change = f"the width was {before} and is {self._width} now"
        if before < self._width:
            return TypeSerializerSchemaCompatibility.compatible_after_migration(change)
        return TypeSerializerSchemaCompatibility.incompatible(change)


def stored(serializer: TypeSerializer[Any]) -> bytes:
    return snapshot_to_bytes(serializer.snapshot_configuration())


@pytest.fixture(params=[*heap_backends(), *rocksdb_backends([0, 1000])], ids=lambda under_test: under_test.name)
def under_test(request: pytest.FixtureRequest) -> Iterator[BackendUnderTest]:
    yield request.param
    request.param.close()


def filled(under_test: BackendUnderTest, width: int = 2, **kwargs: Any) -> Any:
    backend = under_test.create(kwargs.get("key_groups", ALL), MAX_PARALLELISM, ManualClock().now)
    value = backend.get_or_create(ValueStateDescriptor("v", Width(width)))
    elements = backend.get_or_create(ListStateDescriptor("l", Width(width)))
    entries = backend.get_or_create(MapStateDescriptor("m", Types.STRING(), Width(width)))
    for key in KEYS:
        if key_group_of(key, MAX_PARALLELISM) in backend.key_groups:
            backend.key = key
            value.update(key)
            elements.update([key, key + 1])
            entries.put_all({"a": key, "none": None})
    return backend


def read(backend: Any, width: int) -> dict[int, tuple[int, list[int], dict[str, int | None]]]:
    value = backend.get_or_create(ValueStateDescriptor("v", Width(width)))
    elements = backend.get_or_create(ListStateDescriptor("l", Width(width)))
    entries = backend.get_or_create(MapStateDescriptor("m", Types.STRING(), Width(width)))
    found = {}
    for key in KEYS:
        if key_group_of(key, MAX_PARALLELISM) in backend.key_groups:
            backend.key = key
            found[key] = (value.value(), list(elements.get()), dict(entries.items()))
    return found


EXPECTED = {key: (key, [key, key + 1], {"a": key, "none": None}) for key in KEYS}


def values_written_with(backend: Any) -> set[bytes]:
    return {block.serializers.value for block in take_snapshot(backend, 9, canonical=True).blocks}


@pytest.mark.parametrize("canonical", [False, True], ids=["checkpoint", "savepoint"])
def test_values_migrate_and_the_next_savepoint_is_wholly_new(under_test: BackendUnderTest, canonical: bool) -> None:
    snapshot = take_snapshot(filled(under_test), 1, canonical=canonical)
    after = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)
    assert read(after, 4) == EXPECTED
    assert values_written_with(after) == {stored(Width(4))}
    again = under_test.restore([take_snapshot(after, 2)], ALL, MAX_PARALLELISM, ManualClock().now)
    assert read(again, 4) == EXPECTED


def test_what_cannot_follow_is_refused_in_words(under_test: BackendUnderTest) -> None:
    snapshot = take_snapshot(filled(under_test, 4), 1)
    owner = StateOwner("sum", "uid-7")
    after = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now, owner)
    words = r"state 'v' of operator 'sum' \(uid 'uid-7'\).*the width was 4 and is 2 now"
    with pytest.raises(StateMigrationException, match=words):
        after.get_or_create(ValueStateDescriptor("v", Width(2)))


def test_state_that_nobody_asks_for_is_passed_on_unread(under_test: BackendUnderTest) -> None:
    snapshot = take_snapshot(filled(under_test), 1)
    passing = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)
    passing.key = 5
    passing.get_or_create(ValueStateDescriptor("other")).update("new")
    assert passing.state_names() == ["l", "m", "other", "v"]
    first = take_snapshot(passing, 2)
    passing.snapshot_completed(2)
    second = take_snapshot(passing, 3, base=first)
    after = under_test.restore([second], ALL, MAX_PARALLELISM, ManualClock().now)
    assert read(after, 4) == EXPECTED
    after.key = 5
    assert after.get_or_create(ValueStateDescriptor("other")).value() == "new"


def test_state_asked_for_late_is_in_the_snapshots_that_follow(under_test: BackendUnderTest) -> None:
    snapshot = take_snapshot(filled(under_test), 1)
    late = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)
    first = take_snapshot(late, 2)
    late.snapshot_completed(2)
    late.key = 5
    late.get_or_create(ValueStateDescriptor("v", Width(4))).update(70_000)  # too much for two bytes
    second = take_snapshot(late, 3, base=first)
    after = under_test.restore([second], ALL, MAX_PARALLELISM, ManualClock().now)
    assert read(after, 4) == EXPECTED | {5: (70_000, *EXPECTED[5][1:])}


def test_subtasks_of_which_only_one_had_migrated_are_brought_together(under_test: BackendUnderTest) -> None:
    snapshots = []
    for subtask, width in enumerate((2, 4)):
        own = key_group_range(subtask, 2, MAX_PARALLELISM)
        snapshots.append(take_snapshot(filled(under_test, width, key_groups=own), 1))
    together = under_test.restore(snapshots, ALL, MAX_PARALLELISM, ManualClock().now)
    assert read(together, 4) == EXPECTED
    assert values_written_with(together) == {stored(Width(4))}


@pytest.mark.parametrize("kind", ["key", "map key"])
def test_keys_never_migrate(under_test: BackendUnderTest, kind: str) -> None:
    def backend_of(width: int, restored: Any = None) -> Any:
        owner = StateOwner("sum", "uid-7", Width(width) if kind == "key" else serializer_of(Types.LONG()))
        make = under_test.create if restored is None else under_test.restore
        return make(*([] if restored is None else [[restored]]), ALL, MAX_PARALLELISM, ManualClock().now, owner)

    def describe(width: int) -> MapStateDescriptor:
        return MapStateDescriptor("m", Width(width) if kind == "map key" else Types.LONG(), Types.STRING())

    before = backend_of(2)
    before.key = 1
    before.get_or_create(describe(2)).put(3, "x")
    snapshot = take_snapshot(before, 1)
    same = backend_of(2, snapshot)
    same.key = 1
    assert dict(same.get_or_create(describe(2)).items()) == {3: "x"}
    with pytest.raises(StateMigrationException, match=rf"the {kind} type of state 'm'.*a {kind} never migrates"):
        backend_of(4, snapshot).get_or_create(describe(4))


def test_namespaces_never_migrate(under_test: BackendUnderTest) -> None:
    before = under_test.create(ALL, MAX_PARALLELISM, ManualClock().now)
    before.key = 1
    before.get_or_create_namespaced(ValueStateDescriptor("v", Width(2)), Width(2)).use(7).update(1)
    snapshot = take_snapshot(before, 1)
    after = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)
    after.key = 1
    evolved = after.get_or_create_namespaced(ValueStateDescriptor("v", Width(4)), Width(2))
    assert evolved.use(7).value() == 1
    other = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)
    with pytest.raises(StateMigrationException, match="namespace type of state 'v'"):
        other.get_or_create_namespaced(ValueStateDescriptor("v", Width(2)), Width(4))


def test_timers_do_not_follow_another_type_of_keys() -> None:
    queue = TimerQueue("timers", StateOwner("sum", "uid-7", Width(2)))
    queue.register(5, 100)
    blocks = list(queue.snapshot_blocks(MAX_PARALLELISM))
    same = TimerQueue("timers", StateOwner("sum", "uid-7", Width(2)))
    same.restore_blocks(blocks)
    assert same.pop_due(100) == (5, 100)
    other = TimerQueue("timers", StateOwner("sum", "uid-7", Width(4)))
    with pytest.raises(StateMigrationException, match="key type of state 'timers' of operator 'sum'"):
        other.restore_blocks(blocks)


def test_a_long_migration_shows_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocksdb_table, "_PROGRESS_EVERY", 10)
    (under_test,) = rocksdb_backends([1000])
    lines: list[str] = []
    owner = StateOwner("sum", "uid-7", report=lines.append)
    after = under_test.restore([take_snapshot(filled(under_test), 1)], ALL, MAX_PARALLELISM, ManualClock().now, owner)
    assert lines == []
    after.get_or_create(ValueStateDescriptor("v", Width(4)))
    under_test.close()
    assert lines == [
        f"migrating state 'v' of operator 'sum' (uid 'uid-7'): {count} of about 40 values" for count in (10, 20, 30, 40)
    ]


def test_a_value_that_is_none_of_its_type_fails_the_snapshot_in_words(under_test: BackendUnderTest) -> None:
    backend = under_test.create(ALL, MAX_PARALLELISM, ManualClock().now)
    backend.key = 1

    def write_and_snapshot() -> None:
        backend.get_or_create(ValueStateDescriptor("v", Types.LONG())).update("text")
        take_snapshot(backend, 1)

    with pytest.raises(SerializationError, match="text") as raised:
        write_and_snapshot()
    assert "'v'" in str(raised.value) + "".join(getattr(raised.value, "__notes__", []))


@dataclasses.dataclass
class Unfindable(WidthSnapshot):
    """Stand for a snapshot that asks for an argument."""

    needed: int


class Wrong(Width):
    """Give a snapshot that nobody can read back."""

    def __init__(self, make: Callable[[], TypeSerializerSnapshot[int]]) -> None:
        super().__init__(2)
        self._make = make

    def snapshot_configuration(self) -> TypeSerializerSnapshot[int]:
        return self._make()


def test_a_snapshot_that_nobody_could_read_back_is_refused_when_the_state_is_asked_for(
    under_test: BackendUnderTest,
) -> None:
    class Local(WidthSnapshot):
        pass

    for make, words in (
        (Local, "defined inside a function"),
        (lambda: lambda: WidthSnapshot(2), "it is a function"),
        (lambda: Unfindable(1), "no constructor without arguments"),
    ):
        backend = under_test.create(ALL, MAX_PARALLELISM, ManualClock().now)
        with pytest.raises(SerializerSnapshotError, match=rf"state 'v' of operator 'operator'.*{words}"):
            backend.get_or_create(ValueStateDescriptor("v", Wrong(make)))


CHANGED_KEYS = [
    (Types.FLOAT(), 0.1),
    (Types.ROW([Types.INT(), Types.INT()]), Row(1, 2)),
    (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]), Row(1, 2)),
    (Types.TUPLE([Types.FLOAT(), Types.STRING()]), (0.1, "a")),
    (Types.LONG(), True),
    (Types.DOUBLE(), 1),
]


@pytest.mark.parametrize("canonical", [False, True], ids=["checkpoint", "savepoint"])
@pytest.mark.parametrize(("key_type", "map_key"), CHANGED_KEYS, ids=repr)
def test_entries_of_maps_are_found_by_the_keys_they_were_put_under(
    under_test: BackendUnderTest, key_type: Any, map_key: Any, canonical: bool
) -> None:
    def describe() -> MapStateDescriptor:
        return MapStateDescriptor("m", key_type, Types.STRING())

    before = under_test.create(ALL, MAX_PARALLELISM, ManualClock().now)
    before.key = 1
    before.get_or_create(describe()).put_all({map_key: "here"})
    after = under_test.restore([take_snapshot(before, 1, canonical=canonical)], ALL, MAX_PARALLELISM, ManualClock().now)
    for backend in (before, after):
        backend.key = 1
        state = backend.get_or_create(describe())
        assert (state.get(map_key), map_key in state, len(list(state.keys()))) == ("here", True, 1)
    state.remove(map_key)
    assert state.is_empty()


@pytest.mark.parametrize("map_key", [2**31, 1.5])
def test_map_keys_that_would_come_back_as_others_are_refused(map_key: Any) -> None:
    backend = BackendUnderTest("heap").create(ALL, MAX_PARALLELISM, ManualClock().now)
    backend.key = 1
    backend.get_or_create(MapStateDescriptor("m", Types.INT(), Types.STRING())).put(map_key, "here")
    with pytest.raises(SerializationError, match=r"state 'm' cannot be written: map key .* would come back as"):
        take_snapshot(backend, 1)


def test_state_that_was_refused_can_be_asked_for_with_its_own_type(under_test: BackendUnderTest) -> None:
    snapshots = [
        take_snapshot(filled(under_test, width, key_groups=key_group_range(subtask, 2, MAX_PARALLELISM)), 1)
        for subtask, width in enumerate((4, 3))
    ]
    after = under_test.restore(snapshots, ALL, MAX_PARALLELISM, ManualClock().now)
    with pytest.raises(StateMigrationException):
        after.get_or_create(ValueStateDescriptor("v", Width(2)))
    assert read(after, 4) == EXPECTED


def test_a_value_that_cannot_be_read_in_a_migration_is_refused_with_the_name_of_the_state(
    under_test: BackendUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = take_snapshot(filled(under_test), 1)
    after = under_test.restore([snapshot], ALL, MAX_PARALLELISM, ManualClock().now)

    def unreadable(self: Width, stream: BytesIO) -> int:
        raise SerializationError("this is no number")

    monkeypatch.setattr(Width, "deserialize", unreadable)
    with pytest.raises(StateRestoreError, match=r"state 'v' of operator 'operator' .*this is no number"):
        after.get_or_create(ValueStateDescriptor("v", Width(4)))
