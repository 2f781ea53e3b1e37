"""Structs of msgspec as bytes, and what becomes of them when their fields change."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes.struct_serializer import StructSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.compatibility import Outcome, TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from support.versioned_classes import MODULE, Versions, versioned_classes


class Plain(msgspec.Struct):
    name: str
    age: int = 3
    tags: list[str] = []
    extra: dict[str, float] = msgspec.field(default_factory=dict)


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    y: int
    x: int = 0


class Base(msgspec.Struct, kw_only=True):
    a: int = 1
    b: str


class Mixed(Base):
    c: float
    d: bool = False


class Tagged(msgspec.Struct, tag="t", tag_field="kind", rename="camel", omit_defaults=True):
    first_name: str = "nobody"
    last_name: str | None = None


class Strict(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    a: int
    b: float = 1.5


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    bones: int


class Owner(msgspec.Struct):
    pet: Cat | Dog
    tree: Tree | None = None


class Tree(msgspec.Struct):
    value: int
    children: list[Tree] = []


class Counted(msgspec.Struct):
    a: int
    b: int = 0

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("a is negative")
        self.b += 1


VALUES = [
    Plain("ada"),
    Plain("ada", 4, ["x"], {"y": 1.5}),
    Plain(None, None, None, None),  # type: ignore[arg-type]
    Frozen(y=1, x=2),
    Mixed(1.5, True, a=3, b="b"),
    Tagged(),
    Tagged("a", "b"),
    Strict(1, 2.5),
    Owner(Cat(9), Tree(1, [Tree(2), Tree(3, [Tree(4)])])),
    Owner(Dog(3)),
]


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def stored(cls: type) -> TypeSerializerSnapshot[Any]:
    return snapshot_from_bytes(snapshot_to_bytes(StructSerializer(cls).snapshot_configuration()))


def compared(old: TypeSerializerSnapshot[Any], cls: type) -> TypeSerializerSchemaCompatibility:
    return StructSerializer(cls).snapshot_configuration().resolve_schema_compatibility(old)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_struct_comes_back_equal_whatever_its_options(value: Any) -> None:
    serializer = StructSerializer(type(value))
    data = serializer.to_bytes(value)
    assert serializer.from_bytes(data) == value
    assert serializer.all_from_bytes(serializer.all_to_bytes([value, value])) == [value, value]
    restored = stored(type(value)).restore_serializer()
    assert restored == serializer == pickle.loads(pickle.dumps(serializer)) == pickle.loads(pickle.dumps(restored))
    assert restored.from_bytes(data) == value
    assert compared(stored(type(value)), type(value)).is_compatible_as_is()


@given(
    st.builds(
        Plain,
        name=st.text(),
        age=st.integers(),
        tags=st.lists(st.text()),
        extra=st.dictionaries(st.text(), st.floats(allow_nan=False)),
    )
)
@settings(max_examples=40, deadline=None)
def test_any_values_of_fields_come_back(value: Plain) -> None:
    serializer = StructSerializer(Plain)
    assert serializer.from_bytes(serializer.to_bytes(value)) == value


def test_fields_are_stored_by_position_without_names_and_tags() -> None:
    assert StructSerializer(Tagged).to_bytes(Tagged("a")) == msgspec.msgpack.encode(["a", None])


def test_only_what_cannot_change_is_not_copied() -> None:
    assert StructSerializer(Frozen).is_immutable_type()
    assert not StructSerializer(Plain).is_immutable_type()
    assert StructSerializer(Plain).create_instance() == Plain("")


def test_a_union_is_pickled() -> None:
    assert dict(StructSerializer(Owner).layout)["pet"] == PickleSerializer()


def test_reading_runs_post_init_as_msgspec_does() -> None:
    serializer = StructSerializer(Counted)
    data = serializer.to_bytes(Counted(1))
    assert serializer.from_bytes(data).b == 2
    with pytest.raises(SerializationError, match=r"Counted cannot be made of its fields.*a is negative"):
        serializer.from_bytes(msgspec.msgpack.encode([-1, 0]))


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (Base, Mixed(1.5, b="b"), "an instance of .*Mixed was given where the type is .*Base, its base class"),
        (Plain, Strict(1), r"Strict\(.*\) \(Strict\) was given where the type is .*Plain"),
        (Plain, Plain("a", "b"), "field 'age' of .*Plain: 'b'"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_written_is_refused(cls: type, value: Any, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        StructSerializer(cls).to_bytes(value)


@given(st.binary(max_size=40))
@settings(max_examples=40, deadline=None)
def test_bytes_that_are_no_struct_are_refused(data: bytes) -> None:
    for cls in (Plain, Tree, Counted):
        try:
            assert type(StructSerializer(cls).from_bytes(data)) is cls
        except SerializationError as error:
            assert cls.__name__ in str(error)  # noqa: PT017 - most bytes are refused, not all


def test_what_is_no_struct_is_refused() -> None:
    with pytest.raises(SerializationError, match=r"is not a msgspec\.Struct"):
        StructSerializer(dict)


def test_fields_are_added_with_defaults_or_zeros_and_removed(versions: Versions) -> None:
    old_class = versions.struct("User", [("name", str), ("age", int)])
    old, data = stored(old_class), StructSerializer(old_class).to_bytes(old_class("ada", 36))
    added: list[Any] = [
        ("n", int),
        ("text", str),
        ("maybe", int | None),
        ("given", int, 7),
        ("items", list[int], msgspec.field(default_factory=lambda: [1])),
        ("empty", list[int], []),
    ]
    cls = versions.struct("User", [("name", str), *added])
    result = compared(old, cls)
    assert result.outcome is Outcome.AFTER_MIGRATION
    assert f"field 'n' of {MODULE}.User was added; it starts as 0" in result.reasons
    assert f"field 'items' of {MODULE}.User was added; it starts as [1]" in result.reasons
    assert f"field 'age' of {MODULE}.User was removed; its values are dropped" in result.reasons
    value = old.restore_serializer_for(StructSerializer(cls).snapshot_configuration()).from_bytes(data)
    assert value == cls("ada", 0, "", None, 7, [1], [])


def test_reordered_fields_keep_the_order_in_which_they_are_stored(versions: Versions) -> None:
    old_class = versions.struct("User", [("name", str), ("age", int)])
    old, data = stored(old_class), StructSerializer(old_class).to_bytes(old_class("ada", 36))
    cls = versions.struct("User", [("age", int), ("name", str)], frozen=True, kw_only=True)
    result = compared(old, cls)
    assert result.outcome is Outcome.RECONFIGURED
    assert result.get_reconfigured_serializer().from_bytes(data) == cls(age=36, name="ada")
    assert result.get_reconfigured_serializer().to_bytes(cls(age=36, name="ada")) == data


def test_a_changed_type_or_name_is_incompatible(versions: Versions) -> None:
    old = stored(versions.struct("User", [("x", int)]))
    assert compared(old, versions.struct("User", [("x", str)])).is_incompatible()
    assert compared(old, versions.struct("Customer", [("x", int)])).is_incompatible()


def test_options_may_change_without_a_trace(versions: Versions) -> None:
    old = stored(versions.struct("User", [("x", int)]))
    cls = versions.struct("User", [("x", int)], array_like=True, tag="u", rename="upper", frozen=True)
    assert compared(old, cls).is_compatible_as_is()


def test_state_of_a_struct_that_is_gone_names_it(versions: Versions) -> None:
    old = stored(versions.struct("User", [("x", int)]))
    versions.remove("User")
    with pytest.raises(SerializerSnapshotError, match=f"class {MODULE}.User, and there is no such class any more"):
        old.restore_serializer()
