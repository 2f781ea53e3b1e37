"""The serializer of elements of two streams: what it refuses, and how it evolves with its parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializationError
from rekindle.serialization.composites.tagged_union_serializer import TaggedUnionSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.testing import check_evolution, serializer_snapshot
from rekindle.types.compatibility import Outcome
from support.versioned_classes import Versions, versioned_classes

LONGS = serializer_of(Types.LONG())
TEXTS = serializer_of(Types.STRING())


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


@pytest.mark.parametrize("element", [(2, 1), (0, "text"), (1, 5), (0,), 0, None, [0, 1], (0, 1, 2)])
def test_what_is_no_element_of_one_of_the_streams_is_refused(element: Any) -> None:
    serializer = TaggedUnionSerializer(LONGS, TEXTS)
    with pytest.raises(SerializationError):
        serializer.to_bytes(element)
    with pytest.raises(SerializationError):
        serializer.all_to_bytes([(0, 1), element])


def test_it_evolves_with_its_parts(versions: Versions) -> None:
    from rekindle.serialization import DataclassSerializer

    before = versions.dataclass("User", [("name", str)])
    old = TaggedUnionSerializer(LONGS, DataclassSerializer(before))
    snapshot, stored = old.snapshot_configuration(), serializer_snapshot(old)
    data = old.all_to_bytes([(0, 1), (1, before("ada"))])
    now = versions.dataclass("User", [("name", str), ("age", int, 7)])
    new = TaggedUnionSerializer(LONGS, DataclassSerializer(now))
    assert check_evolution(stored, new).outcome is Outcome.AFTER_MIGRATION
    reader = snapshot.restore_serializer_for(new.snapshot_configuration())
    assert reader.all_from_bytes(data) == [(0, 1), (1, now("ada", 7))]


@pytest.mark.parametrize(
    ("new", "reason"),
    [
        (TaggedUnionSerializer(LONGS, LONGS), "elements of the second stream"),
        (TaggedUnionSerializer(TEXTS, TEXTS), "elements of the first stream"),
        (LONGS, "TAGGED UNION"),
    ],
)
def test_another_type_is_refused_and_its_stream_named(new: Any, reason: str) -> None:
    result = check_evolution(serializer_snapshot(TaggedUnionSerializer(LONGS, TEXTS)), new)
    assert result.outcome is Outcome.INCOMPATIBLE
    assert reason in str(result)
