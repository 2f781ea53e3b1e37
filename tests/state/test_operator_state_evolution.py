"""Operator state whose types changed: read as it was written, written as it is now, or refused by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor
from rekindle.exceptions import (
    SerializationError,
    SerializerSnapshotError,
    StateMigrationException,
    StateRestoreError,
)
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes
from rekindle.state.operator_state.stored import StoredItems, StoredList
from rekindle.types.class_typeinfo import PojoTypeInfo, SerializerTypeInfo
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer
from support.operator_state import backend, restored


class Word:
    """Something with a schema: version 1 has a text, version 2 a text and a number, version 3 is version 1 marked."""

    def __init__(self, text: str, number: int = 0) -> None:
        self.text = text
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Word({self.text!r}, {self.number})"


class WordSerializer(TypeSerializer[Word]):
    """Write words in a version; ``mark`` is part of what version 3 writes, and must be that of before."""

    def __init__(self, version: int, mark: str = "") -> None:
        self.version = version
        self.mark = mark

    def serialize(self, element: Word, stream: BytesIO) -> None:
        assert isinstance(stream, DataOutputView)
        if not isinstance(element, Word):
            raise SerializationError(f"{element!r} is no word")
        stream.write_utf(self.mark + element.text)
        if self.version == 2:
            stream.write_int(element.number)

    def deserialize(self, stream: BytesIO) -> Word:
        assert isinstance(stream, DataInputView)
        text = stream.read_utf()
        if not text.startswith(self.mark):
            raise SerializationError(f"{text!r} has no mark {self.mark!r}")
        return Word(text[len(self.mark) :], stream.read_int() if self.version == 2 else 0)

    def snapshot_configuration(self) -> TypeSerializerSnapshot[Word]:
        return WordSerializerSnapshot(self.version, self.mark)


class WordSerializerSnapshot(TypeSerializerSnapshot[Word]):
    """1 → 2 by migration, 3 with another mark by reconfiguration, anything else not at all."""

    def __init__(self, version: int = 0, mark: str = "") -> None:
        self.version = version
        self.mark = mark

    def get_current_version(self) -> int:
        return 1

    def write_snapshot(self, output: DataOutputView) -> None:
        output.write_int(self.version)
        output.write_utf(self.mark)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        self.version, self.mark = input_view.read_int(), input_view.read_utf()

    def restore_serializer(self) -> TypeSerializer[Word]:
        return WordSerializer(self.version, self.mark)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        old = old_serializer_snapshot
        assert isinstance(old, WordSerializerSnapshot)
        if (old.version, old.mark) == (self.version, self.mark):
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        if (old.version, self.version) == (1, 2):
            return TypeSerializerSchemaCompatibility.compatible_after_migration("field 'number' is new")
        if (old.version, self.version) == (3, 3):
            return TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(
                WordSerializer(3, old.mark)
            )
        return TypeSerializerSchemaCompatibility.incompatible(f"words of version {old.version} became {self.version}")

    def describe(self) -> str:
        return f"Word, version {self.version}"


def words(version: int, mark: str = "") -> SerializerTypeInfo:
    return SerializerTypeInfo(WordSerializer(version, mark))


def a_list(get: str) -> Callable[[Any, SerializerTypeInfo], Any]:
    return lambda store, kind: getattr(store, get)(ListStateDescriptor("words", kind))


def put_list(state: Any, contents: list[Word]) -> None:
    state.update(contents)


KINDS: dict[str, tuple[Any, Any, Any]] = {
    "split": (a_list("get_list_state"), put_list, list),
    "union": (a_list("get_union_list_state"), put_list, list),
    "broadcast keys": (
        lambda store, kind: store.get_broadcast_state(MapStateDescriptor("words", kind, Types.INT())),
        lambda state, contents: state.put_all(dict.fromkeys(contents, 7)),
        lambda state: list(state.keys()),
    ),
    "broadcast values": (
        lambda store, kind: store.get_broadcast_state(MapStateDescriptor("words", Types.INT(), kind)),
        lambda state, contents: state.put_all({-1: None, **dict(enumerate(contents))}),
        lambda state: [value for key, value in state.items() if key >= 0],
    ),
}


def schemas(snapshot: dict[str, StoredList]) -> list[Any]:
    """Name the versions and marks of the words that a snapshot holds, part by part."""
    found = [snapshot_from_bytes(written) for part in snapshot["words"].parts for written in part.serializers]
    return [(each.version, each.mark) for each in found if isinstance(each, WordSerializerSnapshot)]


@pytest.mark.parametrize(("get", "put", "contents"), KINDS.values(), ids=KINDS)
class TestAChangedType:
    def written(self, get: Any, put: Any, kind: SerializerTypeInfo, number: int = 5) -> dict[str, StoredList]:
        store = backend()
        put(get(store, kind), [Word("one"), Word("two", number)])
        snapshot: dict[str, StoredList] = store.snapshot()
        return snapshot

    def test_that_is_the_same_reads_what_was_written(self, get: Any, put: Any, contents: Any) -> None:
        store = backend(self.written(get, put, words(2)))
        assert contents(get(store, words(2))) == [Word("one"), Word("two", 5)]
        assert schemas(store.snapshot()) == [(2, "")]

    def test_that_needs_migration_is_read_with_the_old_and_written_with_the_new(
        self, get: Any, put: Any, contents: Any
    ) -> None:
        store = backend(self.written(get, put, words(1), number=0))
        state = get(store, words(2))
        assert contents(state) == [Word("one"), Word("two")]
        assert schemas(store.snapshot()) == [(2, "")]
        state.clear()
        put(state, [Word("one", 1), Word("two", 2)])
        assert contents(get(backend(store.snapshot()), words(2))) == [Word("one", 1), Word("two", 2)]

    def test_that_is_reconfigured_goes_on_with_the_reconfigured_serializer(
        self, get: Any, put: Any, contents: Any
    ) -> None:
        store = backend(self.written(get, put, words(3, "old ")))
        assert [word.text for word in contents(get(store, words(3, "new ")))] == ["one", "two"]
        assert schemas(store.snapshot()) == [(3, "old ")]

    def test_that_is_incompatible_raises_and_names_everything(self, get: Any, put: Any, contents: Any) -> None:
        store = backend(self.written(get, put, words(2)))
        with pytest.raises(StateMigrationException) as caught:
            get(store, words(1))
        text = str(caught.value)
        assert "state 'words' of operator 'buffer' (uid 'buffer-uid')" in text
        assert "words of version 2 became 1" in text
        assert ("key type" in text) == (get is KINDS["broadcast keys"][0])

    def test_that_nobody_asks_for_keeps_its_bytes_and_its_serializers(self, get: Any, put: Any, contents: Any) -> None:
        snapshot = self.written(get, put, words(1))
        assert backend(snapshot).snapshot() == snapshot

    def test_whose_bytes_are_damaged_names_the_state(self, get: Any, put: Any, contents: Any) -> None:
        snapshot = self.written(get, put, words(2))
        part = snapshot["words"].parts[0]
        damaged = StoredList(snapshot["words"].mode, (StoredItems((part.items[0][:-2],), part.serializers),))
        with pytest.raises(StateRestoreError, match=r"state 'words' of operator 'buffer' \(uid 'buffer-uid'\) cannot"):
            get(backend({"words": damaged}), words(2))


@pytest.mark.parametrize("get", ["get_list_state", "get_union_list_state"])
def test_items_of_different_old_subtasks_are_each_read_with_their_own_serializer(get: str) -> None:
    """As after a rescale by a program that did not ask for the state: nothing was migrated then."""
    old = [backend(None, subtask, 3) for subtask in range(3)]
    for subtask, store in enumerate(old):
        kind = words(1 + subtask % 2)
        getattr(store, get)(ListStateDescriptor("words", kind)).update([Word(f"{subtask}.{i}", 0) for i in range(3)])
    (unaware,) = restored(old, 1)
    assert schemas(unaware.snapshot()) == [(1, ""), (2, ""), (1, "")]
    (after,) = restored([unaware], 1)
    state = getattr(after, get)(ListStateDescriptor("words", words(2)))
    assert [word.text for word in state] == [f"{subtask}.{i}" for subtask in range(3) for i in range(3)]
    assert schemas(after.snapshot()) == [(2, "")]


def test_a_serializer_that_was_reconfigured_reads_the_rest_as_well() -> None:
    first, second = backend(None, 0, 2), backend(None, 1, 2)
    first.get_list_state(ListStateDescriptor("words", words(3, "old "))).add(Word("a"))
    second.get_list_state(ListStateDescriptor("words", words(3, "old "))).add(Word("b"))
    (after,) = restored([first, second], 1)
    state = after.get_list_state(ListStateDescriptor("words", words(3, "new ")))
    state.add(Word("c"))
    (again,) = restored([after], 1)
    assert [word.text for word in again.get_list_state(ListStateDescriptor("words", words(3, "newer ")))] == [*"abc"]


def test_what_is_migrated_is_what_the_new_serializer_makes_of_it() -> None:
    class Loud(WordSerializer):
        def serialize(self, element: Word, stream: BytesIO) -> None:
            super().serialize(Word(element.text.upper(), element.number), stream)

    before = backend()
    before.get_list_state(ListStateDescriptor("words", words(1))).add(Word("a"))
    (after,) = restored([before], 1)
    assert list(after.get_list_state(ListStateDescriptor("words", SerializerTypeInfo(Loud(2))))) == [Word("A")]


def test_keys_that_become_one_by_migration_raise_rather_than_lose_an_entry() -> None:
    class Loses(WordSerializer):
        def deserialize(self, stream: BytesIO) -> Word:
            super().deserialize(stream)
            return Word("always the same")

    before = backend()
    before.get_broadcast_state(MapStateDescriptor("words", words(1))).put_all({Word("a"): 1, Word("b"): 2})
    (after,) = restored([before], 1)
    with pytest.raises(StateMigrationException, match="two of its keys became one"):
        after.get_broadcast_state(MapStateDescriptor("words", SerializerTypeInfo(Loses(2))))


def test_an_element_of_another_type_cannot_be_written_and_the_state_is_named() -> None:
    store = backend()
    store.get_list_state(ListStateDescriptor("words", words(1))).add("no word")
    with pytest.raises(SerializationError, match=r"state 'words' of operator 'buffer' .*'no word' is no word"):
        store.snapshot()


def test_what_cannot_be_pickled_names_the_state() -> None:
    store = backend()
    store.get_broadcast_state(MapStateDescriptor("m")).put("function", lambda: None)
    with pytest.raises(SerializationError, match=r"state 'm' of operator 'buffer' .*cannot be part of a snapshot"):
        store.snapshot()


def test_a_serializer_that_nobody_could_read_back_is_refused_when_the_state_is_asked_for() -> None:
    class Local(WordSerializerSnapshot):
        pass

    class Unfindable(WordSerializer):
        def snapshot_configuration(self) -> TypeSerializerSnapshot[Word]:
            return Local(self.version)

    store = backend()
    with pytest.raises(SerializerSnapshotError, match=r"state 'words' of operator 'buffer' .*Local"):
        store.get_list_state(ListStateDescriptor("words", SerializerTypeInfo(Unfindable(1))))


def test_a_state_can_be_asked_for_again_after_its_type_was_refused() -> None:
    before = backend()
    before.get_list_state(ListStateDescriptor("words", words(2))).add(Word("kept", 5))
    (after,) = restored([before], 1)
    with pytest.raises(StateMigrationException):
        after.get_list_state(ListStateDescriptor("words", words(1)))
    assert after.snapshot() == before.snapshot()


def rules(version: int) -> Any:
    """Make a dataclass as a program has it in a version: 2 has one more field, 3 another type of one."""
    fields: list[Any] = [("name", int if version == 3 else str)]
    if version == 2:
        fields.append(("limit", int, dataclasses.field(default=10)))
    return dataclasses.make_dataclass("Rule", fields, namespace={"__module__": "a_program"}, frozen=True)


@pytest.mark.parametrize(("get", "put", "contents"), KINDS.values(), ids=KINDS)
class TestADataclass:
    def test_that_has_a_new_field_gets_its_default(self, get: Any, put: Any, contents: Any) -> None:
        before, old = backend(), rules(1)
        put(get(before, PojoTypeInfo(old)), [old("a"), old("b")])
        (after,) = restored([before], 1)
        new = rules(2)
        assert contents(get(after, PojoTypeInfo(new))) == [new("a", 10), new("b", 10)]
        (again,) = restored([after], 1)
        assert contents(get(again, PojoTypeInfo(new))) == [new("a", 10), new("b", 10)]

    def test_whose_field_changed_its_type_is_refused_by_field_and_types(
        self, get: Any, put: Any, contents: Any
    ) -> None:
        before, old = backend(), rules(1)
        put(get(before, PojoTypeInfo(old)), [old("a")])
        (after,) = restored([before], 1)
        with pytest.raises(
            StateMigrationException, match=r"state 'words' of .*field 'name' of a_program.Rule was STRING and is"
        ):
            get(after, PojoTypeInfo(rules(3)))
