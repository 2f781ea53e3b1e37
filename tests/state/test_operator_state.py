"""Operator state: what lists and broadcast maps do, how they are dealt out, and how they follow changed types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekindle.common import Time, Types
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from rekindle.exceptions import (
    InvalidProgramError,
    StateRestoreError,
)
from rekindle.state.operator_state.backend import LIST_CHECKPOINTED
from rekindle.state.operator_state.stored import DistributionMode, StoredItems, StoredList
from support.operator_state import backend, restored

FEW_EXAMPLES = settings(max_examples=40)


# ---------------------------------------------------------------------------------------------- the handles


@pytest.mark.parametrize("get", ["get_list_state", "get_union_list_state"])
class TestAList:
    def test_keeps_its_elements_in_their_order(self, get: str) -> None:
        state = getattr(backend(), get)(ListStateDescriptor("l"))
        assert list(state.get()) == []
        state.add(1)
        state.add_all([2, 3])
        assert list(state) == [1, 2, 3]
        state.update([4])
        assert list(state.get()) == [4]
        state.clear()
        assert list(state.get()) == []

    def test_takes_no_none(self, get: str) -> None:
        state = getattr(backend(), get)(ListStateDescriptor("l"))
        state.add(1)
        for change in (lambda: state.add(None), lambda: state.add_all([2, None]), lambda: state.update([None])):
            with pytest.raises(ValueError, match="None cannot be an element of list state 'l'"):
                change()
        assert list(state) == [1]

    def test_is_changed_only_through_its_handle(self, get: str) -> None:
        state = getattr(backend(), get)(ListStateDescriptor("l"))
        given = [1]
        state.update(given)
        given.append(2)
        state.get().append(3)
        assert list(state) == [1]


class TestABroadcastMap:
    def test_reads_like_a_map(self) -> None:
        state = backend().get_broadcast_state(MapStateDescriptor("m"))
        assert state.is_empty()
        state.put("a", 1)
        state["b"] = 2
        state.put_all({"c": None, "d": 4})
        state.remove("d")
        state.remove("never there")
        assert (state.get("a"), state["b"], state.get("c"), state.get("x")) == (1, 2, None, None)
        assert (state.contains("c"), "x" in state, state.is_empty()) == (True, False, False)
        assert list(state.items()) == list(state.immutable_entries()) == [("a", 1), ("b", 2), ("c", None)]
        assert (list(state.keys()), list(state.values()), list(state)) == (["a", "b", "c"], [1, 2, None], list("abc"))
        del state["a"]
        state.clear()
        assert list(state.items()) == []

    def test_may_be_changed_while_it_is_walked(self) -> None:
        state = backend().get_broadcast_state(MapStateDescriptor("m"))
        state.put_all({1: 1, 2: 2, 3: 3})
        for key, value in state.items():
            state.put(key + 10, value)
            state.remove(key)
        assert dict(state.items()) == {11: 1, 12: 2, 13: 3}


class TestNames:
    def test_the_same_descriptor_gives_the_same_state(self) -> None:
        store = backend()
        store.get_list_state(ListStateDescriptor("l", Types.INT())).add(1)
        assert list(store.get_list_state(ListStateDescriptor("l", Types.INT()))) == [1]
        store.get_broadcast_state(MapStateDescriptor("m")).put(1, 2)
        assert store.get_broadcast_state(MapStateDescriptor("m")).get(1) == 2

    def test_another_type_or_mode_under_a_name_that_is_taken_raises(self) -> None:
        store = backend()
        store.get_list_state(ListStateDescriptor("l", Types.INT()))
        for again in (
            lambda: store.get_list_state(ListStateDescriptor("l", Types.STRING())),
            lambda: store.get_union_list_state(ListStateDescriptor("l", Types.INT())),
            lambda: store.get_broadcast_state(MapStateDescriptor("l")),
        ):
            with pytest.raises(InvalidProgramError, match=r"state 'l' of operator 'buffer' \(uid 'buffer-uid'\) was"):
                again()

    def test_the_names_are_those_asked_for_and_those_restored(self) -> None:
        before = backend()
        before.get_list_state(ListStateDescriptor("split")).add(1)
        before.get_union_list_state(ListStateDescriptor("union")).add(1)
        before.get_broadcast_state(MapStateDescriptor("broadcast")).put(1, 1)
        (store,) = restored([before], 1)
        store.get_list_state(ListStateDescriptor("new"))
        assert store.get_registered_state_names() == {"split", "union", "new"}
        assert store.get_registered_broadcast_state_names() == {"broadcast"}

    def test_the_name_of_the_operators_own_list_is_refused(self) -> None:
        with pytest.raises(InvalidProgramError, match="is Rekindle's own"):
            backend().get_list_state(ListStateDescriptor(LIST_CHECKPOINTED))

    def test_what_operator_state_cannot_do_is_refused(self) -> None:
        expiring, queried = ListStateDescriptor("e"), MapStateDescriptor("q")
        expiring.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(1)).build())
        queried.set_queryable("q")
        with pytest.raises(InvalidProgramError, match="'e' cannot have a time to live"):
            backend().get_list_state(expiring)
        with pytest.raises(InvalidProgramError, match="'q' cannot be queried"):
            backend().get_broadcast_state(queried)
        for get, wrong in (
            ("get_list_state", MapStateDescriptor("x")),
            ("get_union_list_state", ValueStateDescriptor("x")),
            ("get_broadcast_state", ListStateDescriptor("x")),
        ):
            with pytest.raises(TypeError, match="is described by a"):
                getattr(backend(), get)(wrong)


# ---------------------------------------------------------------------------------------------- rescaling

PER_SUBTASK = st.lists(st.lists(st.integers(), max_size=7), min_size=1, max_size=5)
PARALLELISMS = st.integers(1, 5)


def golden_split(states: list[list[list[int]]], parallelism: int) -> list[list[list[int]]]:
    """Deal out lists (state → old subtask → elements) by the rules, in plain Python; give state → new subtask → …"""
    result, turn = [], 0
    for lists in states:
        if len(lists) == parallelism:
            result.append(lists)
            continue
        rest = [element for own in lists for element in own]
        share, extra = len(rest) // parallelism, len(rest) % parallelism
        sizes = [share] * parallelism
        for _ in range(extra):
            sizes[turn % parallelism] += 1
            turn += 1
        dealt = []
        for size in sizes:
            dealt.append(rest[:size])
            rest = rest[size:]
        result.append(dealt)
    return result


def lists_of(
    contents: list[list[list[int]]], get: str, names: list[str], parallelism: int
) -> tuple[list[Any], list[Any]]:
    """Fill states (state → old subtask → elements); give the backends before and after a restore."""
    old = [backend(None, subtask, len(contents[0])) for subtask in range(len(contents[0]))]
    for name, lists in zip(names, contents, strict=True):
        for store, own in zip(old, lists, strict=True):
            getattr(store, get)(ListStateDescriptor(name)).update(own)
    return old, restored(old, parallelism)


@FEW_EXAMPLES
@given(st.data(), st.integers(1, 5), PARALLELISMS)
def test_split_lists_are_dealt_out_one_state_after_the_other(data: st.DataObject, old: int, new: int) -> None:
    contents = data.draw(
        st.lists(st.lists(st.lists(st.integers(), max_size=6), min_size=old, max_size=old), min_size=1, max_size=3)
    )
    names = ["a", "b", "c"][: len(contents)]
    _, after = lists_of(contents, "get_list_state", names, new)
    found = [[list(store.get_list_state(ListStateDescriptor(name))) for store in after] for name in names]
    assert found == golden_split(contents, new)


@FEW_EXAMPLES
@given(PER_SUBTASK, PARALLELISMS)
def test_a_union_list_goes_whole_to_everybody(lists: list[list[int]], parallelism: int) -> None:
    _, after = lists_of([lists], "get_union_list_state", ["u"], parallelism)
    whole = [element for own in lists for element in own]
    assert [list(store.get_union_list_state(ListStateDescriptor("u"))) for store in after] == [whole] * parallelism


@FEW_EXAMPLES
@given(
    st.lists(st.dictionaries(st.integers(), st.none() | st.text(max_size=3), max_size=4), min_size=1, max_size=5),
    PARALLELISMS,
)
def test_each_subtask_gets_one_copy_of_a_broadcast_map(maps: list[dict[int, Any]], parallelism: int) -> None:
    old = [backend(None, subtask, len(maps)) for subtask in range(len(maps))]
    for store, own in zip(old, maps, strict=True):
        store.get_broadcast_state(MapStateDescriptor("m")).put_all(own)
    found = [dict(store.get_broadcast_state(MapStateDescriptor("m")).items()) for store in restored(old, parallelism)]
    assert found == [maps[subtask % len(maps)] for subtask in range(parallelism)]


@FEW_EXAMPLES
@given(PER_SUBTASK, st.lists(PARALLELISMS, min_size=1, max_size=3), PARALLELISMS)
def test_state_that_nobody_asks_for_is_written_again_as_it_was(
    lists: list[list[int]], between: list[int], last: int
) -> None:
    """However often the job is restored by programs that do not know the states."""
    old = [backend(None, subtask, len(lists)) for subtask in range(len(lists))]
    for store, own in zip(old, lists, strict=True):
        store.get_list_state(ListStateDescriptor("s")).update(own)
        store.get_union_list_state(ListStateDescriptor("u")).update(own)
        store.get_broadcast_state(MapStateDescriptor("m")).put("the same", "everywhere")
    for parallelism in (*between, last):
        old = restored(old, parallelism)
    whole = [element for own in lists for element in own]
    assert [e for store in old for e in store.get_list_state(ListStateDescriptor("s"))] == whole
    assert [list(store.get_union_list_state(ListStateDescriptor("u"))) for store in old] == [whole] * last
    for store in old:
        assert dict(store.get_broadcast_state(MapStateDescriptor("m")).items()) == {"the same": "everywhere"}


@FEW_EXAMPLES
@given(
    st.lists(st.tuples(st.binary(max_size=2), st.sampled_from([(b"s",), (b"t",)])), max_size=8),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_a_cut_holds_the_items_of_a_slice_each_with_its_serializers(
    items: list[tuple[bytes, tuple[bytes, ...]]], start: int, stop: int
) -> None:
    stored = StoredList.joined(DistributionMode.SPLIT, (StoredItems((item,), written) for item, written in items))
    assert len(stored) == len(items)
    found = [(item, part.serializers) for part in stored.cut(start, stop) for item in part.items]
    assert found == items[start:stop]


def test_a_snapshot_holds_what_was_there_at_the_barrier() -> None:
    store = backend()
    state, rules = store.get_list_state(ListStateDescriptor("l")), store.get_broadcast_state(MapStateDescriptor("m"))
    element = ["mutable"]
    state.add(element)
    rules.put("a", element)
    snapshot = store.snapshot()
    element.append("later")
    state.add("later")
    rules.clear()
    again = backend(snapshot)
    assert list(again.get_list_state(ListStateDescriptor("l"))) == [["mutable"]]
    assert dict(again.get_broadcast_state(MapStateDescriptor("m")).items()) == {"a": ["mutable"]}


def test_a_list_has_an_item_for_each_element_and_a_map_one_for_all_entries() -> None:
    store = backend()
    store.get_list_state(ListStateDescriptor("l")).update([1, 2, 3])
    store.get_broadcast_state(MapStateDescriptor("m")).put_all({1: 1, 2: 2})
    store.get_union_list_state(ListStateDescriptor("empty list"))
    store.get_broadcast_state(MapStateDescriptor("empty map"))
    snapshot = store.snapshot()
    assert {name: (stored.mode.value, len(stored)) for name, stored in snapshot.items()} == {
        "l": ("split", 3),
        "m": ("broadcast", 1),
        "empty list": ("union", 0),
        "empty map": ("broadcast", 0),
    }


def test_another_mode_than_that_of_the_snapshot_raises_unless_there_is_nothing_in_it() -> None:
    before = backend()
    before.get_list_state(ListStateDescriptor("l")).add(1)
    before.get_list_state(ListStateDescriptor("empty"))
    (after,) = restored([before], 1)
    with pytest.raises(StateRestoreError, match="is split state in the snapshot and union state in the program"):
        after.get_union_list_state(ListStateDescriptor("l"))
    assert list(after.get_union_list_state(ListStateDescriptor("empty"))) == []


def test_a_list_that_an_operator_wrote_in_bytes_of_its_own_is_no_state_of_a_function() -> None:
    written = StoredList.of(DistributionMode.SPLIT, [b"an offset"])
    with pytest.raises(StateRestoreError, match=r"state 'l' of operator 'buffer'.*another kind of operator wrote it"):
        backend({"l": written}).get_list_state(ListStateDescriptor("l"))
    assert backend({"l": written}).snapshot() == {"l": written}
