"""Programs that change again and again: whatever became of a class before, its state follows, on whatever backend."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings
from rekindle.testing import BackendUnderTest, ManualClock, take_snapshot
from support.versioned_classes import Versions, versioned_classes

ALL = KeyGroupRange(0, 127)
KEYS = ["a", "b", "c"]
INNER = {"x": (int, 1), "y": (str, "why")}
OUTER: dict[str, tuple[Any, Any]] = {
    "whole": (int, 7),
    "text": (str, None),
    "many": (list[int], None),
    "maybe": (float | None, None),
    "inner": ("inner", None),
    "inners": ("list of inner", None),
}
ZEROS = {"text": "", "many": [], "maybe": None, "inner": None, "inners": []}


@dataclass(frozen=True)
class Step:
    """One version of the program, and what it does.

    Attributes:
        outer: The fields of the class, in their order.
        inner: The fields of the class inside it.
        rocksdb: Which backend it runs on.
        canonical: Whether it ends with a savepoint.
        writes: What it writes: the key, and a number that stands for a value.
    """

    outer: list[str]
    inner: list[str]
    rocksdb: bool
    canonical: bool
    writes: list[tuple[str, int]]


def fields(of: dict[str, Any]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(sorted(of)), min_size=1, max_size=len(of), unique=True)


STEPS = st.lists(
    st.builds(
        Step,
        fields(OUTER),
        fields(INNER),
        st.booleans(),
        st.booleans(),
        st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 99)), max_size=3),
    ),
    min_size=2,
    max_size=6,
)

Value = dict[str, Any]
"""An instance of a class as the test has it: its fields, by name; those of an inner instance likewise."""


def define(versions: Versions, step: Step) -> tuple[Any, Any]:
    inner = versions.dataclass(
        "Inner", [(name, INNER[name][0], dataclasses.field(default=INNER[name][1])) for name in step.inner]
    )
    types = {"inner": inner, "list of inner": list[inner]}
    declared: list[Any] = []
    for name in step.outer:
        kind, default = OUTER[name]
        kind = types.get(kind, kind) if isinstance(kind, str) else kind
        declared.append((name, kind) if default is None else (name, kind, dataclasses.field(default=default)))
    return versions.dataclass("Outer", declared, kw_only=True), inner


def made(value: Value, outer: Any, inner: Any) -> Any:
    """Make an instance of what the test has."""
    parts = dict(value)
    if parts.get("inner") is not None:
        parts["inner"] = inner(**parts["inner"])
    if "inners" in parts:
        parts["inners"] = [inner(**each) for each in parts["inners"]]
    return outer(**parts)


def numbered(number: int, step: Step) -> Value:
    """Return the value that a number stands for."""
    inner = {name: {"x": number, "y": f"y {number}"}[name] for name in step.inner}
    full = {
        "whole": number,
        "text": f"text {number}",
        "many": [number, number + 1],
        "maybe": None if number % 2 else number / 2,
        "inner": inner if number % 3 else None,
        "inners": [inner] * (number % 3),
    }
    return {name: full[name] for name in step.outer}


def followed(value: Value, step: Step) -> Value:
    """Return what becomes of a value in a version: fields that it has, defaults for the others."""

    def inner_followed(inner: Value) -> Value:
        return {name: inner.get(name, INNER[name][1]) for name in step.inner}

    result = {}
    for name in step.outer:
        if name not in value:
            result[name] = 7 if name == "whole" else ZEROS[name]
        elif name == "inner" and value[name] is not None:
            result[name] = inner_followed(value[name])
        elif name == "inners":
            result[name] = [inner_followed(each) for each in value[name]]
        else:
            result[name] = value[name]
    return result


@settings(max_examples=40)
@given(STEPS)
def test_state_follows_a_class_wherever_it_goes(steps: list[Step]) -> None:
    backends = {
        False: BackendUnderTest("heap"),
        True: BackendUnderTest("RocksDB", BackendSettings(RocksDBSettings(), incremental=True)),
    }
    clock = ManualClock()
    snapshots: list[Any] = []
    model: dict[str, list[Value]] = {}
    with versioned_classes() as versions:
        try:
            for number, step in enumerate(steps):
                outer, inner = define(versions, step)
                model = {key: [followed(value, step) for value in values] for key, values in model.items()}
                backend = backends[step.rocksdb].restore(snapshots, ALL, 128, clock.now)
                value: Any = backend.get_or_create(ValueStateDescriptor("value", outer))
                elements: Any = backend.get_or_create(ListStateDescriptor("list", outer))
                mapping: Any = backend.get_or_create(MapStateDescriptor("map", int, outer))
                for backend.key, drawn in step.writes:
                    new = numbered(drawn, step)
                    values = model.setdefault(backend.key, [])
                    values.append(new)
                    value.update(made(new, outer, inner))
                    elements.add(made(new, outer, inner))
                    mapping.put(len(values), made(new, outer, inner))
                for backend.key in KEYS:
                    expected = [made(each, outer, inner) for each in model.get(backend.key, [])]
                    assert value.value() == (expected[-1] if expected else None)
                    assert list(elements) == expected
                    assert dict(mapping.items()) == dict(enumerate(expected, 1))
                snapshots = [take_snapshot(backend, number + 1, canonical=step.canonical)]
        finally:
            for under_test in backends.values():
                under_test.close()
