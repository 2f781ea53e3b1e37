"""The rules of OutputTag."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.datastream.output_tag import OutputTag
from rekindle.exceptions import ConfigurationError


def test_a_tag_without_a_type_carries_pickled_objects() -> None:
    tag = OutputTag("side")
    assert tag.tag_id == "side"
    assert tag.type_info == Types.PICKLED_BYTE_ARRAY()


def test_a_tag_keeps_its_type() -> None:
    assert OutputTag("side", Types.INT()).type_info == Types.INT()


def test_a_list_of_types_stands_for_a_row() -> None:
    assert OutputTag("side", [Types.STRING(), Types.LONG()]).type_info == Types.ROW([Types.STRING(), Types.LONG()])


@pytest.mark.parametrize("tag_id", ["", None])
def test_a_tag_without_an_id_raises(tag_id: Any) -> None:
    with pytest.raises(ConfigurationError, match="tag_id"):
        OutputTag(tag_id)


def test_arguments_of_other_types_raise() -> None:
    with pytest.raises(TypeError, match="tag_id"):
        OutputTag(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="type_info"):
        OutputTag("side", "INT")  # type: ignore[arg-type]


def test_tags_are_equal_by_id_and_type_and_survive_pickling() -> None:
    tag = OutputTag("side", Types.INT())
    copy = pickle.loads(pickle.dumps(tag))
    assert copy == tag
    assert hash(copy) == hash(tag)
    assert tag != OutputTag("other", Types.INT())
    assert tag != OutputTag("side", Types.LONG())
    assert tag != "side"
