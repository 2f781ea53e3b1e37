from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.common import Row, RowKind
from rekindle.common.types import row_from


def test_a_row_without_names_is_read_by_position() -> None:
    row = Row("a", 1)
    assert (row[0], row[1], row[-1], row[0:1], len(row), list(row)) == ("a", 1, 1, ["a"], 2, ["a", 1])
    assert "a" in row
    assert "b" not in row
    assert repr(row) == str(row) == "<Row('a', 1)>"
    with pytest.raises(IndexError):
        row[2]


def test_a_named_row_is_read_by_position_name_and_attribute() -> None:
    row = Row(city="Oslo", visits=3)
    assert (row[0], row["visits"], row.city) == ("Oslo", 3, "Oslo")
    assert "city" in row
    assert "Oslo" not in row
    assert repr(row) == "Row(city='Oslo', visits=3)"


def test_a_row_of_names_makes_named_rows() -> None:
    visit = Row("city", "visits")
    assert repr(visit("Oslo", 3)) == "Row(city='Oslo', visits=3)"
    assert repr(visit("Oslo")) == "Row(city='Oslo')"
    assert Row.of_kind(RowKind.DELETE, "city")("x").get_row_kind() is RowKind.DELETE
    with pytest.raises(ValueError, match="expected 2 values"):
        visit(1, 2, 3)


def test_values_and_names_cannot_be_mixed() -> None:
    with pytest.raises(ValueError, match="both args and kwargs"):
        Row(1, x=2)


def test_a_missing_field_says_which_fields_there_are() -> None:
    named = Row(b=1, a=2)
    with pytest.raises(AttributeError, match=r"'x'.*\['b', 'a'\]"):
        _ = named.x
    with pytest.raises(ValueError, match=r"'x'.*\['b', 'a'\]"):
        named["x"]
    with pytest.raises(ValueError, match="'x'"):
        named["x"] = 1
    with pytest.raises(AttributeError, match="no names"):
        _ = Row(1).x
    with pytest.raises(AttributeError, match="no names"):
        Row(1)["x"]
    with pytest.raises(KeyError):
        Row(1)["x"] = 1


def test_fields_are_set_by_position_or_name_but_not_as_attributes() -> None:
    row = Row(a=1, b=2)
    row[0] = 10
    row["b"] = 20
    assert row == Row(a=10, b=20)
    with pytest.raises(AttributeError):
        row.a = 5  # type: ignore[attr-defined]


def test_a_row_becomes_a_dict_and_rows_inside_if_asked() -> None:
    row = Row(a=1, inner=Row(x=1), rows=[Row(y=2)], by_key={"k": Row(z=3)}, pair=(Row(w=4),))
    assert row.as_dict()["inner"] == Row(x=1)
    assert row.as_dict(True) == {
        "a": 1,
        "inner": {"x": 1},
        "rows": [{"y": 2}],
        "by_key": {"k": {"z": 3}},
        "pair": (Row(w=4),),
    }
    with pytest.raises(TypeError, match="without field names"):
        Row(1).as_dict()


def test_names_are_given_later_and_taken_away() -> None:
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    assert row == Row(x=1, y=2)
    row.set_field_names(None)
    assert row == Row(1, 2)


def test_fields_are_taken_by_names_in_their_order() -> None:
    assert Row(x=1, y=2).get_fields_by_names(["y", "x"]) == [2, 1]
    assert Row(x=1, y=2).get_fields_by_names(["x", "y"]) == [1, 2]
    assert Row(1, 2).get_fields_by_names(["q"]) == [1, 2]
    with pytest.raises(ValueError, match=r"\['q'\] not exist in \['x'\]"):
        Row(x=1).get_fields_by_names(["q"])


@pytest.mark.parametrize(
    "other", [Row(1, 3), Row(a=1, b=2), Row.of_kind(RowKind.DELETE, 1, 2), (1, 2), [1, 2], None, Row(1)]
)
def test_rows_differ_by_values_names_kind_and_type(other: Any) -> None:
    assert Row(1, 2) != other


@given(
    st.dictionaries(st.text(max_size=3), st.integers() | st.text() | st.none(), min_size=1),
    st.randoms(use_true_random=False),
)
def test_the_order_of_named_fields_matters_neither_to_equality_nor_to_the_hash(
    fields: dict[str, Any], random: Any
) -> None:
    shuffled = list(fields.items())
    random.shuffle(shuffled)
    one = row_from(list(fields.values()), list(fields))
    other = row_from([value for _, value in shuffled], [name for name, _ in shuffled])
    assert one == other
    assert hash(one) == hash(other)


def test_a_row_of_an_unhashable_value_cannot_be_hashed() -> None:
    assert hash(Row(1, "a")) == hash(Row(1, "a"))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Row([1]))


@pytest.mark.parametrize(
    "row",
    [
        Row(),
        Row(1, "a", None),
        Row(a=1, b=[2]),
        Row.of_kind(RowKind.DELETE, 1),
        Row.of_kind(RowKind.UPDATE_AFTER, a=1),
        Row(Row(1), Row(a=Row(2))),
    ],
)
def test_a_row_survives_pickle_and_copies_share_nothing_mutable(row: Row) -> None:
    for duplicate in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert duplicate == row
        assert duplicate.get_row_kind() is row.get_row_kind()
        assert repr(duplicate) == repr(row)
    if len(row):
        duplicate = copy.copy(row)
        duplicate[0] = "changed"
        assert row[0] != "changed"


def test_rows_that_share_their_names_pickle_the_names_once() -> None:
    names = ["a_rather_long_name", "another_rather_long_name"]
    rows = [row_from([i, i], names) for i in range(100)]
    assert len(pickle.dumps(rows)) < 2_500
    assert pickle.loads(pickle.dumps(rows)) == rows


def test_row_from_makes_the_same_row_as_the_constructor() -> None:
    assert row_from([1, 2]) == Row(1, 2)
    assert row_from([1, 2], ["a", "b"]) == Row(a=1, b=2)
    assert row_from([1], None).get_row_kind() is RowKind.INSERT


def test_a_row_has_no_dict_of_its_own() -> None:
    assert not hasattr(Row(1), "__dict__")


def test_row_kinds_read_as_flinks_short_strings() -> None:
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    row = Row(1)
    row.set_row_kind(RowKind.UPDATE_BEFORE)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
