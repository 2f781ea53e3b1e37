"""A kind of state that Rekindle does not have: one class and one registration, and every backend keeps it."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import pytest

from rekindle.common.time import Time
from rekindle.common.typeinfo import Types
from rekindle.datastream.state import MapState, MapStateDescriptor, State, StateDescriptor, StateTtlConfig
from rekindle.exceptions import ConfigurationError, InvalidCallError, StateRestoreError
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.kinds import state_kind as registry
from rekindle.state.kinds.state_kind import StateKind, kind_named, kind_of, register
from rekindle.state.shapes.map_shape import MAP_SHAPE
from rekindle.state.state_primitives import StatePrimitives
from rekindle.state.state_serializers import UNUSED, StateSerializers
from rekindle.testing import BackendUnderTest, heap_backends, rocksdb_backends
from rekindle.types.type_serializer import TypeSerializer

from .driver import START, TTL, Keyed, started


class BagStateDescriptor(StateDescriptor):
    """Describe a state that holds a bag of strings."""


class BagState(State):
    """Hold a bag per key: elements, and how many of each there are."""

    def __init__(self, counts: MapState[Any, Any]) -> None:
        self._counts = counts

    def add(self, element: str, times: int = 1) -> None:
        self._counts.put(element, (self._counts.get(element) or 0) + times)

    def counts(self) -> Counter[str]:
        return Counter(dict(self._counts.items()))

    def clear(self) -> None:
        self._counts.clear()


class BagKind(StateKind[BagStateDescriptor]):
    """Keep a map from elements to how many of them there are. Bags that are merged are added up."""

    name = "bag"
    descriptor = BagStateDescriptor
    shape = MAP_SHAPE

    def open(self, descriptor: BagStateDescriptor, primitives: StatePrimitives) -> State:
        return BagState(primitives.map_state())

    def serializers(
        self, descriptor: BagStateDescriptor, key: TypeSerializer[Any], namespace: TypeSerializer[Any] = UNUSED
    ) -> StateSerializers:
        return StateSerializers(key, serializer_of(Types.LONG()), serializer_of(descriptor.type_info), namespace)

    def take(self, state: State) -> Any:
        assert isinstance(state, BagState)
        counts = state.counts()
        state.clear()
        return counts

    def absorb(self, state: State, taken: Any) -> None:
        assert isinstance(state, BagState)
        for element, times in taken.items():
            state.add(element, times)


@pytest.fixture(autouse=True)
def bags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be bags for as long as a test lasts."""
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    register(BagKind())


def bag(name: str = "words") -> BagStateDescriptor:
    return BagStateDescriptor(name, Types.STRING())


def fill(keyed: Keyed) -> None:
    state = keyed.open(bag())
    for keyed.key, words in (("a", "to be or not to be"), ("b", "not"), (3, "to to")):
        for word in words.split():
            state.add(word)


def assert_filled(keyed: Keyed) -> None:
    state = keyed.open(bag())
    found = {}
    for keyed.key in ("a", "b", 3, "c"):
        found[keyed.key] = dict(state.counts())
    assert found == {"a": {"to": 2, "be": 2, "or": 1, "not": 1}, "b": {"not": 1}, 3: {"to": 2}, "c": {}}


def test_it_is_read_as_it_was_written_and_cleared_key_by_key(keyed: Keyed) -> None:
    fill(keyed)
    assert_filled(keyed)
    state = keyed.open(bag())
    for keyed.key in ("a", "b"):
        state.clear()
    assert state.counts() == Counter()
    assert list(keyed.backend.keys("words")) == [3]


@pytest.mark.parametrize("savepoint", [False, True], ids=["checkpoint", "savepoint"])
@pytest.mark.parametrize("into", [*heap_backends(), *rocksdb_backends((0, 3))], ids=lambda backend: backend.name)
def test_it_is_restored_from_snapshots_into_every_backend(
    keyed: Keyed, into: BackendUnderTest, savepoint: bool
) -> None:
    fill(keyed)
    taken = keyed.savepoint() if savepoint else keyed.checkpoint()
    try:
        assert_filled(keyed.restored(taken, into))
    finally:
        into.close()


