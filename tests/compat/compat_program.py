"""The program whose savepoints are kept: every kind of state, many types, typed keys and timers; then, and evolved.

What it puts into its state is written here, by hand, and so is what an evolved program has to find. A savepoint that
was written once holds just this: whoever adds to it gives the new savepoints a new directory, and a golden file of
their own.
"""

from __future__ import annotations

import dataclasses
import datetime
import uuid
import warnings
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.common import Row, Time, Types
from rekindle.common.time import Instant
from rekindle.datastream import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import FoldingStateDescriptor, StateTtlConfig, ValueStateDescriptor
from rekindle.datastream.time_domain import TimeDomain
from rekindle.state.backend_settings import BackendSettings
from rekindle.types.class_typeinfo import AvroTypeInfo
from support.evolution_jobs import Everything, RunningProgram
from support.versioned_classes import MODULE, Versions

DATE, TIME = datetime.date(2024, 2, 29), datetime.time(23, 59, 58, 765_432)
MOMENT = datetime.datetime(2024, 2, 29, 12, 30, 15, 123_456)
IDENTITY = uuid.UUID("12345678-1234-5678-1234-567812345678")
HOUR = 3_600_000
OTHERS = 60

ROW_FIELDS: dict[str, tuple[Any, Any]] = {
    "string": (Types.STRING(), "naïve \N{SNOWMAN}"),
    "byte": (Types.BYTE(), -128),
    "boolean": (Types.BOOLEAN(), True),
    "short": (Types.SHORT(), 32_767),
    "int": (Types.INT(), -(2**31)),
    "long": (Types.LONG(), 2**63 - 1),
    "float": (Types.FLOAT(), 0.5),
    "double": (Types.DOUBLE(), 0.1),
    "char": (Types.CHAR(), "ß"),
    "big_int": (Types.BIG_INT(), -(2**100)),
    "big_dec": (Types.BIG_DEC(), Decimal("1.500")),
    "instant": (Types.INSTANT(), Instant(1_700_000_000, 123_456_789)),
    "date": (Types.SQL_DATE(), DATE),
    "time": (Types.SQL_TIME(), TIME),
    "timestamp": (Types.SQL_TIMESTAMP(), MOMENT),
    "nothing": (Types.LONG(), None),
}
TUPLE_FIELDS: list[tuple[Any, Any]] = [
    (Types.LIST(Types.INT()), [1, None, 3]),
    (Types.MAP(Types.STRING(), Types.DOUBLE()), {"a": 1.5, "b": None}),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    (Types.PRIMITIVE_ARRAY(Types.SHORT()), [1, -1]),
    (Types.BASIC_ARRAY(Types.LONG()), [1, None]),
    (Types.OBJECT_ARRAY(Types.TUPLE([Types.INT(), Types.STRING()])), [(1, "x"), None]),
    (Types.PICKLED_BYTE_ARRAY(), {"any": ["thing", (1, 2)]}),
]
ROW = Types.ROW_NAMED(list(ROW_FIELDS), [kind for kind, _ in ROW_FIELDS.values()])
RENAMED_ROW = Types.ROW_NAMED([f"new_{name}" for name in ROW_FIELDS], [kind for kind, _ in ROW_FIELDS.values()])
TUPLE = Types.TUPLE([kind for kind, _ in TUPLE_FIELDS])


class Program(NamedTuple):
    """One version of the program.

    Attributes:
        function: What runs.
        key_type: The type of its keys.
        keys: Two keys.
        values: Two values of the states that hold users.
        more: What each key has in the other states, by their names.
    """

    function: CompatFunction
    key_type: Any
    keys: list[Any]
    values: list[Any]
    more: dict[str, Any]


