"""What serializers are made of: the streams, stored snapshots and their names, simple and composite snapshots."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rekindle.serialization
from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization import (
    CompositeTypeSerializerSnapshot,
    DataInputView,
    DataOutputView,
    OuterSchemaCompatibility,
    SimpleTypeSerializerSnapshot,
    TypeSerializer,
    TypeSerializerSchemaCompatibility,
    TypeSerializerSnapshot,
    register_snapshot_alias,
)
from rekindle.serialization.encodings.msgpack_serializer import as_msgpack
from rekindle.serialization.snapshots import snapshot_aliases
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.compatibility import Outcome

AS_IS = TypeSerializerSchemaCompatibility.compatible_as_is()
AFTER_MIGRATION = TypeSerializerSchemaCompatibility.compatible_after_migration("it is written otherwise now")
INCOMPATIBLE = TypeSerializerSchemaCompatibility.incompatible("there is no way")


# --- a serializer as a user writes one, and one that is made of others ---


class WordSerializer(TypeSerializer[str]):
    """Serialize words, one after the other in the stream."""

    def serialize(self, element: str, stream: BytesIO) -> None:
        assert isinstance(stream, DataOutputView)
        stream.write_utf(element)

    def deserialize(self, stream: BytesIO) -> str:
        assert isinstance(stream, DataInputView)
        return stream.read_utf()

    def snapshot_configuration(self) -> TypeSerializerSnapshot[str]:
        return WordSerializerSnapshot()


class WordSerializerSnapshot(SimpleTypeSerializerSnapshot[str]):
    def __init__(self) -> None:
        super().__init__(WordSerializer)


class ScriptedSerializer(WordSerializer):
    """Be found compatible as the test wants it."""

    def __init__(self, result: TypeSerializerSchemaCompatibility = AS_IS) -> None:
        self.result = result

    def snapshot_configuration(self) -> TypeSerializerSnapshot[str]:
        return ScriptedSerializerSnapshot(self.result)


class ScriptedSerializerSnapshot(TypeSerializerSnapshot[str]):
    version = 1

    def __init__(self, result: TypeSerializerSchemaCompatibility = AS_IS) -> None:
        self.result = result

    def get_current_version(self) -> int:
        return self.version

    def write_snapshot(self, output: DataOutputView) -> None:
        output.write_utf("scripted")

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        assert input_view.read_utf() == "scripted"

    def restore_serializer(self) -> TypeSerializer[str]:
        return ScriptedSerializer(self.result)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        return self.result


class PairSerializer(TypeSerializer[tuple[Any, ...]]):
    """Serialize what its parts serialize, one after the other."""

    def __init__(self, label: str, *parts: TypeSerializer[Any]) -> None:
        self.label = label
        self.parts = parts

    def serialize(self, element: tuple[Any, ...], stream: BytesIO) -> None:
        for part, value in zip(self.parts, element, strict=True):
            part.serialize(value, stream)

    def deserialize(self, stream: BytesIO) -> tuple[Any, ...]:
        return tuple(part.deserialize(stream) for part in self.parts)

    def snapshot_configuration(self) -> TypeSerializerSnapshot[tuple[Any, ...]]:
        return PairSerializerSnapshot(self)


class PairSerializerSnapshot(CompositeTypeSerializerSnapshot[tuple[Any, ...]]):
    outer_version = 1

    def __init__(self, serializer: PairSerializer | None = None) -> None:
        super().__init__(serializer)
        self.label = "" if serializer is None else serializer.label

    def get_current_outer_snapshot_version(self) -> int:
        return self.outer_version

    def write_outer_snapshot(self, output: DataOutputView) -> None:
        output.write_utf(self.label)

    def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
        self.label = input_view.read_utf()

    def resolve_outer_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> OuterSchemaCompatibility:
        assert isinstance(old_serializer_snapshot, PairSerializerSnapshot)
        if old_serializer_snapshot.label == self.label:
            return OuterSchemaCompatibility.COMPATIBLE_AS_IS
        return OuterSchemaCompatibility[self.label]

    def get_nested_serializers(self, outer_serializer: PairSerializer) -> Sequence[TypeSerializer[Any]]:
        return outer_serializer.parts

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> PairSerializer:
        return PairSerializer(self.label, *nested_serializers)


class Enclosing:
    class NestedSnapshot(WordSerializerSnapshot):
        pass


class NeedsArgumentSnapshot(WordSerializerSnapshot):
    def __init__(self, something: int) -> None:
        super().__init__()


OtherwiseNamedSnapshot = type("GoneSnapshot", (WordSerializerSnapshot,), {"__module__": __name__})


def _stored(serializer: TypeSerializer[Any]) -> TypeSerializerSnapshot[Any]:
    return snapshot_from_bytes(snapshot_to_bytes(serializer.snapshot_configuration()))


def _resolved(new: TypeSerializer[Any], old: TypeSerializer[Any]) -> TypeSerializerSchemaCompatibility:
    return new.snapshot_configuration().resolve_schema_compatibility(_stored(old))


# --- the public names ---


def test_the_package_exports_these_names() -> None:
    assert rekindle.serialization.__all__ == [
        "AvroSerializer",
        "CompositeTypeSerializerSnapshot",
        "DataInputView",
        "DataOutputView",
        "DataclassSerializer",
        "EnumSerializer",
        "GenericArraySerializer",
        "NullableSerializer",
        "OuterSchemaCompatibility",
        "PickleSerializer",
        "SerializationError",
        "SerializerSnapshotError",
        "SimpleTypeSerializerSnapshot",
        "StateMigrationException",
        "StructSerializer",
        "TypeSerializer",
        "TypeSerializerSchemaCompatibility",
        "TypeSerializerSnapshot",
        "register_snapshot_alias",
    ]
    for name in rekindle.serialization.__all__:
        assert getattr(rekindle.serialization, name).__name__ == name


def test_a_name_that_is_not_there_raises_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'KryoSerializer'"):
        rekindle.serialization.KryoSerializer  # noqa: B018


# --- streams ---


@given(st.tuples(st.booleans(), *(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64))))
def test_simple_values_come_back_from_a_stream(values: tuple[bool, int, int, int, int]) -> None:
    output = DataOutputView()
    output.write_boolean(values[0])
    output.write_byte(values[1])
    output.write_short(values[2])
    output.write_int(values[3])
    output.write_long(values[4])
    output.write_float(1.5)
    output.write_double(0.1)
    output.write_utf("ä€𝄞\ud800")
    output.write_sized(b"bytes")
    source = DataInputView(output.getvalue())
    read = (source.read_boolean(), source.read_byte(), source.read_short(), source.read_int(), source.read_long())
    assert read == values
    assert (source.read_float(), source.read_double()) == (1.5, 0.1)
    assert (source.read_utf(), source.read_sized(), source.read()) == ("ä€𝄞\ud800", b"bytes", b"")


def test_numbers_are_written_as_java_writes_them() -> None:
    output = DataOutputView()
    output.write_int(1)
    output.write_long(-2)
    assert output.getvalue() == b"\0\0\0\1" + b"\xff" * 7 + b"\xfe"


def test_a_number_too_large_for_its_bytes_is_refused() -> None:
    for write in (DataOutputView().write_byte, DataOutputView().write_short, DataOutputView().write_int):
        with pytest.raises(SerializationError, match="cannot be written as"):
            write(1 << 40)


def test_a_stream_that_ends_too_early_raises() -> None:
    with pytest.raises(SerializationError, match="ended after 2 bytes where 4 were expected"):
        DataInputView(b"\0\1").read_int()
    with pytest.raises(SerializationError, match="ended after 1 bytes where 9 were expected"):
        DataInputView(b"\0\0\0\x09x").read_utf()
    with pytest.raises(SerializationError, match="-1 bytes follow"):
        DataInputView(b"\xff" * 4).read_sized()
    with pytest.raises(SerializationError, match="are not text"):
        DataInputView(b"\0\0\0\1\xff").read_utf()


# --- serializers of one's own ---


def test_a_serializer_of_ones_own_needs_only_a_stream() -> None:
    serializer = WordSerializer()
    assert serializer.from_bytes(serializer.to_bytes("word")) == "word"
    assert serializer.all_from_bytes(serializer.all_to_bytes(["a", "", "c"])) == ["a", "", "c"]
    assert serializer.converted(["a"]) == ["a"]
    assert serializer.copy("a") == "a"
    assert serializer.get_length() == -1
    with pytest.raises(SerializationError, match="are not elements"):
        serializer.all_from_bytes(b"\xc1")


def test_a_serializer_of_ones_own_can_be_part_of_a_packed_one() -> None:
    embedded = as_msgpack(WordSerializer())
    assert as_msgpack(embedded) is embedded
    assert embedded == as_msgpack(WordSerializer())
    assert embedded.from_bytes(embedded.to_bytes("word")) == "word"


def test_a_serializer_without_a_snapshot_says_what_to_do() -> None:
    class NoSnapshot(WordSerializer):
        snapshot_configuration = TypeSerializer.snapshot_configuration

    with pytest.raises(SerializationError, match=r"NoSnapshot .* no snapshot_configuration\(\)"):
        NoSnapshot().snapshot_configuration()


# --- stored snapshots ---


def test_a_snapshot_is_stored_by_the_name_of_its_class() -> None:
    data = snapshot_to_bytes(WordSerializerSnapshot())
    assert f"{__name__}:WordSerializerSnapshot".encode() in data
    assert type(snapshot_from_bytes(data)) is WordSerializerSnapshot


def test_a_snapshot_nobody_could_read_back_is_not_written() -> None:
    class LocalSnapshot(WordSerializerSnapshot):
        pass

    for snapshot, reason in (
        (LocalSnapshot(), "inside a function"),
        (Enclosing.NestedSnapshot(), "inside another class"),
        (NeedsArgumentSnapshot(1), "no constructor without arguments"),
    ):
        with pytest.raises(SerializerSnapshotError, match=reason):
            snapshot_to_bytes(snapshot)


def test_a_class_under_another_name_is_not_written() -> None:
    with pytest.raises(SerializerSnapshotError, match="is not found as GoneSnapshot"):
        snapshot_to_bytes(OtherwiseNamedSnapshot())


def test_a_snapshot_of_a_newer_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ScriptedSerializerSnapshot, "version", 3)
    data = snapshot_to_bytes(ScriptedSerializerSnapshot())
    assert snapshot_from_bytes(data)
    monkeypatch.setattr(ScriptedSerializerSnapshot, "version", 2)
    with pytest.raises(SerializerSnapshotError, match="is of version 3, and the class here reads versions up to 2"):
        snapshot_from_bytes(data)


def test_a_newer_outer_snapshot_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairSerializerSnapshot, "outer_version", 2)
    data = snapshot_to_bytes(PairSerializer("").snapshot_configuration())
    monkeypatch.setattr(PairSerializerSnapshot, "outer_version", 1)
    with pytest.raises(SerializerSnapshotError, match="is of version 2, and the class here reads versions up to 1"):
        snapshot_from_bytes(data)


def test_bytes_that_are_no_snapshot_are_refused() -> None:
    data = snapshot_to_bytes(WordSerializerSnapshot())
    for damaged, reason in (
        (b"", "is damaged"),
        (b"JUNK" + data[4:], "first bytes are wrong"),
        (data[:4] + b"\x09" + data[5:], "is of format 9"),
        (data[:-1], "is damaged"),
        (data + b"x", "there are bytes after"),
    ):
        with pytest.raises(SerializerSnapshotError, match=reason):
            snapshot_from_bytes(damaged)


def test_a_snapshot_that_fails_to_read_names_its_class() -> None:
    data = snapshot_to_bytes(ScriptedSerializerSnapshot()).replace(b"scripted", b"otherwis")
    with pytest.raises(SerializerSnapshotError, match="ScriptedSerializerSnapshot of version 1 cannot be read"):
        snapshot_from_bytes(data)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gone.module:Snapshot", "there is no such class any more"),
        (".relative:Snapshot", "there is no such class any more"),
        (f"{__name__}:GoneSnapshot", "there is no such class any more"),
        ("builtins:int", "is not a TypeSerializerSnapshot"),
        ("rekindle.serialization:TypeSerializerSnapshot", "no constructor without arguments"),
        (
            "rekindle.serialization.scalars.scalar_serializer:ScalarSerializerSnapshot",
            "no constructor without arguments",
        ),
    ],
)
def test_a_name_that_is_no_snapshot_is_refused(name: str, reason: str) -> None:
    output = DataOutputView()
    output.write(b"RKSS\x01")
    output.write_utf(name)
    output.write_int(1)
    output.write_sized(b"")
    with pytest.raises(SerializerSnapshotError, match=reason):
        snapshot_from_bytes(output.getvalue())


def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_snapshots.py").write_text("raise RuntimeError('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    data = snapshot_to_bytes(WordSerializerSnapshot())
    old, new = f"{__name__}:WordSerializerSnapshot".encode(), b"broken_snapshots:Snapshot"
    size = len(old).to_bytes(4, "big")
    data = data.replace(size + old, len(new).to_bytes(4, "big") + new)
    with pytest.raises(
        SerializerSnapshotError, match=r"broken_snapshots.* cannot be imported: RuntimeError: no licence"
    ):
        snapshot_from_bytes(data)
    assert "broken_snapshots" not in sys.modules


# --- aliases ---


@pytest.fixture
def aliases(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(snapshot_aliases, "_ALIASES", {})
    return


@pytest.mark.usefixtures("aliases")
def test_another_process_of_the_program_takes_the_aliases_over() -> None:
    register_snapshot_alias("gone.away:Snapshot", "here.now:Snapshot")
    known = snapshot_aliases.known_aliases()
    snapshot_aliases._ALIASES.clear()
    assert snapshot_aliases.current_name("gone.away:Snapshot") == "gone.away:Snapshot"
    snapshot_aliases.adopt_aliases(known)
    assert snapshot_aliases.current_name("gone.away:Snapshot") == "here.now:Snapshot"


@pytest.mark.usefixtures("aliases")
def test_a_renamed_snapshot_class_is_found_by_its_alias() -> None:
    data = snapshot_to_bytes(WordSerializerSnapshot()).replace(b"WordSerializerSnapshot", b"TextSerializerSnapshot")
    with pytest.raises(SerializerSnapshotError, match="register_snapshot_alias"):
        snapshot_from_bytes(data)
    register_snapshot_alias(f"{__name__}:TextSerializerSnapshot", "moved.on:Snapshot")
    with pytest.raises(SerializerSnapshotError, match=r"which is known as moved\.on:Snapshot now"):
        snapshot_from_bytes(data)
    register_snapshot_alias("moved.on:Snapshot", WordSerializerSnapshot)
    assert type(snapshot_from_bytes(data)) is WordSerializerSnapshot


@pytest.mark.usefixtures("aliases")
def test_aliases_cannot_contradict_each_other() -> None:
    register_snapshot_alias("a:B", "c:D")
    register_snapshot_alias("a:B", "c:D")
    with pytest.raises(ValueError, match="is an alias of c:D already"):
        register_snapshot_alias("a:B", "e:F")
    with pytest.raises(ValueError, match="which is itself an alias of it"):
        register_snapshot_alias("c:D", "a:B")
    with pytest.raises(ValueError, match="names no class"):
        register_snapshot_alias("a.B", "c:D")


# --- compatibility ---


def test_each_outcome_says_what_it_is() -> None:
    reconfigured = TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(WordSerializer())
    results = [AS_IS, reconfigured, AFTER_MIGRATION, INCOMPATIBLE]
    for position, asked in enumerate(
        [
            TypeSerializerSchemaCompatibility.is_compatible_as_is,
            TypeSerializerSchemaCompatibility.is_compatible_with_reconfigured_serializer,
            TypeSerializerSchemaCompatibility.is_compatible_after_migration,
            TypeSerializerSchemaCompatibility.is_incompatible,
        ]
    ):
        assert [asked(result) for result in results] == [index == position for index in range(4)]
    assert reconfigured.get_reconfigured_serializer() == WordSerializer()
    assert str(INCOMPATIBLE) == "incompatible: there is no way"
    assert str(AS_IS) == "compatible as is"
    with pytest.raises(ValueError, match="no reconfigured serializer"):
        AS_IS.get_reconfigured_serializer()


def test_a_simple_snapshot_is_compatible_with_its_own_class_only() -> None:
    assert _resolved(WordSerializer(), WordSerializer()).is_compatible_as_is()
    result = _resolved(WordSerializer(), ScriptedSerializer())
    assert result.is_incompatible()
    assert result.reasons == ("the type was ScriptedSerializer and is WordSerializer now",)


RECONFIGURED = TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(WordSerializer(), "reordered")


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        ([AS_IS, AS_IS], Outcome.AS_IS),
        ([AS_IS, RECONFIGURED], Outcome.RECONFIGURED),
        ([AFTER_MIGRATION, RECONFIGURED], Outcome.AFTER_MIGRATION),
        ([AS_IS, AFTER_MIGRATION], Outcome.AFTER_MIGRATION),
        ([INCOMPATIBLE, AFTER_MIGRATION, RECONFIGURED], Outcome.INCOMPATIBLE),
    ],
)
def test_the_worst_part_decides_about_the_whole(
    parts: list[TypeSerializerSchemaCompatibility], outcome: Outcome
) -> None:
    new = PairSerializer("x", *map(ScriptedSerializer, parts))
    old = PairSerializer("x", *(ScriptedSerializer() for _ in parts))
    result = _resolved(new, old)
    assert result.outcome is outcome
    changed = [index for index, part in enumerate(parts) if part.reasons]
    assert [reason.split(":")[0] for reason in result.reasons] == [f"part {index}" for index in changed]


def test_a_reconfigured_part_makes_a_reconfigured_whole() -> None:
    new = PairSerializer("x", ScriptedSerializer(RECONFIGURED), ScriptedSerializer(AS_IS))
    result = _resolved(new, PairSerializer("x", ScriptedSerializer(), ScriptedSerializer()))
    assert result.get_reconfigured_serializer() == PairSerializer("x", WordSerializer(), ScriptedSerializer(AS_IS))


@pytest.mark.parametrize("outer", ["COMPATIBLE_AFTER_MIGRATION", "INCOMPATIBLE"])
def test_the_outer_part_counts_as_the_nested_ones_do(outer: str) -> None:
    result = _resolved(PairSerializer(outer, WordSerializer()), PairSerializer("x", WordSerializer()))
    assert result.outcome is OuterSchemaCompatibility[outer].value
    assert result.reasons == ("PairSerializer is configured otherwise than before",)


def test_another_number_of_parts_is_incompatible() -> None:
    result = _resolved(PairSerializer("x", WordSerializer()), PairSerializer("x", WordSerializer(), WordSerializer()))
    assert result.is_incompatible()
    assert result.reasons == ("PairSerializer was made of 2 types and is made of 1 now",)


def test_a_composite_is_no_other_type() -> None:
    assert _resolved(PairSerializer("x"), WordSerializer()).is_incompatible()
    assert _resolved(WordSerializer(), PairSerializer("x")).is_incompatible()


def test_a_composite_restores_what_it_was_made_of() -> None:
    serializer = PairSerializer("x", WordSerializer(), PairSerializer("y", WordSerializer()))
    restored = _stored(serializer).restore_serializer()
    assert restored == serializer
    assert restored.from_bytes(serializer.to_bytes(("a", ("b",)))) == ("a", ("b",))


def test_a_composite_restores_its_parts_for_those_that_go_on() -> None:
    old = PairSerializer("x", WordSerializer())
    assert _stored(old).restore_serializer_for(old.snapshot_configuration()) == old
    assert _stored(old).restore_serializer_for(WordSerializerSnapshot()) == old
