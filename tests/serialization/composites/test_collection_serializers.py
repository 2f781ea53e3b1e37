"""Lists and dicts: where None may stand, what is refused, and how they evolve with what they are made of."""

from __future__ import annotations

import collections
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization.serializer_of import serializer_of
from rekindle.types.type_information import TypeInformation
from rekindle.types.type_serializer import TypeSerializer
from support.serializer_catalogue import same


def _through(serializer: TypeSerializer[Any], value: Any) -> Any:
    result = serializer.from_bytes(serializer.to_bytes(value))
    assert same(serializer.all_from_bytes(serializer.all_to_bytes([value, value])), [result, result])
    return result


NUMBERS = serializer_of(Types.LIST(Types.INT()))
COUNTS = serializer_of(Types.MAP(Types.STRING(), Types.INT()))


def test_elements_of_a_list_may_be_none() -> None:
    assert _through(NUMBERS, [1, None, 3]) == [1, None, 3]
    assert _through(NUMBERS, [None] * 100) == [None] * 100


def test_elements_are_converted_as_they_are_alone() -> None:
    assert same(_through(NUMBERS, [2**31, True, 1.5]), [-(2**31), 1, 1])
    assert same(_through(COUNTS, {"a": 2**31, "b": True}), {"a": -(2**31), "b": 1})


@pytest.mark.parametrize("given", [(1, 2), {1, 2}, "ab", None, {1: 2}, range(3)])
def test_a_list_is_a_list(given: Any) -> None:
    nested = serializer_of(Types.LIST(Types.LIST(Types.INT())))
    for serializer, value in ((NUMBERS, given), (nested, [given]), (nested, [[1], given])):
        if given is None and serializer is nested:
            continue  # An element of a list may be None, also if it is a list.
        for refused in (serializer.to_bytes, lambda it, by=serializer: by.all_to_bytes([it])):
            with pytest.raises(SerializationError, match=r"is not of type LIST\(.*: a list is needed"):
                refused(value)


def test_a_list_of_another_class_becomes_a_list() -> None:
    class Numbers(list[int]):
        pass

    assert same(_through(NUMBERS, Numbers([1, 2])), [1, 2])


def test_values_of_a_map_may_be_none_and_keys_only_where_their_type_allows_it() -> None:
    assert _through(COUNTS, {"a": None, None: 1}) == {"a": None, None: 1}
    with pytest.raises(SerializationError, match=r"None \(NoneType\) is not of type INT"):
        serializer_of(Types.MAP(Types.INT(), Types.INT())).to_bytes({None: 1})


@pytest.mark.parametrize("given", [[("a", 1)], None, "a", {"a"}])
def test_a_map_is_a_dict(given: Any) -> None:
    for refused in (COUNTS.to_bytes, lambda value: COUNTS.all_to_bytes([value])):
        with pytest.raises(SerializationError, match=r"is not of type MAP\(STRING, INT\): a dict is needed"):
            refused(given)


def test_a_dict_of_another_class_becomes_a_dict() -> None:
    assert same(_through(COUNTS, collections.Counter("aab")), {"a": 2, "b": 1})


def test_keys_may_be_of_any_type_that_hashes() -> None:
    by_pair = serializer_of(Types.MAP(Types.TUPLE([Types.STRING(), Types.FLOAT()]), Types.LIST(Types.INT())))
    assert same(_through(by_pair, {("a", 0.5): [1], ("b", 1.5): None}), {("a", 0.5): [1], ("b", 1.5): None})
    by_object = serializer_of(Types.MAP(Types.PICKLED_BYTE_ARRAY(), Types.INT()))
    assert _through(by_object, {frozenset({1}): 1}) == {frozenset({1}): 1}


@pytest.mark.parametrize("key", [Types.BYTE(), Types.TUPLE([Types.BYTE()])], ids=repr)
def test_keys_that_would_become_one_are_refused(key: TypeInformation) -> None:
    serializer = serializer_of(Types.MAP(key, Types.STRING()))
    keys: list[Any] = [1, 257] if key == Types.BYTE() else [(1,), (257,)]
    with pytest.raises(SerializationError, match="two keys"):
        _through(serializer, dict.fromkeys(keys, "lost"))


def test_the_order_of_a_dict_is_kept() -> None:
    assert list(_through(COUNTS, {"b": 1, "a": 2, "c": 3})) == ["b", "a", "c"]


def _change(old: TypeInformation, new: TypeInformation) -> tuple[str, ...]:
    before, now = serializer_of(old).snapshot_configuration(), serializer_of(new).snapshot_configuration()
    result = now.resolve_schema_compatibility(before)
    assert result.is_incompatible()
    return result.reasons


def test_a_changed_part_is_named() -> None:
    lists, maps = Types.LIST, Types.MAP
    assert _change(lists(Types.LONG()), lists(Types.INT())) == ("element: the type was LONG and is INT now",)
    assert _change(maps(Types.STRING(), Types.LONG()), maps(Types.INT(), Types.SQL_DATE())) == (
        "key: the type was STRING and is INT now",
        "value: the type was LONG and is SQL_DATE now",
    )
    assert _change(lists(lists(Types.LONG())), lists(lists(Types.INT()))) == (
        "element: element: the type was LONG and is INT now",
    )
    assert _change(lists(Types.LONG()), Types.LONG()) == ("the type was LIST(LONG) and is LONG now",)


def test_elements_are_copied_deep() -> None:
    given = [[1], [2]]
    copied = serializer_of(Types.LIST(Types.LIST(Types.INT()))).copy(given)
    assert copied == given
    assert copied is not given
    assert copied[0] is not given[0]


def test_empty_collections_are_made() -> None:
    assert (NUMBERS.create_instance(), COUNTS.create_instance()) == ([], {})


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    type_info: TypeInformation = Types.INT()
    for _ in range(50):
        type_info = Types.LIST(type_info)
    with pytest.raises(SerializationError):
        serializer_of(type_info).to_bytes(endless)
