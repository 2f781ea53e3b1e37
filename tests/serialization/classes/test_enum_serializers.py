"""Members of enums by their names: which members may come and go."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Any

import pytest

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization import EnumSerializer
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.compatibility import TypeSerializerSchemaCompatibility


class Light(Enum):
    RED = 1
    GREEN = 2


class Number(IntEnum):
    ONE = 1


class Word(StrEnum):
    A = "a"


class Access(Flag):
    READ = 1
    WRITE = 2


def _version(**members: Any) -> Any:
    """Make another version of Light."""
    return Enum("Light", members, module=__name__, qualname="Light")


def _change(old: Any, new: Any) -> TypeSerializerSchemaCompatibility:
    before, now = EnumSerializer(old).snapshot_configuration(), EnumSerializer(new).snapshot_configuration()
    return now.resolve_schema_compatibility(before)


@pytest.mark.parametrize("member", [Light.RED, Number.ONE, Word.A, Access.READ], ids=repr)
def test_a_member_is_written_as_its_name(member: Enum) -> None:
    serializer = EnumSerializer(type(member))
    assert member.name.encode() in serializer.to_bytes(member)
    assert serializer.from_bytes(serializer.to_bytes(member)) is member


@pytest.mark.parametrize("given", [1, "RED", None, Number.ONE])
def test_what_is_no_member_is_refused(given: Any) -> None:
    for refused in (EnumSerializer(Light).to_bytes, lambda value: EnumSerializer(Light).all_to_bytes([value])):
        with pytest.raises(SerializationError, match=f"is not a member of enum {__name__}.Light"):
            refused(given)


def test_a_name_that_is_no_member_is_refused() -> None:
    other = _version(RED=1, BLUE=3)
    assert EnumSerializer(Light).from_bytes(EnumSerializer(other).to_bytes(other.RED)) is Light.RED
    with pytest.raises(SerializationError, match="'BLUE' is not a member of enum"):
        EnumSerializer(Light).from_bytes(EnumSerializer(other).to_bytes(other.BLUE))


def test_flags_are_written_as_their_names() -> None:
    serializer = EnumSerializer(Access)
    for flags in (Access(0), Access.READ | Access.WRITE):
        assert serializer.from_bytes(serializer.to_bytes(flags)) is flags
    assert b"READ|WRITE" in serializer.to_bytes(Access.READ | Access.WRITE)
    with pytest.raises(SerializationError, match="is not a member"):
        serializer.from_bytes(b"\xa5READ|")


@pytest.mark.parametrize(
    "members",
    [{"RED": 1, "GREEN": 2, "BLUE": 3}, {"GREEN": 1, "RED": 2}, {"RED": "red", "GREEN": "green"}],
    ids=["added", "reordered", "other values"],
)
def test_members_may_be_added_reordered_and_given_other_values(members: dict[str, Any]) -> None:
    new = _version(**members)
    assert _change(Light, new).is_compatible_as_is()
    assert EnumSerializer(new).from_bytes(EnumSerializer(Light).to_bytes(Light.GREEN)) is new.GREEN


def test_a_removed_member_is_incompatible_and_named() -> None:
    result = _change(Light, _version(RED=1))
    assert result.is_incompatible()
    assert "has no member 'GREEN' any more" in result.reasons[0]


def test_a_renamed_member_goes_on_under_an_alias() -> None:
    new = _version(RED=1, EMERALD=2, GREEN=2)
    assert new.GREEN is new.EMERALD
    assert _change(Light, new).is_compatible_as_is()
    assert EnumSerializer(new).from_bytes(EnumSerializer(Light).to_bytes(Light.GREEN)) is new.EMERALD
    assert _change(new, _version(RED=1, EMERALD=2)).is_compatible_as_is()  # nothing was written as GREEN


def test_an_enum_of_another_name_is_another_type() -> None:
    result = _change(Light, Number)
    assert result.is_incompatible()
    assert result.reasons == (f"the type was enum {__name__}.Light and is enum {__name__}.Number now",)


@pytest.mark.parametrize("other", [b"Gonee", b"Numbr", b"Enum_"])
def test_an_enum_that_is_gone_cannot_be_restored(other: bytes) -> None:
    stored = snapshot_to_bytes(EnumSerializer(Light).snapshot_configuration())
    snapshot = snapshot_from_bytes(stored.replace(b"Light", other))
    with pytest.raises(SerializerSnapshotError, match=other.decode()):
        snapshot.restore_serializer()


Enum_: Callable[..., Any] = int


def test_a_local_enum_cannot_be_a_type_of_state() -> None:
    class Local(Enum):
        A = 1

    serializer = EnumSerializer(Local)
    assert serializer.from_bytes(serializer.to_bytes(Local.A)) is Local.A
    with pytest.raises(SerializerSnapshotError, match="inside a function"):
        snapshot_to_bytes(serializer.snapshot_configuration())