class CompatFunction(Everything):
    """Keep values of many types beside those of every kind of state."""

    def __init__(self, kind: Any, profile: Any, row: Any, avro: Any, ttl: bool) -> None:
        super().__init__(kind)
        self.profile_type = profile
        self.row_type = row
        self.avro_type = avro
        self.ttl = ttl

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        expiring = ValueStateDescriptor("expiring", Types.STRING())
        if self.ttl:
            expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(HOUR)).build())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            folding = FoldingStateDescriptor("folding", "", join, Types.STRING())
        self.folding = runtime_context.get_folding_state(folding)
        self.more = {
            "profile": runtime_context.get_state(ValueStateDescriptor("profile", self.profile_type)),
            "row": runtime_context.get_state(ValueStateDescriptor("row", self.row_type)),
            "tuple": runtime_context.get_state(ValueStateDescriptor("tuple", TUPLE)),
            "avro": runtime_context.get_state(ValueStateDescriptor("avro", self.avro_type)),
            "pickled": runtime_context.get_state(ValueStateDescriptor("pickled")),
            "expiring": runtime_context.get_state(expiring),
        }

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), ctx.time_domain(), timestamp


def join(accumulator: str, value: str) -> str:
    """Fold strings."""
    return accumulator + value


# --- the program as it was ---


def program(versions: Versions) -> Program:
    """Define the program as it was when the savepoints were written."""
    color = _enum(versions, RED=1, BLUE=2)
    address = versions.dataclass("Address", [("street", str), ("number", int)])
    point = versions.struct("Point", [("x", float), ("y", float)])
    user = versions.dataclass("User", [("name", str), ("age", int), ("home", address), ("likes", color)])
    profile = versions.dataclass(
        "Profile",
        [
            ("age", int),
            ("score", float),
            ("raw", bytes),
            ("price", Decimal),
            ("born", datetime.date),
            ("seen", datetime.datetime),
            ("identity", uuid.UUID),
            ("likes", color),
            ("others", list[address]),
            ("by_name", dict[str, address]),
            ("at", point | None),
            ("tags", frozenset[str]),
            ("pair", tuple[int, str]),
            ("anything", object),
        ],
    )
    key = versions.dataclass("Key", [("city", str), ("number", int)], frozen=True)
    home = address("Long Lane", 5)
    ada, bob = user("ada", 2**70, home, color.RED), user("bob", None, None, None)
    full = profile(
        2**70,
        0.1,
        b"\x00\xff",
        Decimal("1.50"),
        DATE,
        MOMENT,
        IDENTITY,
        color.RED,
        [home, address("", 0)],
        {"home": home},
        point(1.0, 2.0),
        frozenset({"tag"}),
        (1, "x"),
        {"any": "thing"},
    )
    avro = _avro({"name": "name", "type": "string"}, {"name": "count", "type": "int"})
    row = Row(**{name: value for name, (_, value) in ROW_FIELDS.items()})
    more = {
        "profile": full,
        "row": row,
        "tuple": tuple(value for _, value in TUPLE_FIELDS),
        "avro": {"name": "ada", "count": 7},
        "pickled": ["any", {"thing": (1, None)}],
        "expiring": "not yet",
    }
    keys = [key("Rome", 5), key("Oslo", -1)]
    return Program(CompatFunction(user, profile, ROW, avro, ttl=True), key, keys, [ada, bob], more)


# --- the program as it might be later ---


def evolved_program(versions: Versions) -> Program:
    """Define a later program: fields added, removed and reordered, at the top and inside; no time-to-live."""
    color = _enum(versions, GREEN=3, BLUE=2, RED=1)
    address = versions.dataclass(
        "Address", [("street", str), ("number", int), ("town", str, dataclasses.field(default="Rome"))]
    )
    point = versions.struct("Point", [("y", float), ("x", float)])
    user = versions.dataclass("User", [("likes", color), ("name", str), ("email", str), ("home", address)])
    profile = versions.dataclass(
        "Profile",
        [
            ("at", point | None),
            ("age", int),
            ("others", list[address]),
            ("by_name", dict[str, address]),
            ("likes", color),
            ("email", str),
            ("price", Decimal),
            ("born", datetime.date),
            ("seen", datetime.datetime),
            ("identity", uuid.UUID),
            ("tags", frozenset[str]),
            ("visits", int, dataclasses.field(default=1)),
        ],
    )
    key = versions.dataclass("Key", [("number", int), ("city", str)], frozen=True)
    home = address("Long Lane", 5, "Rome")
    ada, bob = user(color.RED, "ada", "", home), user(None, "bob", "", None)
    full = profile(
        point(y=2.0, x=1.0),
        2**70,
        [home, address("", 0, "Rome")],
        {"home": home},
        color.RED,
        "",
        Decimal("1.50"),
        DATE,
        MOMENT,
        IDENTITY,
        frozenset({"tag"}),
        1,
    )
    avro = _avro(
        {"name": "count", "type": "long"},
        {"name": "called", "type": "string", "aliases": ["name"]},
        {"name": "city", "type": "string", "default": "Rome"},
    )
    row = Row(**{f"new_{name}": value for name, (_, value) in ROW_FIELDS.items()})
    more = {
        "profile": full,
        "row": row,
        "tuple": tuple(value for _, value in TUPLE_FIELDS),
        "avro": {"count": 7, "called": "ada", "city": "Rome"},
        "pickled": ["any", {"thing": (1, None)}],
        "expiring": "not yet",
    }
    keys = [key(number=5, city="Rome"), key(number=-1, city="Oslo")]
    return Program(CompatFunction(user, profile, RENAMED_ROW, avro, ttl=False), key, keys, [ada, bob], more)