def test_a_checkpoint_that_builds_on_another_holds_what_changed(keyed: Keyed) -> None:
    fill(keyed)
    for number in range(200):  # so many that it is worth it
        keyed.key = f"key {number}"
        keyed.open(bag()).add("word")
    keyed.checkpoint()
    keyed.key = "a"
    state = keyed.open(bag())
    state.add("be")
    keyed.key = "b"
    state.clear()
    after = keyed.restarted()
    state = after.open(bag())
    after.key = "a"
    assert state.counts() == Counter(["to", "be", "or", "not", "to", "be", "be"])
    after.key = "b"
    assert state.counts() == Counter()


def test_what_a_snapshot_holds_is_read_back_without_the_program(keyed: Keyed) -> None:
    fill(keyed)
    expected = {"a": {"to": 2, "be": 2, "or": 1, "not": 1}, "b": {"not": 1}, 3: {"to": 2}}
    assert keyed.stored("words") == expected
    assert keyed.checkpoint().entries()["words"] == expected


def test_its_elements_expire_one_by_one(keyed: Keyed) -> None:
    descriptor = bag()
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(TTL)).build())
    keyed.key = "a"
    state = keyed.open(descriptor)
    state.add("old")
    keyed.clock.advance(TTL - 1)
    state.add("new")
    keyed.clock.advance(1)
    assert state.counts() == Counter(["new"])
    assert keyed.stored("words") == {"a": {"new": (1, START + TTL - 1)}}
    after = keyed.restarted()
    after.key = "a"
    assert after.open(descriptor).counts() == Counter(["new"])


def test_namespaces_are_merged_as_the_kind_says(keyed: Keyed) -> None:
    namespaced = keyed.backend.get_or_create_namespaced(bag())
    keyed.key = "a"
    for window, word in ((1, "to"), (1, "be"), (2, "be"), (3, "or")):
        namespaced.use(window).add(word)  # type: ignore[attr-defined]
    namespaced.merge(1, [2, 3])
    assert namespaced.use(1).counts() == Counter(["to", "be", "be", "or"])  # type: ignore[attr-defined]
    assert namespaced.use(2).counts() == Counter()  # type: ignore[attr-defined]


def test_it_is_no_state_of_another_kind(keyed: Keyed) -> None:
    fill(keyed)
    with pytest.raises(StateRestoreError, match="is a bag state in the snapshot and a map state in the program"):
        keyed.restored(keyed.checkpoint()).open(MapStateDescriptor("words", Types.STRING(), Types.LONG()))


class TestRegistry:
    def test_a_kind_is_found_by_its_name_and_by_descriptors_of_its_class_and_of_classes_derived_from_it(self) -> None:
        class SmallBag(BagStateDescriptor):
            pass

        assert str(kind_named("bag")) == "bag"
        assert kind_of(bag()) is kind_of(SmallBag("small")) is kind_named("bag")

    def test_a_name_is_given_once(self) -> None:
        with pytest.raises(ConfigurationError, match="a kind of state named 'bag' already"):
            register(BagKind())

    def test_what_is_not_there_is_named_beside_what_is(self) -> None:
        with pytest.raises(StateRestoreError, match="no kind of state named 'heap', only value, list, map"):
            kind_named("heap")

    def test_a_descriptor_of_no_kind_is_refused(self) -> None:
        with pytest.raises(InvalidCallError, match="is not a descriptor of keyed state"):
            started(heap_backends()[0]).open(StateDescriptor("state"))

    def test_a_kind_is_the_same_after_pickling(self) -> None:
        assert pickle.loads(pickle.dumps(kind_named("bag"))) is kind_named("bag")
