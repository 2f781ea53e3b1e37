"""What may become of a type, and of the values that state holds: the table that the tests of evolution go through.

A row has the type and two values as a program of yesterday has them, and the type and the same values as the program of
today sees them; or, where state cannot follow, the words that say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Optional

import msgspec

from rekindle.common import Row, Types
from rekindle.serialization import AvroSerializer, DataclassSerializer, GenericArraySerializer, NullableSerializer
from rekindle.serialization.scalars.basic_serializers import StringSerializer
from rekindle.serialization.scalars.integer_serializers import IntSerializer
from rekindle.serialization.untyped.hinted_serializer import HintedSerializer
from rekindle.types.class_typeinfo import AvroTypeInfo, PojoTypeInfo
from rekindle.types.compatibility import Outcome
from support.evolution_serializers import pairs_1, pairs_2, words_1, words_2
from support.versioned_classes import MODULE, Versions

AS_IS, RECONFIGURED = Outcome.AS_IS, Outcome.RECONFIGURED
MIGRATED, INCOMPATIBLE = Outcome.AFTER_MIGRATION, Outcome.INCOMPATIBLE

Version = tuple[Any, list[Any]]
"""A type and two values of it."""

USER = f"{MODULE}.User"


@dataclass(frozen=True)
class Change:
    """A row of the table.

    Attributes:
        name: What changes.
        before: Defines what the program of yesterday has: the type, and the values it puts into its state.
        after: Defines what the program of today has: the type, and the values it finds.
        outcome: What is said of the two types.
        words: What the error says, where state cannot follow; there are no values then.
    """

    name: str
    before: Callable[[Versions], Version]
    after: Callable[[Versions], Version]
    outcome: Outcome
    words: tuple[str, ...] = ()


def of(cls: Any, one: tuple[Any, ...] = (), other: tuple[Any, ...] = ()) -> Version:
    """Return a class and two instances of it."""
    return cls, [cls(*one), cls(*other)]


def refused(kind: Any) -> Version:
    """Return a type that state cannot follow to."""
    return kind, []


# --- classes with named fields ---


def changes_of_classes(kind: str) -> list[Change]:
    """Return the changes of dataclasses or, by the same rules, of structs."""

    def user(versions: Versions, *fields: Any, name: str = "User") -> Any:
        return getattr(versions, kind)(name, list(fields))

    def default(value: Any) -> Any:
        return dataclasses.field(default=value) if kind == "dataclass" else msgspec.field(default=value)

    def factory(make: Callable[[], Any]) -> Any:
        return dataclasses.field(default_factory=make) if kind == "dataclass" else msgspec.field(default_factory=make)

    name, age, city = ("name", str), ("age", int), ("city", str)
    named: Callable[[Versions], Version] = lambda v: of(user(v, name), ("ada",), ("bob",))  # noqa: E731
    aged: Callable[[Versions], Version] = lambda v: of(user(v, name, age), ("ada", 36), ("bob", 2**70))  # noqa: E731

    def with_address(versions: Versions, *fields: Any) -> tuple[Any, Any]:
        address = user(versions, *fields, name="Address")
        return user(versions, name, ("address", address)), address

    def address_before(versions: Versions) -> Version:
        cls, address = with_address(versions, ("street", str))
        return cls, [cls("ada", address("Long Lane")), cls("bob", None)]

    def address_after(versions: Versions) -> Version:
        cls, address = with_address(versions, ("street", str), ("number", int, default(1)))
        return cls, [cls("ada", address("Long Lane", 1)), cls("bob", None)]

    def address_reordered(versions: Versions, *fields: Any) -> Version:
        cls, address = with_address(versions, *fields)
        return cls, [cls("ada", address(street="Long Lane", number=3)), cls("bob", address(street="", number=0))]

    def in_container(hint: Callable[[Any], Any], wrap: Callable[[Any], Any], *more: Any) -> Callable[..., Version]:
        def made(versions: Versions) -> Version:
            address = user(versions, ("street", str), *(field for field, _ in more), name="Address")
            values = tuple(value for _, value in more)
            cls = user(versions, name, ("at", hint(address)))
            return cls, [cls("ada", wrap(address("Long Lane", *values))), cls("bob", wrap(None))]

        return made

    containers: dict[str, tuple[Any, Any]] = {
        "a list": (lambda address: list[address], lambda value: [value, value]),
        "a dict": (lambda address: dict[str, address], lambda value: {"home": value}),
        "an Optional": (lambda address: Optional[address], lambda value: value),  # noqa: UP045
        "a list in a dict": (lambda address: dict[str, list[address]], lambda value: {"home": [value]}),
    }

    def tree(versions: Versions, *more: Any) -> Version:
        cls = user(versions, name, ("below", "list[User]"), *(field for field, _ in more))
        values = tuple(value for _, value in more)
        return cls, [cls("ada", [cls("bob", [], *values)], *values), cls("eve", [], *values)]

    zero_fields = [
        ("whole", int),
        ("fraction", float),
        ("text", str),
        ("flag", bool),
        ("raw", bytes),
        ("many", list[int]),
        ("by_name", dict[str, int]),
        ("some", set[str]),
        ("row", tuple[int, ...]),
        ("maybe", Optional[int]),  # noqa: UP045
        ("pair", tuple[int, str]),
        ("anything", object),
    ]
    zeros = (0, 0.0, "", False, b"", [], {}, set(), (), None, None, None)

    def with_zeros(versions: Versions) -> Version:
        nested = user(versions, ("street", str), name="Address")
        return of(user(versions, name, *zero_fields, ("at", nested)), ("ada", *zeros, None), ("bob", *zeros, None))

    changes = [
        Change("nothing changes", aged, aged, AS_IS),
        Change(
            "a field with a default is added",
            named,
            lambda v: of(user(v, name, ("age", int, default(7))), ("ada", 7), ("bob", 7)),
            MIGRATED,
        ),
        Change(
            "a field with a default factory is added",
            named,
            lambda v: of(
                user(v, name, ("tags", list[str], factory(lambda: ["new"]))), ("ada", ["new"]), ("bob", ["new"])
            ),
            MIGRATED,
        ),
        Change("fields without a default are added", named, with_zeros, MIGRATED),
        Change("a field is removed", aged, named, MIGRATED),
        Change(
            "all fields but new ones are removed",
            aged,
            lambda v: of(user(v, ("city", str, default("Rome"))), ("Rome",), ("Rome",)),
            MIGRATED,
        ),
        Change(
            "one field is added and another removed",
            aged,
            lambda v: of(user(v, city, name), ("", "ada"), ("", "bob")),
            MIGRATED,
        ),
        Change(
            "fields are reordered", aged, lambda v: of(user(v, age, name), (36, "ada"), (2**70, "bob")), RECONFIGURED
        ),
        Change(
            "fields are reordered and one is added",
            aged,
            lambda v: of(user(v, age, city, name), (36, "", "ada"), (2**70, "", "bob")),
            MIGRATED,
        ),
        Change(
            "the type of a field changes",
            aged,
            lambda v: refused(user(v, name, ("age", str))),
            INCOMPATIBLE,
            (f"field 'age' of {USER} was BIG_INT and is STRING now",),
        ),
        Change(
            "the type of a field changes and another is added",
            aged,
            lambda v: refused(user(v, name, ("age", float), city)),
            INCOMPATIBLE,
            (f"field 'age' of {USER} was BIG_INT and is DOUBLE now",),
        ),
        Change(
            "a field loses its type",
            aged,
            lambda v: refused(user(v, name, ("age", object))),
            INCOMPATIBLE,
            (f"field 'age' of {USER} was BIG_INT and is pickled Python objects now", "pickled objects have no schema"),
        ),
        Change(
            "a default changes",
            lambda v: of(user(v, name, ("age", int, default(7))), ("ada",), ("bob", 8)),
            lambda v: of(user(v, name, ("age", int, default(9))), ("ada", 7), ("bob", 8)),
            AS_IS,
        ),
        Change(
            "a field becomes optional",
            aged,
            lambda v: of(user(v, name, ("age", Optional[int])), ("ada", 36), ("bob", 2**70)),  # noqa: UP045
            AS_IS,
        ),
        Change(
            "a field is no longer optional",
            lambda v: of(user(v, name, ("age", Optional[int])), ("ada", None), ("bob", 2)),  # noqa: UP045
            lambda v: of(user(v, name, age), ("ada", None), ("bob", 2)),
            AS_IS,
        ),
        Change(
            "the class is renamed",
            aged,
            lambda v: refused(user(v, name, age, name="Person")),
            INCOMPATIBLE,
            (f"the class was {USER} and is {MODULE}.Person now",),
        ),
        Change("a field is added inside a field", address_before, address_after, MIGRATED),
        Change(
            "fields are reordered inside a field",
            lambda v: address_reordered(v, ("street", str), ("number", int)),
            lambda v: address_reordered(v, ("number", int), ("street", str)),
            RECONFIGURED,
        ),
        Change(
            "the type of a field inside a field changes",
            address_before,
            lambda v: refused(with_address(v, ("street", int))[0]),
            INCOMPATIBLE,
            (f"field 'address' of {USER}: field 'street' of {MODULE}.Address was STRING and is BIG_INT now",),
        ),
        Change(
            "the class of a field is renamed",
            address_before,
            lambda v: refused(user(v, name, ("address", user(v, ("street", str), name="Place")))),
            INCOMPATIBLE,
            (f"field 'address' of {USER} was {MODULE}.Address and is {MODULE}.Place now",),
        ),
        *(
            Change(
                f"a field is added inside {container}",
                in_container(hint, wrap),
                in_container(hint, wrap, (("number", int, default(1)), 1)),
                MIGRATED,
            )
            for container, (hint, wrap) in containers.items()
        ),
        Change("a field is added to a class that holds itself", tree, lambda v: tree(v, (city, "")), MIGRATED),
        Change(
            "fields are reordered in a class that holds itself",
            lambda v: tree(v, (city, "Rome")),
            lambda v: _reordered_tree(user(v, city, name, ("below", "list[User]"))),
            RECONFIGURED,
        ),
        Change(
            "a typed class was pickled",
            lambda v: (None, of(user(v, name), ("ada",), ("bob",))[1]),
            lambda v: refused(user(v, name)),
            INCOMPATIBLE,
            (f"the type was pickled Python objects and is {USER} now", "pickled objects have no schema"),
        ),
        Change(
            "a typed class is pickled now",
            named,
            lambda v: refused(None),
            INCOMPATIBLE,
            (f"the type was {USER} and is pickled Python objects now", "pickled objects have no schema"),
        ),
    ]
    return [dataclasses.replace(change, name=f"{kind}: {change.name}") for change in changes]


def _reordered_tree(cls: Any) -> Version:
    return cls, [cls("Rome", "ada", [cls("Rome", "bob", [])]), cls("Rome", "eve", [])]


def color(versions: Versions, base: Any = Enum, **members: Any) -> Any:
    """Define an enum of members."""
    cls = base("Color", members, module=MODULE)
    setattr(versions.module, "Color", cls)  # noqa: B010 - no such attribute is known to the type checker
    return cls


def _red_and_blue(cls: Any, red: str = "RED") -> Version:
    return cls, [cls[red], cls["BLUE"]]


OTHER_CLASSES = [
    Change(
        "a frozen dataclass with slots gets a field",
        lambda v: of(v.dataclass("User", [("name", str)], frozen=True, slots=True), ("ada",), ("bob",)),
        lambda v: of(
            v.dataclass("User", [("name", str), ("age", int)], frozen=True, slots=True), ("ada", 0), ("bob", 0)
        ),
        MIGRATED,
    ),
    Change(
        "a dataclass becomes a struct",
        lambda v: of(v.dataclass("User", [("name", str)]), ("ada",), ("bob",)),
        lambda v: refused(v.struct("User", [("name", str)])),
        INCOMPATIBLE,
        (f"{USER} was a dataclass and is a msgspec.Struct now",),
    ),
    Change(
        "an enum gets a member",
        lambda v: _red_and_blue(color(v, RED=1, BLUE=2)),
        lambda v: _red_and_blue(color(v, RED=1, GREEN=3, BLUE=2)),
        AS_IS,
    ),
    Change(
        "members of an enum are reordered and get other values",
        lambda v: _red_and_blue(color(v, RED=1, BLUE=2)),
        lambda v: _red_and_blue(color(v, BLUE="blue", RED="red")),
        AS_IS,
    ),
    Change(
        "an enum loses a member",
        lambda v: _red_and_blue(color(v, RED=1, BLUE=2)),
        lambda v: refused(color(v, BLUE=2)),
        INCOMPATIBLE,
        (f"enum {MODULE}.Color has no member 'RED' any more",),
    ),
    Change(
        "a member of an enum becomes an alias of another",
        lambda v: _red_and_blue(color(v, RED=1, BLUE=2)),
        lambda v: _red_and_blue(color(v, CRIMSON=1, RED=1, BLUE=2), "CRIMSON"),
        AS_IS,
    ),
    Change(
        "an enum in a field loses a member",
        lambda v: of(v.dataclass("User", [("likes", color(v, RED=1))]), (v.module.Color.RED,), (None,)),  # type: ignore[attr-defined]
        lambda v: refused(v.dataclass("User", [("likes", color(v, BLUE=1))])),
        INCOMPATIBLE,
        (f"field 'likes' of {USER}: enum {MODULE}.Color has no member 'RED' any more",),
    ),
]


# --- Avro ---


def record(*fields: dict[str, Any]) -> AvroTypeInfo:
    """Describe an Avro record."""
    return AvroTypeInfo({"type": "record", "name": "User", "namespace": "app", "fields": list(fields)})


def _field(name: str, kind: Any = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


_NAMED_RECORD: Callable[[Versions], Version] = lambda v: (  # noqa: E731
    record(_field("name")),
    [{"name": "ada"}, {"name": "bob"}],
)


def _counted(kind: Any, one: Any, other: Any) -> Version:
    return record(_field("n", kind)), [{"n": one}, {"n": other}]


def _avro_user(versions: Versions, *more: tuple[Any, Any]) -> Version:
    cls = versions.dataclass("User", [("name", str), *(field for field, _ in more)])
    values = tuple(value for _, value in more)
    return AvroSerializer.of(cls), [cls("ada", *values), cls("bob", *values)]


AVRO = [
    Change("Avro: nothing changes", _NAMED_RECORD, _NAMED_RECORD, AS_IS),
    Change(
        "Avro: a field with a default is added",
        _NAMED_RECORD,
        lambda v: (
            record(_field("name"), _field("age", "int", default=7)),
            [{"name": "ada", "age": 7}, {"name": "bob", "age": 7}],
        ),
        MIGRATED,
    ),
    Change(
        "Avro: a field without a default is added",
        _NAMED_RECORD,
        lambda v: refused(record(_field("name"), _field("age", "int"))),
        INCOMPATIBLE,
        ("field 'age' of type int was added without a default",),
    ),
    Change(
        "Avro: a field is removed",
        lambda v: (
            record(_field("name"), _field("age", "int")),
            [{"name": "ada", "age": 7}, {"name": "bob", "age": 8}],
        ),
        _NAMED_RECORD,
        MIGRATED,
    ),
    Change("Avro: int becomes long", lambda v: _counted("int", 1, -2), lambda v: _counted("long", 1, -2), MIGRATED),
    Change(
        "Avro: long becomes double",
        lambda v: _counted("long", 1, 2**40),
        lambda v: _counted("double", 1.0, float(2**40)),
        MIGRATED,
    ),
    Change(
        "Avro: int becomes double", lambda v: _counted("int", 1, -2), lambda v: _counted("double", 1.0, -2.0), MIGRATED
    ),
    Change(
        "Avro: double becomes int",
        lambda v: _counted("double", 1.0, 2.0),
        lambda v: refused(record(_field("n", "int"))),
        INCOMPATIBLE,
        ("field 'n' was double and is int now",),
    ),
    Change(
        "Avro: a field is renamed and has its old name as alias",
        _NAMED_RECORD,
        lambda v: (record(_field("called", aliases=["name"])), [{"called": "ada"}, {"called": "bob"}]),
        MIGRATED,
    ),
    Change(
        "Avro: a field is renamed without an alias",
        _NAMED_RECORD,
        lambda v: refused(record(_field("called"))),
        INCOMPATIBLE,
        ("field 'called' of type string was added without a default",),
    ),
    Change(
        "Avro: a field may be null now",
        _NAMED_RECORD,
        lambda v: (record(_field("name", ["null", "string"])), [{"name": "ada"}, {"name": "bob"}]),
        MIGRATED,
    ),
    Change(
        "Avro: an enum loses a symbol and has a default",
        lambda v: _counted({"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}, "RED", "BLUE"),
        lambda v: _counted(
            {"type": "enum", "name": "Color", "symbols": ["BLUE", "GREEN"], "default": "GREEN"}, "GREEN", "BLUE"
        ),
        MIGRATED,
    ),
    Change(
        "Avro: another type",
        _NAMED_RECORD,
        lambda v: refused(AvroTypeInfo("string")),
        INCOMPATIBLE,
        ("was record app.User and is string now",),
    ),
    Change(
        "Avro dataclass: a field with a default is added",
        _avro_user,
        lambda v: _avro_user(v, (("age", int, dataclasses.field(default=7)), 7)),
        MIGRATED,
    ),
    Change(
        "Avro dataclass: a field is renamed and has its old name as alias",
        lambda v: _avro_user(v, (("city", str), "Rome")),
        lambda v: _avro_user(v, (("town", str, dataclasses.field(metadata={"aliases": ["city"]})), "Rome")),
        MIGRATED,
    ),
    Change(
        "Avro dataclass: it was a dataclass without Avro",
        lambda v: of(v.dataclass("User", [("name", str)]), ("ada",), ("bob",)),
        lambda v: refused(_avro_user(v)[0]),
        INCOMPATIBLE,
        (f"the type was {USER} and is Avro {USER} now",),
    ),
]


# --- types that are made of others ---


def _item(versions: Versions, how: str = "") -> tuple[Any, Any]:
    """Define the class of an element in one of its versions, and give an instance."""
    fields: list[Any] = [("name", str), ("size", int)]
    if how == "reordered":
        fields.reverse()
    elif how == "added":
        fields.append(("color", str, dataclasses.field(default="red")))
    elif how == "retyped":
        fields[1] = ("size", str)
    cls = versions.dataclass("Item", fields, frozen=True)
    return cls, cls(name="nut", size=5)


def _around(kind: Callable[[Any], Any], values: Callable[[Any], list[Any]], how: str) -> Callable[[Versions], Version]:
    def made(versions: Versions) -> Version:
        cls, item = _item(versions, how)
        return kind(cls), [] if how == "retyped" else values(item)

    return made


_AROUND: dict[str, tuple[Callable[[Any], Any], Callable[[Any], list[Any]], str]] = {
    "LIST": (lambda cls: Types.LIST(PojoTypeInfo(cls)), lambda item: [[item, item], []], "element: "),
    "MAP, values": (
        lambda cls: Types.MAP(Types.STRING(), PojoTypeInfo(cls)),
        lambda item: [{"a": item, "b": None}, {}],
        "value: ",
    ),
    "MAP, keys": (lambda cls: Types.MAP(PojoTypeInfo(cls), Types.INT()), lambda item: [{item: 1}, {}], "key: "),
    "OBJECT_ARRAY": (lambda cls: Types.OBJECT_ARRAY(PojoTypeInfo(cls)), lambda item: [[item, None], []], "element: "),
    "TUPLE": (
        lambda cls: Types.TUPLE([Types.INT(), PojoTypeInfo(cls)]),
        lambda item: [(1, item), (2, item)],
        "field 1: ",
    ),
    "ROW": (
        lambda cls: Types.ROW_NAMED(["n", "item"], [Types.INT(), PojoTypeInfo(cls)]),
        lambda item: [Row(n=1, item=item), Row(n=2, item=None)],
        "field 'item': ",
    ),
    "set": (lambda cls: set[cls], lambda item: [{item}, set()], "element: "),
    "frozenset": (lambda cls: frozenset[cls], lambda item: [frozenset({item}), frozenset()], "element: "),
    "tuple of any length": (lambda cls: tuple[cls, ...], lambda item: [(item, item), ()], "element: "),
    "Optional": (
        lambda cls: NullableSerializer(DataclassSerializer(cls)),
        lambda item: [item, item],
        "what is not None: ",
    ),
}


MADE_OF_OTHERS = [
    Change(
        f"{name}: {what}",
        _around(kind, values, ""),
        _around(kind, values, how),
        outcome,
        () if outcome is not INCOMPATIBLE else (f"{place}field 'size' of {MODULE}.Item was BIG_INT and is STRING now",),
    )
    for name, (kind, values, place) in _AROUND.items()
    for what, how, outcome in (
        ("nothing changes inside", "", AS_IS),
        ("fields are reordered inside", "reordered", RECONFIGURED),
        ("a field is added inside", "added", MIGRATED),
        ("the type of a field changes inside", "retyped", INCOMPATIBLE),
    )
]

BUILT_IN = [
    Change(
        "a TUPLE gets a field",
        lambda v: (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a"), (2, "b")]),
        lambda v: refused(Types.TUPLE([Types.INT(), Types.STRING(), Types.INT()])),
        INCOMPATIBLE,
        ("was made of 2 types and is made of 3 now",),
    ),
    Change(
        "a field of a TUPLE changes its type",
        lambda v: (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a"), (2, "b")]),
        lambda v: refused(Types.TUPLE([Types.INT(), Types.BOOLEAN()])),
        INCOMPATIBLE,
        ("field 1: the type was STRING and is BOOLEAN now",),
    ),
    Change(
        "a ROW loses a field",
        lambda v: (Types.ROW([Types.INT(), Types.STRING()]), [Row(f0=1, f1="a"), Row(f0=2, f1=None)]),
        lambda v: refused(Types.ROW([Types.INT()])),
        INCOMPATIBLE,
        ("was made of 2 types and is made of 1 now",),
    ),
    Change(
        "a field of a ROW changes its type",
        lambda v: (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), [Row(a=1, b="x"), Row(a=2, b="y")]),
        lambda v: refused(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.DOUBLE()])),
        INCOMPATIBLE,
        ("field 'b': the type was STRING and is DOUBLE now",),
    ),
    Change(
        "the fields of a ROW are renamed",
        lambda v: (Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]), [Row(a=1, b="x"), Row(a=2, b=None)]),
        lambda v: (Types.ROW_NAMED(["z", "c"], [Types.INT(), Types.STRING()]), [Row(z=1, c="x"), Row(z=2, c=None)]),
        AS_IS,
    ),
    Change(
        "elements of a LIST change their type",
        lambda v: (list[str], [["a"], ["b", None]]),
        lambda v: refused(list[float]),
        INCOMPATIBLE,
        ("element: the type was STRING and is DOUBLE now",),
    ),
    Change(
        "keys of a MAP change their type",
        lambda v: (dict[str, int], [{"a": 1}, {}]),
        lambda v: refused(dict[int, int]),
        INCOMPATIBLE,
        ("key: the type was STRING and is BIG_INT now",),
    ),
    Change(
        "an array gets another component type",
        lambda v: (GenericArraySerializer("INT", IntSerializer()), [[1, None], []]),
        lambda v: refused(GenericArraySerializer("LONG", IntSerializer())),
        INCOMPATIBLE,
        ("the elements were INT and are LONG now",),
    ),
    Change(
        "an array gets another component type and serializer",
        lambda v: (Types.BASIC_ARRAY(Types.INT()), [[1, None], []]),
        lambda v: refused(Types.BASIC_ARRAY(Types.STRING())),
        INCOMPATIBLE,
        ("the elements were INT and are STRING now", "element: the type was INT and is STRING now"),
    ),
    Change(
        "a primitive array gets other elements",
        lambda v: (Types.PRIMITIVE_ARRAY(Types.INT()), [[1, 2], []]),
        lambda v: refused(Types.PRIMITIVE_ARRAY(Types.LONG())),
        INCOMPATIBLE,
        ("element: the type was INT and is LONG now",),
    ),
    Change(
        "a LIST becomes a set",
        lambda v: (list[int], [[1, 2], []]),
        lambda v: refused(set[int]),
        INCOMPATIBLE,
        ("the type was LIST(BIG_INT) and is set[BIG_INT] now",),
    ),
    Change(
        # Bytes of the two differ in nothing, but what reads a None must be prepared for it: another type to its state.
        "a type that takes no None is made nullable",
        lambda v: (Types.INT(), [1, 2]),
        lambda v: refused(NullableSerializer(IntSerializer())),
        INCOMPATIBLE,
        ("the type was INT and is INT or None now",),
    ),
    Change(
        "a nullable type is so no more",
        lambda v: (NullableSerializer(IntSerializer()), [1, 2]),
        lambda v: refused(Types.INT()),
        INCOMPATIBLE,
        ("the type was INT or None and is INT now",),
    ),
    Change(
        "a type that takes None already is made nullable",
        lambda v: (Types.STRING(), ["a", "b"]),
        lambda v: (NullableSerializer.wrap(StringSerializer()), ["a", "b"]),
        AS_IS,
    ),
    Change("pickled objects stay pickled", lambda v: (None, [1, "a"]), lambda v: (None, [1, "a"]), AS_IS),
]


# --- named tuples, and what an annotation says ---


def _pair(versions: Versions, *fields: tuple[str, Any], name: str = "Pair") -> Any:
    cls = NamedTuple(name, list(fields))  # type: ignore[misc]
    cls.__module__ = MODULE
    setattr(versions.module, name, cls)
    return cls


def _hinted(versions: Versions, *more: tuple[Any, Any]) -> Version:
    """Return the serializer of state whose type was only annotated; the second value is not of that type."""
    cls = versions.dataclass("User", [("name", str), *(field for field, _ in more)])
    return HintedSerializer(DataclassSerializer(cls)), [cls("ada", *(value for _, value in more)), ("no", "user")]


NAMED_AND_HINTED = [
    Change(
        "the fields of a named tuple are renamed",
        lambda v: of(_pair(v, ("a", int), ("b", str)), (1, "x"), (2, "y")),
        lambda v: of(_pair(v, ("c", int), ("d", str)), (1, "x"), (2, "y")),
        AS_IS,
    ),
    Change(
        "a named tuple gets a field",
        lambda v: of(_pair(v, ("a", int), ("b", str)), (1, "x"), (2, "y")),
        lambda v: refused(_pair(v, ("a", int), ("b", str), ("c", int))),
        INCOMPATIBLE,
        ("was made of 2 types and is made of 3 now",),
    ),
    Change(
        "a named tuple is renamed",
        lambda v: of(_pair(v, ("a", int), ("b", str)), (1, "x"), (2, "y")),
        lambda v: refused(_pair(v, ("a", int), ("b", str), name="Other")),
        INCOMPATIBLE,
        (f"the class was {MODULE}.Pair and is {MODULE}.Other now",),
    ),
    Change(
        "fields move to a base class",
        lambda v: of(v.dataclass("User", [("name", str), ("age", int)]), ("ada", 1), ("bob", 2)),
        lambda v: of(
            v.dataclass("User", [("age", int)], bases=(v.dataclass("Base", [("name", str)]),)), ("ada", 1), ("bob", 2)
        ),
        AS_IS,
    ),
    Change("annotation: nothing changes", _hinted, _hinted, AS_IS),
    Change("annotation: a field is added", _hinted, lambda v: _hinted(v, (("age", int), 0)), MIGRATED),
    Change("annotation: the state was pickled", lambda v: (None, _hinted(v)[1]), _hinted, MIGRATED),
    Change("annotation: the state is pickled now", _hinted, lambda v: (None, _hinted(v)[1]), MIGRATED),
]


# --- serializers of one's own ---

CUSTOM = [
    Change(
        "own serializer: nothing changes",
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        AS_IS,
    ),
    Change(
        "own serializer: its snapshot has a new version",
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        lambda v: (words_2(v, "-"), ["ada", "bob"]),
        AS_IS,
    ),
    Change(
        "own serializer: it writes otherwise",
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        lambda v: (words_2(v, "-", wide=True), ["ada", "bob"]),
        MIGRATED,
    ),
    Change(
        "own serializer: it must be reconfigured",
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        lambda v: (words_2(v, "+"), ["ada", "bob"]),
        RECONFIGURED,
    ),
    Change(
        "own serializer: there is no way",
        lambda v: (words_1(v, "-"), ["ada", "bob"]),
        lambda v: refused(words_2(v, "-", topic="numbers")),
        INCOMPATIBLE,
        ("it was words, not numbers",),
    ),
    Change(
        "own serializer: it takes the place of another",
        lambda v: (Types.STRING(), ["ada", "bob"]),
        lambda v: refused(words_2(v, "-")),
        INCOMPATIBLE,
        ("it was STRING, not words",),
    ),
    Change(
        "own composite: its outer snapshot has a new version",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: (pairs_2(v, words_2(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        AS_IS,
    ),
    Change(
        "own composite: its outer part migrates",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: (pairs_2(v, words_2(v, "-"), IntSerializer(), swapped=True), [("ada", 1), ("bob", 2)]),
        MIGRATED,
    ),
    Change(
        "own composite: its outer part cannot follow",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: refused(pairs_2(v, words_2(v, "-"), IntSerializer(), swapped=True, migrates=False)),
        INCOMPATIBLE,
        ("is configured otherwise than before",),
    ),
    Change(
        "own composite: a part migrates",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: (pairs_2(v, words_2(v, "-", wide=True), IntSerializer()), [("ada", 1), ("bob", 2)]),
        MIGRATED,
    ),
    Change(
        "own composite: a part is reconfigured",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: (pairs_2(v, words_2(v, "+"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        RECONFIGURED,
    ),
    Change(
        "own composite: a part must be reconfigured and the outer part migrates",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: (pairs_2(v, words_2(v, "+"), IntSerializer(), swapped=True), [("ada", 1), ("bob", 2)]),
        MIGRATED,
    ),
    Change(
        "own composite: a part cannot follow",
        lambda v: (pairs_1(v, words_1(v, "-"), IntSerializer()), [("ada", 1), ("bob", 2)]),
        lambda v: refused(pairs_2(v, words_2(v, "-"), StringSerializer())),
        INCOMPATIBLE,
        ("part 1: the type was INT and is STRING now",),
    ),
]

CHANGES = [
    *changes_of_classes("dataclass"),
    *changes_of_classes("struct"),
    *OTHER_CLASSES,
    *AVRO,
    *MADE_OF_OTHERS,
    *BUILT_IN,
    *NAMED_AND_HINTED,
    *CUSTOM,
]
