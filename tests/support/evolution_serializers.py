"""Serializers as a program has them that was changed: made anew for each version, under one name in one module."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from rekindle.serialization import (
    CompositeTypeSerializerSnapshot,
    DataInputView,
    DataOutputView,
    OuterSchemaCompatibility,
    TypeSerializer,
    TypeSerializerSchemaCompatibility,
    TypeSerializerSnapshot,
)
from support.versioned_classes import MODULE, Versions


class WordSerializer(TypeSerializer[str]):
    """Serialize strings, each behind a mark; in two bytes a character if it is wide."""

    def __init__(self, snapshot_class: type[Any], mark: str, wide: bool = False, topic: str = "words") -> None:
        self.snapshot_class = snapshot_class
        self.mark = mark
        self.wide = wide
        self.topic = topic

    def serialize(self, element: str, stream: BytesIO) -> None:
        assert isinstance(stream, DataOutputView)
        stream.write_sized(f"{self.mark}{element}".encode(self._encoding))

    def deserialize(self, stream: BytesIO) -> str:
        assert isinstance(stream, DataInputView)
        text = stream.read_sized().decode(self._encoding)
        assert text.startswith(self.mark), f"{text!r} has not the mark {self.mark!r}"
        return text.removeprefix(self.mark)

    def snapshot_configuration(self) -> TypeSerializerSnapshot[str]:
        snapshot: TypeSerializerSnapshot[str] = self.snapshot_class(self.mark, self.wide, self.topic)
        return snapshot

    @property
    def _encoding(self) -> str:
        return "utf-16-le" if self.wide else "utf-8"


class _WordSnapshot(TypeSerializerSnapshot[str]):
    def __init__(self, mark: str = "", wide: bool = False, topic: str = "words") -> None:
        self.mark = mark
        self.wide = wide
        self.topic = topic

    def restore_serializer(self) -> TypeSerializer[str]:
        return WordSerializer(type(self), self.mark, self.wide, self.topic)

    def describe(self) -> str:
        return f"{self.topic}{' in two bytes' if self.wide else ''}"

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        old = old_serializer_snapshot
        if not isinstance(old, _WordSnapshot) or old.topic != self.topic:
            return TypeSerializerSchemaCompatibility.incompatible(f"it was {old.describe()}, not {self.describe()}")
        if old.wide != self.wide:
            return TypeSerializerSchemaCompatibility.compatible_after_migration("characters became wide")
        if old.mark != self.mark:
            serializer = WordSerializer(type(self), old.mark, self.wide, self.topic)
            return TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(serializer)
        return TypeSerializerSchemaCompatibility.compatible_as_is()


def words_1(versions: Versions, mark: str) -> WordSerializer:
    """Make the serializer of the first version: its snapshot knows the mark only."""

    class WordSnapshot(_WordSnapshot):
        def get_current_version(self) -> int:
            return 1

        def write_snapshot(self, output: DataOutputView) -> None:
            output.write_utf(self.mark)

        def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
            self.mark = input_view.read_utf()

    return WordSerializer(at_top_level(versions, WordSnapshot), mark)


def words_2(versions: Versions, mark: str, wide: bool = False, topic: str = "words") -> WordSerializer:
    """Make the serializer of the second version: its snapshot knows more, and reads those of the first."""

    class WordSnapshot(_WordSnapshot):
        def get_current_version(self) -> int:
            return 2

        def write_snapshot(self, output: DataOutputView) -> None:
            output.write_utf(self.mark)
            output.write_boolean(self.wide)
            output.write_utf(self.topic)

        def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
            self.mark = input_view.read_utf()
            if read_version > 1:
                self.wide, self.topic = input_view.read_boolean(), input_view.read_utf()

    return WordSerializer(at_top_level(versions, WordSnapshot), mark, wide, topic)


class PairSerializer(TypeSerializer[tuple[Any, Any]]):
    """Serialize pairs; the second element first if they are swapped."""

    def __init__(
        self, snapshot_class: type[Any], one: TypeSerializer[Any], other: TypeSerializer[Any], swapped: bool = False
    ) -> None:
        self.snapshot_class = snapshot_class
        self.parts = (one, other)
        self.swapped = swapped

    def serialize(self, element: tuple[Any, Any], stream: BytesIO) -> None:
        pairs = list(zip(self.parts, element, strict=True))
        for serializer, part in reversed(pairs) if self.swapped else pairs:
            serializer.serialize(part, stream)

    def deserialize(self, stream: BytesIO) -> tuple[Any, Any]:
        one, other = self.parts
        if self.swapped:
            second = other.deserialize(stream)
            return one.deserialize(stream), second
        return one.deserialize(stream), other.deserialize(stream)

    def snapshot_configuration(self) -> TypeSerializerSnapshot[tuple[Any, Any]]:
        snapshot: TypeSerializerSnapshot[tuple[Any, Any]] = self.snapshot_class(self)
        return snapshot


class _PairSnapshot(CompositeTypeSerializerSnapshot[tuple[Any, Any]]):
    def __init__(self, serializer: PairSerializer | None = None) -> None:
        super().__init__(serializer)
        self.swapped = serializer is not None and serializer.swapped

    def get_nested_serializers(self, outer_serializer: PairSerializer) -> Sequence[TypeSerializer[Any]]:
        return outer_serializer.parts

    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> PairSerializer:
        one, other = nested_serializers
        return PairSerializer(type(self), one, other, self.swapped)


def pairs_1(versions: Versions, one: TypeSerializer[Any], other: TypeSerializer[Any]) -> PairSerializer:
    """Make the serializer of the first version, which has nothing to say of itself."""

    class PairSnapshot(_PairSnapshot):
        def get_current_outer_snapshot_version(self) -> int:
            return 1

    return PairSerializer(at_top_level(versions, PairSnapshot), one, other)


def pairs_2(
    versions: Versions,
    one: TypeSerializer[Any],
    other: TypeSerializer[Any],
    swapped: bool = False,
    migrates: bool = True,
) -> PairSerializer:
    """Make the serializer of the second version, whose outer snapshot knows whether pairs are swapped."""

    class PairSnapshot(_PairSnapshot):
        def get_current_outer_snapshot_version(self) -> int:
            return 2

        def write_outer_snapshot(self, output: DataOutputView) -> None:
            output.write_boolean(self.swapped)

        def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
            self.swapped = read_outer_snapshot_version > 1 and input_view.read_boolean()

        def resolve_outer_schema_compatibility(
            self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
        ) -> OuterSchemaCompatibility:
            assert isinstance(old_serializer_snapshot, PairSnapshot)
            if old_serializer_snapshot.swapped == self.swapped:
                return OuterSchemaCompatibility.COMPATIBLE_AS_IS
            if migrates:
                return OuterSchemaCompatibility.COMPATIBLE_AFTER_MIGRATION
            return OuterSchemaCompatibility.INCOMPATIBLE

    return PairSerializer(at_top_level(versions, PairSnapshot), one, other, swapped)


def at_top_level(versions: Versions, cls: type[Any]) -> type[Any]:
    """Put a class into the module of the program, as if it were defined there."""
    cls.__module__, cls.__qualname__ = MODULE, cls.__name__
    setattr(versions.module, cls.__name__, cls)
    return cls
