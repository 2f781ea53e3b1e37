"""``check_evolution`` says of two types what a restore would say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from rekindle.common.typeinfo import Types
from rekindle.exceptions import SerializerSnapshotError
from rekindle.serialization.classes.dataclass_serializer import DataclassSerializer
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.testing import Evolution, check_evolution, serializer_snapshot
from rekindle.types.compatibility import Outcome
from support.versioned_classes import MODULE, Versions, versioned_classes


@dataclass
class User:
    name: str
    age: int


class Color(Enum):
    RED = 1


@pytest.fixture
def versions() -> Iterator[Versions]:
    with versioned_classes() as classes:
        yield classes


@pytest.mark.parametrize(
    "given",
    [User, list[User], Color, int, Types.STRING(), Types.TUPLE([Types.INT()]), dict[str, int], PickleSerializer()],
)
def test_a_type_that_stays_is_compatible_as_is(given: Any) -> None:
    for old in (given, serializer_snapshot(given)):
        for new in (given, serializer_snapshot(given)):
            assert check_evolution(old, new) == Evolution(Outcome.AS_IS, ())
    assert str(check_evolution(given, given)) == "compatible as is"


def test_snapshots_and_serializers_are_taken() -> None:
    serializer = DataclassSerializer(User)
    assert check_evolution(serializer, serializer.snapshot_configuration()).is_compatible
    assert check_evolution(serializer.snapshot_configuration(), User).is_compatible


def test_bytes_of_an_old_version_are_compared_with_the_class_of_today(versions: Versions) -> None:
    stored = serializer_snapshot(versions.dataclass("User", [("name", str)]))
    cls = versions.dataclass("User", [("name", str), ("age", int)])
    result = check_evolution(stored, cls)
    assert result.outcome is Outcome.AFTER_MIGRATION
    assert result.is_compatible
    assert str(result) == f"compatible after migration: field 'age' of {MODULE}.User was added; it starts as 0"


def test_an_old_class_of_the_same_name_can_be_given_itself(versions: Versions) -> None:
    old = versions.dataclass("User", [("name", str), ("age", int)])
    old_list = list[old]  # type: ignore[valid-type]
    new = versions.dataclass("User", [("age", int), ("name", str)])
    assert check_evolution(old, new).outcome is Outcome.RECONFIGURED
    assert check_evolution(old_list, list[new]).outcome is Outcome.RECONFIGURED  # type: ignore[valid-type]
    newest = versions.dataclass("User", [("age", str), ("name", str)])
    result = check_evolution(old, newest)
    assert result.outcome is Outcome.INCOMPATIBLE
    assert not result.is_compatible
    assert str(result).startswith(f"incompatible: field 'age' of {MODULE}.User was ")


def test_today_it_must_be_the_class_that_the_module_has(versions: Versions) -> None:
    old = versions.dataclass("User", [("name", str)])
    new = versions.dataclass("User", [("name", str)])
    with pytest.raises(SerializerSnapshotError, match="another class of that name stands there"):
        check_evolution(new, old)
    with pytest.raises(SerializerSnapshotError, match="another class of that name stands there"):
        serializer_snapshot(old)


def test_a_local_class_is_refused_in_both_places() -> None:
    @dataclass
    class Local:
        x: int

    for old, new in ((Local, User), (User, Local)):
        with pytest.raises(SerializerSnapshotError, match="inside a function"):
            check_evolution(old, new)


def test_what_is_no_type_and_what_are_no_snapshots_are_refused() -> None:
    with pytest.raises(TypeError, match="The new type"):
        check_evolution(User, 3)
    with pytest.raises(TypeError, match="The old type"):
        check_evolution(object(), User)
    with pytest.raises(SerializerSnapshotError):
        check_evolution(b"nonsense", User)


def test_a_class_that_is_gone_raises(versions: Versions) -> None:
    stored = serializer_snapshot(versions.dataclass("User", [("name", str)]))
    versions.remove("User")
    grown = serializer_snapshot(versions.dataclass("User", [("name", str), ("age", int)]))
    versions.remove("User")
    with pytest.raises(SerializerSnapshotError, match=f"{MODULE}.User"):
        check_evolution(stored, grown)
