"""Dataclasses as bytes, and what becomes of them when their fields change."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable, Iterator
from dataclasses import InitVar, dataclass, field
from datetime import date
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Optional, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes.class_fields import keep_annotations
from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.classes.struct_serializer import StructSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.compatibility import Outcome, TypeSerializerSchemaCompatibility
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer
from support.versioned_classes import MODULE, Versions, versioned_classes

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTheTypeChecker

T = TypeVar("T")


class Color(Enum):
    RED = 1
    BLUE = 2


@dataclass
class Address:
    street: str
    number: int


@dataclass
class User:
    name: str
    age: int
    height: float = 1.5
    address: Address | None = None
    tags: list[str] = field(default_factory=list)
    scores: dict[str, int] = field(default_factory=dict)
    color: Color = Color.RED
    born: date | None = None
    anything: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: int = 0


@dataclass(frozen=True)
class FrozenList:
    items: list[int]


@dataclass
class Base:
    a: int
    count: ClassVar[int] = 7


@dataclass
class Derived(Base):
    b: str
    total: int = field(init=False)
    factor: InitVar[int] = 2

    def __post_init__(self, factor: int) -> None:
        self.total = self.a * factor


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class Tree:
    value: int
    left: Optional[Tree] = None  # noqa: UP045 - both ways of writing it are used
    right: Tree | None = None
    others: list[Tree] = field(default_factory=list)


@dataclass
class Team:
    name: str
    members: list[Member] = field(default_factory=list)


@dataclass
class Member:
    name: str
    leads: Team | None = None


@dataclass
class Nothing:
    pass


@dataclass
class Unresolved:
    price: OnlyForTheTypeChecker
    amount: int


@dataclass
class NamedLikeItsType:
    date: date | None = None


@dataclass
class Guarded:
    x: int

    def __setattr__(self, name: str, value: Any) -> None:
        raise AssertionError("nobody sets my fields")


class AlsoADict(dict[str, int]):
    pass


@dataclass
class DictAndFields(AlsoADict):
    x: int = 0


class OwnSerializer(TypeSerializer[Any]):
    def serialize(self, element: Any, stream: Any) -> None:
        stream.write(b"x")

    def deserialize(self, stream: Any) -> Any:
        return stream.read()


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


def stored(cls: type) -> TypeSerializerSnapshot[Any]:
    """Return the snapshot of a class as a later program reads it."""
    return snapshot_from_bytes(snapshot_to_bytes(DataclassSerializer(cls).snapshot_configuration()))


def compared(old: TypeSerializerSnapshot[Any], cls: type) -> TypeSerializerSchemaCompatibility:
    return DataclassSerializer(cls).snapshot_configuration().resolve_schema_compatibility(old)


def migrated(data: bytes, old: TypeSerializerSnapshot[Any], cls: type) -> Any:
    """Read bytes, write them with the serializer of today, and read them again, as state that is migrated."""
    new = DataclassSerializer(cls)
    value = old.restore_serializer_for(new.snapshot_configuration()).from_bytes(data)
    assert old.restore_serializer().from_bytes(data) == value
    return new.from_bytes(new.to_bytes(value))


VALUES = [
    User("ada", 36),
    User("ada", 36, 1.7, Address("st", 3), ["a"], {"x": 1}, Color.BLUE, date(1815, 12, 10), {1, 2}),
    Point(x=1, y=-5),
    Derived(4, "b"),
    Box([1, 2]),
    Tree(1, Tree(2, None, Tree(3)), None, [Tree(4), Tree(5, others=[Tree(6)])]),
    Team("a", [Member("b", Team("c", [Member("d")]))]),
    Nothing(),
    NamedLikeItsType(date(2020, 1, 1)),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_an_instance_comes_back_equal_one_by_one_and_many_at_once(value: Any) -> None:
    serializer = DataclassSerializer(type(value))
    assert serializer.from_bytes(serializer.to_bytes(value)) == value
    assert serializer.all_from_bytes(serializer.all_to_bytes([value, value])) == [value, value]
    assert serializer.copy(value) == value
    assert serializer.converted([value]) == [value]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_serializer_comes_back_from_its_snapshot_and_from_a_pickle(value: Any) -> None:
    serializer = DataclassSerializer(type(value))
    restored = stored(type(value)).restore_serializer()
    for other in (restored, pickle.loads(pickle.dumps(serializer)), pickle.loads(pickle.dumps(restored))):
        assert other == serializer
        assert hash(other) == hash(serializer)
        assert other.from_bytes(serializer.to_bytes(value)) == value
    assert compared(stored(type(value)), type(value)).is_compatible_as_is()


@given(
    st.builds(
        User,
        name=st.text(),
        age=st.integers(-(2**63), 2**63 - 1),
        height=st.floats(allow_nan=False),
        address=st.none() | st.builds(Address, street=st.text(), number=st.integers(0, 999)),
        tags=st.lists(st.text()),
        scores=st.dictionaries(st.text(), st.integers(-5, 5)),
        color=st.sampled_from(Color),
        born=st.none() | st.dates(),
        anything=st.none() | st.sets(st.integers()),
    )
)
@settings(max_examples=40, deadline=None)
def test_any_values_of_fields_come_back(user: User) -> None:
    serializer = DataclassSerializer(User)
    assert serializer.from_bytes(serializer.to_bytes(user)) == user


def test_an_instance_is_much_smaller_than_its_pickle() -> None:
    user = Address("Main Street", 12)
    assert len(DataclassSerializer(Address).to_bytes(user)) * 3 < len(pickle.dumps(user, 5))


def test_every_field_may_be_none() -> None:
    nobody = User(*[None] * 9)  # type: ignore[arg-type]
    serializer = DataclassSerializer(User)
    assert serializer.from_bytes(serializer.to_bytes(nobody)) == nobody


def test_reading_runs_neither_init_nor_post_init_nor_a_setter() -> None:
    derived = Derived(4, "b")
    derived.total = -1
    serializer = DataclassSerializer(Derived)
    assert serializer.from_bytes(serializer.to_bytes(derived)).total == -1
    guarded = object.__new__(Guarded)
    object.__setattr__(guarded, "x", 3)
    assert DataclassSerializer(Guarded).from_bytes(DataclassSerializer(Guarded).to_bytes(guarded)).x == 3


def test_a_field_whose_type_cannot_be_found_is_pickled() -> None:
    serializer = DataclassSerializer(Unresolved)
    assert dict(serializer.layout)["price"] == PickleSerializer()
    assert serializer.from_bytes(serializer.to_bytes(Unresolved({1}, 2))) == Unresolved({1}, 2)  # type: ignore[arg-type]


def test_a_class_of_a_script_takes_along_what_its_annotations_mean(versions: Versions) -> None:
    versions.module.Day = date  # type: ignore[attr-defined]
    cls = versions.dataclass("User", [("born", "Day | None"), ("friends", "list[User]"), ("lost", "Unknown")])
    kept = DataclassSerializer(cls)
    keep_annotations(cls)
    del versions.module.Day  # type: ignore[attr-defined]
    assert DataclassSerializer(cls) == kept
    assert [type(serializer).__name__ for _, serializer in kept.layout[::2]] == [
        "SqlDateSerializer",
        "PickleSerializer",
    ]
    keep_annotations(cls)
    assert dict(DataclassSerializer(cls).layout)["born"] == PickleSerializer()


def test_only_what_cannot_change_is_not_copied() -> None:
    assert DataclassSerializer(Point).is_immutable_type()
    assert not DataclassSerializer(Address).is_immutable_type()
    assert not DataclassSerializer(FrozenList).is_immutable_type()
    value = FrozenList([1])
    assert DataclassSerializer(FrozenList).copy(value).items is not value.items


def test_an_empty_instance_has_defaults_and_zeros() -> None:
    assert DataclassSerializer(User).create_instance() == User("", 0)
    assert DataclassSerializer(Point).create_instance() == Point(x=0)


# --- what is refused ---


@pytest.mark.parametrize(
    ("cls", "value", "message"),
    [
        (Base, Derived(1, "b"), "an instance of .*Derived was given where the type is .*Base, its base class"),
        (User, Address("a", 1), r"Address\(.*\) \(Address\) was given where the type is .*User"),
        (User, None, r"None \(NoneType\) was given"),
        (User, User("a", "old"), "field 'age' of .*User: 'old'"),  # type: ignore[arg-type]
        (User, User("a", 1, address=Address("b", "c")), "field 'address' of .*User: field 'number' of .*Address: 'c'"),  # type: ignore[arg-type]
        (User, User("a", 1, anything=lambda: 1), "field 'anything' of .*User: "),
        (User, User("\ud800", 1), "field 'name' of .*User: "),
        (Derived, object.__new__(Derived), "field 'a' of .*Derived has no value"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_name_of_the_field(cls: type, value: Any, message: str) -> None:
    serializer = DataclassSerializer(cls)
    with pytest.raises(SerializationError, match=message):
        serializer.to_bytes(value)
    with pytest.raises(SerializationError, match=message):
        serializer.all_to_bytes([value])


@given(st.binary(max_size=40))
@settings(max_examples=60, deadline=None)
def test_bytes_that_are_no_instance_are_refused(data: bytes) -> None:
    for cls in (User, Tree):
        try:
            assert type(DataclassSerializer(cls).from_bytes(data)) is cls
        except SerializationError as error:
            assert cls.__name__ in str(error)  # noqa: PT017 - most bytes are refused, not all


def test_a_tree_too_deep_is_refused() -> None:
    tree = Tree(0)
    for depth in range(5000):
        tree = Tree(depth, tree)
    with pytest.raises(SerializationError, match="recursion"):
        DataclassSerializer(Tree).to_bytes(tree)


@pytest.mark.parametrize("cls", [int, DictAndFields, dict, "User"])
def test_what_is_no_plain_dataclass_is_refused(cls: Any) -> None:
    with pytest.raises(SerializationError):
        DataclassSerializer(cls)


def test_a_local_class_can_be_serialized_but_not_be_a_type_of_state() -> None:
    @dataclass
    class Local:
        x: int
        inner: Local | None = None

    serializer = DataclassSerializer(Local)
    assert serializer.from_bytes(serializer.to_bytes(Local(1, Local(2)))) == Local(1, Local(2))
    with pytest.raises(SerializerSnapshotError, match=r"Local .* inside a function.*top level of a module"):
        serializer.snapshot_configuration()


def test_a_class_that_is_not_found_under_its_name_cannot_be_a_type_of_state(versions: Versions) -> None:
    first = versions.dataclass("User", [("x", int)])
    versions.dataclass("User", [("x", int)])
    with pytest.raises(SerializerSnapshotError, match="another class of that name stands there"):
        DataclassSerializer(first).snapshot_configuration()
    versions.remove("User")
    with pytest.raises(SerializerSnapshotError, match="nothing has that name"):
        DataclassSerializer(first).snapshot_configuration()


def test_a_field_whose_serializer_has_no_snapshot_is_named(versions: Versions) -> None:
    cls = versions.dataclass("User", [("x", int)])
    serializer = DataclassSerializer(cls, (("x", OwnSerializer()),))
    with pytest.raises(SerializationError, match=r"field 'x' of app_that_evolves.User: OwnSerializer cannot be used"):
        serializer.snapshot_configuration()


def test_state_of_a_class_that_is_gone_names_it(versions: Versions) -> None:
    versions.dataclass("User", [("x", int)])
    old = stored(versions.module.User)
    versions.remove("User")
    with pytest.raises(SerializerSnapshotError, match=f"class {MODULE}.User, and there is no such class any more"):
        old.restore_serializer()
    with pytest.raises(SerializerSnapshotError, match=f"{MODULE}.User"):
        old.restore_serializer_for(old)
    versions.struct("User", [("x", int)])
    with pytest.raises(SerializerSnapshotError, match="no longer a dataclass"):
        old.restore_serializer()


def test_a_class_that_only_the_job_carries_is_found(versions: Versions) -> None:
    cls = dataclasses.make_dataclass("Carried", [("x", int)])
    cls.__module__ = "a_script_of_somebody"
    assert stored(cls).restore_serializer() == DataclassSerializer(cls)


# --- evolution ---


def test_an_added_field_starts_as_its_default_or_the_zero_of_its_type(versions: Versions) -> None:
    old_class = versions.dataclass("User", [("name", str)])
    old, data = stored(old_class), DataclassSerializer(old_class).to_bytes(old_class("ada"))
    added: list[Any] = [
        ("number", int),
        ("real", float),
        ("text", str),
        ("flag", bool),
        ("raw", bytes),
        ("items", list[int]),
        ("table", dict[str, int]),
        ("maybe", int | None),
        ("other", Address),
        ("given", int, 7),
        ("made", list[int], field(default_factory=lambda: [1])),
    ]
    cls = versions.dataclass("User", [("name", str), *added])
    result = compared(old, cls)
    assert result.outcome is Outcome.AFTER_MIGRATION
    assert f"field 'number' of {MODULE}.User was added; it starts as 0" in result.reasons
    value = migrated(data, old, cls)
    assert value == cls("ada", 0, 0.0, "", False, b"", [], {}, None, None, 7, [1])
    assert value.items is not migrated(data, old, cls).items


def test_the_value_of_a_removed_field_is_dropped(versions: Versions) -> None:
    old_class = versions.dataclass("User", [("name", str), ("age", int), ("town", str)])
    old, data = stored(old_class), DataclassSerializer(old_class).to_bytes(old_class("ada", 36, "x"))
    cls = versions.dataclass("User", [("name", str), ("town", str)])
    result = compared(old, cls)
    assert result.outcome is Outcome.AFTER_MIGRATION
    assert result.reasons == (f"field 'age' of {MODULE}.User was removed; its values are dropped",)
    assert migrated(data, old, cls) == cls("ada", "x")


def test_a_field_may_be_removed_together_with_its_class(versions: Versions) -> None:
    inner = versions.dataclass("Inner", [("a", int)])
    old_class = versions.dataclass("User", [("name", str), ("inner", dict[str, inner]), ("age", int)])
    old, data = stored(old_class), DataclassSerializer(old_class).to_bytes(old_class("ada", {"x": inner(1)}, 36))
    versions.remove("Inner")
    cls = versions.dataclass("User", [("name", str), ("age", int)])
    assert compared(old, cls).outcome is Outcome.AFTER_MIGRATION
    assert migrated(data, old, cls) == cls("ada", 36)
    restored = old.restore_serializer()
    assert snapshot_to_bytes(restored.snapshot_configuration()) == snapshot_to_bytes(old)
    assert pickle.loads(pickle.dumps(restored)) == restored == old.restore_serializer()
    assert restored.from_bytes(restored.to_bytes(cls("bob", 1))) == cls("bob", 1)


def test_reordered_fields_keep_the_order_in_which_they_are_stored(versions: Versions) -> None:
    old_class = versions.dataclass("User", [("name", str), ("age", int)])
    old, data = stored(old_class), DataclassSerializer(old_class).to_bytes(old_class("ada", 36))
    cls = versions.dataclass("User", [("age", int), ("name", str)])
    result = compared(old, cls)
    assert result.outcome is Outcome.RECONFIGURED
    serializer = result.get_reconfigured_serializer()
    assert serializer.from_bytes(data) == cls(36, "ada")
    assert serializer.to_bytes(cls(36, "ada")) == data
    again = snapshot_to_bytes(serializer.snapshot_configuration())
    assert again == snapshot_to_bytes(old)
    assert compared(snapshot_from_bytes(again), cls).outcome is Outcome.RECONFIGURED
    assert pickle.loads(pickle.dumps(serializer)).from_bytes(data) == cls(36, "ada")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (int, str, "field 'x' of app_that_evolves.User was .* and is .* now"),
        (list[int], list[str], "field 'x' of app_that_evolves.User was .* and is .* now"),
        (int, Any, "was .* and is pickled Python objects now; pickled objects have no schema"),
        (Any, int, "was pickled Python objects and is .* now; pickled objects have no schema"),
        (Address, Point, "was .*Address and is .*Point now"),
    ],
)
def test_a_field_of_another_type_is_incompatible(versions: Versions, before: Any, after: Any, words: str) -> None:
    old = stored(versions.dataclass("User", [("x", before), ("y", int)]))
    result = compared(old, versions.dataclass("User", [("x", after)]))
    assert result.outcome is Outcome.INCOMPATIBLE
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(str(result))


def test_becoming_optional_is_no_change(versions: Versions) -> None:
    old = stored(versions.dataclass("User", [("x", int), ("y", str | None)]))
    assert compared(old, versions.dataclass("User", [("x", int | None), ("y", str)])).is_compatible_as_is()


def test_a_renamed_class_is_another_type(versions: Versions) -> None:
    old = stored(versions.dataclass("User", [("x", int)]))
    result = compared(old, versions.dataclass("Customer", [("x", int)]))
    assert result.outcome is Outcome.INCOMPATIBLE
    for words in (f"was {MODULE}.User and is {MODULE}.Customer now", "register_snapshot_alias"):
        assert words in result.reasons[0]


def test_a_dataclass_does_not_become_a_struct_or_another_type(versions: Versions) -> None:
    old = stored(versions.dataclass("User", [("x", int)]))
    struct = StructSerializer(versions.struct("User", [("x", int)])).snapshot_configuration()
    result = struct.resolve_schema_compatibility(old)
    assert result.reasons == (f"{MODULE}.User was a dataclass and is a msgspec.Struct now",)
    assert struct.resolve_schema_compatibility(PickleSerializer().snapshot_configuration()).is_incompatible()


def test_a_nested_class_that_migrates_makes_the_whole_migrate(versions: Versions) -> None:
    inner = versions.dataclass("Inner", [("a", int)])
    outer = versions.dataclass("Outer", [("inners", list[inner]), ("one", inner)])
    old, data = stored(outer), DataclassSerializer(outer).to_bytes(outer([inner(1)], inner(2)))
    inner = versions.dataclass("Inner", [("a", int), ("b", str, "b")])
    outer = versions.dataclass("Outer", [("one", inner), ("inners", list[inner])])
    result = compared(old, outer)
    assert result.outcome is Outcome.AFTER_MIGRATION
    assert any("field 'one' of app_that_evolves.Outer: field 'b' of" in reason for reason in result.reasons)
    assert migrated(data, old, outer) == outer(inner(2), [inner(1)])


def test_a_nested_class_that_is_reordered_makes_the_whole_reconfigured(versions: Versions) -> None:
    inner = versions.dataclass("Inner", [("a", int), ("b", str)])
    outer = versions.dataclass("Outer", [("inners", list[inner]), ("one", inner), ("n", int)])
    old, data = stored(outer), DataclassSerializer(outer).to_bytes(outer([inner(1, "x")], inner(2, "y"), 3))
    inner = versions.dataclass("Inner", [("b", str), ("a", int)])
    outer = versions.dataclass("Outer", [("inners", list[inner]), ("one", inner), ("n", int)])
    result = compared(old, outer)
    assert result.outcome is Outcome.RECONFIGURED
    value = outer([inner("x", 1)], inner("y", 2), 3)
    assert result.get_reconfigured_serializer().from_bytes(data) == value
    assert result.get_reconfigured_serializer().to_bytes(value) == data


def test_a_nested_field_of_another_type_makes_the_whole_incompatible(versions: Versions) -> None:
    inner = versions.dataclass("Inner", [("a", int)])
    old = stored(versions.dataclass("Outer", [("one", inner)]))
    inner = versions.dataclass("Inner", [("a", str)])
    result = compared(old, versions.dataclass("Outer", [("one", inner), ("two", int)]))
    assert result.outcome is Outcome.INCOMPATIBLE
    assert any(
        "field 'one' of app_that_evolves.Outer: field 'a' of app_that_evolves.Inner was" in r for r in result.reasons
    )


def test_a_recursive_class_evolves_at_all_depths(versions: Versions) -> None:
    fields: list[Any] = [("value", int), ("children", "list[Node]"), ("next", "Node | None", None)]
    node = versions.dataclass("Node", fields)
    old, data = stored(node), DataclassSerializer(node).to_bytes(node(1, [node(2, [])], node(3, [node(4, [])])))
    node = versions.dataclass("Node", [*fields, ("name", str, "x")])
    assert compared(old, node).outcome is Outcome.AFTER_MIGRATION
    assert migrated(data, old, node) == node(1, [node(2, [])], node(3, [node(4, [])]))
    node = versions.dataclass("Node", [("children", "list[Node]"), ("value", int), ("next", "Node | None", None)])
    result = compared(old, node)
    assert result.outcome is Outcome.RECONFIGURED
    value = node([node([], 2)], 1, node([node([], 4)], 3))
    assert result.get_reconfigured_serializer().from_bytes(data) == value
    assert result.get_reconfigured_serializer().to_bytes(value) == data
    node = versions.dataclass("Node", [("value", str), ("children", "list[Node]"), ("next", "Node | None", None)])
    assert compared(old, node).outcome is Outcome.INCOMPATIBLE


def test_a_snapshot_of_a_newer_version_is_refused() -> None:
    data = snapshot_to_bytes(DataclassSerializer(Address).snapshot_configuration())
    name = b"dataclass_serializer:DataclassSerializerSnapshot"
    position = data.index(name) + len(name)
    newer = data[:position] + (2).to_bytes(4, "big") + data[position + 4 :]
    with pytest.raises(SerializerSnapshotError, match=r"version 2, .* a newer program wrote it"):
        snapshot_from_bytes(newer)


# --- random evolutions, against the rules in plain Python ---

KINDS: dict[str, tuple[Any, Any, Callable[[], Any]]] = {
    "int": (int, st.integers(-(2**63), 2**63 - 1), int),
    "float": (float, st.floats(allow_nan=False), float),
    "str": (str, st.text(max_size=5), str),
    "bool": (bool, st.booleans(), bool),
    "bytes": (bytes, st.binary(max_size=5), bytes),
    "list": (list[int], st.lists(st.integers(0, 9), max_size=3), list),
    "dict": (dict[str, float], st.dictionaries(st.text(max_size=2), st.floats(allow_nan=False), max_size=2), dict),
    "optional": (str | None, st.none() | st.text(max_size=3), lambda: None),
    "class": (Address, st.builds(Address, st.text(max_size=3), st.integers(0, 9)), lambda: None),
    "any": (Any, st.sets(st.integers(0, 9), max_size=2), lambda: None),
}
# "optional" is no type apart from what it holds.
TYPE_OF = {kind: "str" if kind == "optional" else kind for kind in KINDS}
schemas = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(sorted(KINDS)), max_size=6)


def expected_outcome(old: dict[str, str], new: dict[str, str]) -> Outcome:
    if any(TYPE_OF[kind] != TYPE_OF[old[name]] for name, kind in new.items() if name in old):
        return Outcome.INCOMPATIBLE
    if set(old) != set(new):
        return Outcome.AFTER_MIGRATION
    return Outcome.AS_IS if list(old) == list(new) else Outcome.RECONFIGURED


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_random_evolutions_follow_the_rules(data: st.DataObject) -> None:
    old = data.draw(schemas, "old")
    new_names = data.draw(st.permutations(list(old)), "order")
    kept = {name: old[name] for name in new_names if data.draw(st.integers(0, 4))}
    new = {**kept, **data.draw(schemas if data.draw(st.booleans()) else st.just({}), "changed or added")}
    values = {name: data.draw(KINDS[kind][1], name) for name, kind in old.items()}
    with versioned_classes() as versions:
        old_class = versions.dataclass("Record", [(name, KINDS[kind][0]) for name, kind in old.items()])
        snapshot, written = stored(old_class), DataclassSerializer(old_class).to_bytes(old_class(**values))
        cls = versions.dataclass("Record", [(name, KINDS[kind][0]) for name, kind in new.items()])
        result = compared(snapshot, cls)
        assert result.outcome is expected_outcome(old, new), result
        expected = cls(**{name: values[name] if name in old else KINDS[kind][2]() for name, kind in new.items()})
        if result.outcome is Outcome.AFTER_MIGRATION:
            assert migrated(written, snapshot, cls) == expected
        elif result.outcome is Outcome.RECONFIGURED:
            assert result.get_reconfigured_serializer().from_bytes(written) == expected
            assert result.get_reconfigured_serializer().to_bytes(expected) == written
        elif result.outcome is Outcome.AS_IS:
            assert DataclassSerializer(cls).from_bytes(written) == expected