def _avro(*fields: dict[str, Any]) -> AvroTypeInfo:
    return AvroTypeInfo({"type": "record", "name": "app.Word", "fields": list(fields)})


def _enum(versions: Versions, **members: Any) -> Any:
    cls = Enum("Color", members, module=MODULE)  # type: ignore[misc]
    versions.module.Color = cls  # type: ignore[attr-defined]
    return cls


# --- the program as it runs ---


def start(
    made: Program, directory: Path, backend: BackendSettings, restore: StoredCheckpoint | None = None
) -> RunningProgram:
    """Run a version of the program."""
    return RunningProgram(made.function, directory, backend, restore, made.key_type)


def put(running: RunningProgram, made: Program, key: int) -> None:
    """Put something into all states of a key, and register its timers.

    With the first key goes all else: operator state, and many keys that have nothing but a value, so that what comes
    after a checkpoint is little beside it.
    """
    running.put_keyed(made.keys[key], made.values)
    running.function.folding.add("one ")
    running.function.folding.add("two")
    for name, value in made.more.items():
        running.function.more[name].update(value)
    if not key:
        running.put_operator(made.values)
        for running.operator.backend.key in _others(made):
            running.function.value.update(made.values[1])
        running.operator.backend.key = made.keys[key]
    timers = running.operator._context  # type: ignore[attr-defined]
    timers.register_event_time_timer(1_000 + key)
    timers.register_processing_time_timer(50_000 + key)


def _others(made: Program) -> list[Any]:
    return [made.key_type(city="elsewhere", number=number) for number in range(OTHERS)]


def contents(running: RunningProgram, made: Program) -> dict[str, Any]:
    """Return all that is in the states; timers fire for it."""
    found: dict[str, Any] = {"operator": running.operator_states()}
    for number, key in enumerate(made.keys):
        found[f"key {number}"] = running.keyed(key)
        found[f"key {number}"]["folding"] = running.function.folding.get()
        for name, state in running.function.more.items():
            found[f"key {number}"][name] = state.value()
    operator: Any = running.operator
    found["others"] = []
    for operator.backend.key in _others(made):
        found["others"].append(running.function.value.value())
    found["timers"] = [*operator.advance_watermark(10**9).values, *operator.advance_processing_time(10**9).values]
    return found


def expected(made: Program) -> dict[str, Any]:
    """Return what must be in the states, in plain Python."""
    one, two = made.values
    keyed = {
        "value": one,
        "list": [one, two],
        "map": {"one": one, "two": two},
        "reducing": two,
        "aggregating": two,
        "windowed": [one, two],
        "folding": "one two",
        **made.more,
    }
    return {
        "operator": {"split": [one, two], "union": [one, two], "broadcast": {"one": one, "two": two}},
        "key 0": keyed,
        "key 1": keyed,
        "others": [two] * OTHERS,
        "timers": [
            *((key, TimeDomain.EVENT_TIME, 1_000 + number) for number, key in enumerate(made.keys)),
            *((key, TimeDomain.PROCESSING_TIME, 50_000 + number) for number, key in enumerate(made.keys)),
        ],
    }
