"""The snapshot of a serializer that is made of others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any

from rekindle.base.type_variables import T
from rekindle.exceptions import SerializerSnapshotError
from rekindle.serialization.snapshots.stored_snapshot import read_snapshot, write_snapshot
from rekindle.serialization.snapshots.type_change import UndeclaredTypeSnapshot, type_changed
from rekindle.types.compatibility import (
    Outcome,
    TypeSerializerSchemaCompatibility,
    within,
    worst,
)
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["CompositeTypeSerializerSnapshot", "OuterSchemaCompatibility"]

_FORMAT = 1


class OuterSchemaCompatibility(Enum):
    """Say what became of that part of a serializer which is not its nested serializers."""

    COMPATIBLE_AS_IS = Outcome.AS_IS
    COMPATIBLE_AFTER_MIGRATION = Outcome.AFTER_MIGRATION
    INCOMPATIBLE = Outcome.INCOMPATIBLE


class CompositeTypeSerializerSnapshot(TypeSerializerSnapshot[T]):
    """Remember a serializer by those it is made of, and what else there is to know of it: the outer snapshot.

    A subclass has a constructor whose argument, the serializer, may be left out; it says which serializers are nested
    in one and how to make one of others. A serializer with more to it overrides the methods of the outer snapshot.
    """

    def __init__(self, serializer: TypeSerializer[T] | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        self._nested: list[TypeSerializerSnapshot[Any]] = []
        if serializer is not None:
            self._nested = [nested.snapshot_configuration() for nested in self.get_nested_serializers(serializer)]

    # --- to be said by the subclass ---

    @abstractmethod
    def get_current_outer_snapshot_version(self) -> int:
        """Return the version of what :meth:`write_outer_snapshot` writes."""

    @abstractmethod
    def get_nested_serializers(self, outer_serializer: Any) -> Sequence[TypeSerializer[Any]]:
        """Return the serializers that one is made of."""

    @abstractmethod
    def create_outer_serializer_with_nested_serializers(
        self, nested_serializers: Sequence[TypeSerializer[Any]]
    ) -> TypeSerializer[T]:
        """Return a serializer made of these."""

    def write_outer_snapshot(self, output: DataOutputView) -> None:
        """Write what has to be known of the serializer besides those it is made of: nothing."""

    def read_outer_snapshot(self, read_outer_snapshot_version: int, input_view: DataInputView) -> None:
        """Read what :meth:`write_outer_snapshot` wrote."""

    def is_outer_snapshot_compatible(self, new_serializer: Any) -> bool:
        """Return whether a new serializer goes on with this, an older, outer snapshot."""
        return True

    def resolve_outer_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> OuterSchemaCompatibility:
        """Return what became of the outer part; by default, :meth:`is_outer_snapshot_compatible` of the old says."""
        assert isinstance(old_serializer_snapshot, CompositeTypeSerializerSnapshot)
        if old_serializer_snapshot.is_outer_snapshot_compatible(self.restore_serializer()):
            return OuterSchemaCompatibility.COMPATIBLE_AS_IS
        return OuterSchemaCompatibility.INCOMPATIBLE

    def outer_reasons(self, old_serializer_snapshot: Any) -> tuple[str, ...]:
        """Return what changed in the outer part, for people."""
        return (f"{self.describe()} is configured otherwise than before",)

    def nested_name(self, position: int) -> str:
        """Name a nested serializer, for people."""
        return f"part {position}"

    # --- what all of them do ---

    def get_nested_snapshots(self) -> list[TypeSerializerSnapshot[Any]]:
        """Return the snapshots of the nested serializers."""
        return self._nested

    def get_current_version(self) -> int:
        """Return the version of the format in which nested snapshots are stored."""
        return _FORMAT

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write the outer snapshot and the nested ones."""
        output.write_int(self.get_current_outer_snapshot_version())
        outer = DataOutputView()
        self.write_outer_snapshot(outer)
        output.write_sized(outer.getvalue())
        output.write_int(len(self._nested))
        for nested in self._nested:
            write_snapshot(nested, output)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read the outer snapshot and the nested ones."""
        outer_version = input_view.read_int()
        outer = DataInputView(input_view.read_sized())
        if outer_version > self.get_current_outer_snapshot_version():
            raise SerializerSnapshotError(
                f"the outer snapshot of {type(self).__name__} is of version {outer_version}, and the class here reads "
                f"versions up to {self.get_current_outer_snapshot_version()}: a newer program wrote it"
            )
        self.read_outer_snapshot(outer_version, outer)
        self._nested = [read_snapshot(input_view) for _ in range(input_view.read_int())]

    def restore_serializer(self) -> TypeSerializer[T]:
        """Return a serializer made of the restored nested ones."""
        return self.create_outer_serializer_with_nested_serializers(
            [nested.restore_serializer() for nested in self._nested]
        )

    def restore_serializer_for(self, new_serializer_snapshot: TypeSerializerSnapshot[Any]) -> TypeSerializer[T]:
        """Return a serializer made of nested ones, each restored for that which is in its place now."""
        new = new_serializer_snapshot
        if not isinstance(new, CompositeTypeSerializerSnapshot) or len(new._nested) != len(self._nested):
            return self.restore_serializer()
        pairs = zip(self._nested, new._nested, strict=True)
        return self.create_outer_serializer_with_nested_serializers(
            [nested.restore_serializer_for(becomes) for nested, becomes in pairs]
        )

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Say the worst of what is to be said of the outer part and of the nested serializers."""
        old = old_serializer_snapshot
        if type(old) is not type(self):
            return type_changed(old, self)
        assert isinstance(old, CompositeTypeSerializerSnapshot)
        if len(old._nested) != len(self._nested):
            return TypeSerializerSchemaCompatibility.incompatible(
                f"{self.describe()} was made of {len(old._nested)} types and is made of {len(self._nested)} now"
            )
        outer = self.resolve_outer_schema_compatibility(old).value
        results = [
            new.resolve_schema_compatibility(before) for new, before in zip(self._nested, old._nested, strict=True)
        ]
        reasons = () if outer is Outcome.AS_IS else self.outer_reasons(old)
        for position, result in enumerate(results):
            reasons += within(self.nested_name(position), result.reasons)
        outcome = worst([TypeSerializerSchemaCompatibility(outer), *results])
        if outcome is not Outcome.RECONFIGURED:
            return TypeSerializerSchemaCompatibility(outcome, reasons)
        nested = [
            result.reconfigured if result.outcome is Outcome.RECONFIGURED else snapshot.restore_serializer()
            for result, snapshot in zip(results, self._nested, strict=True)
        ]
        serializer = self.create_outer_serializer_with_nested_serializers(nested)
        return TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(serializer, *reasons)


def only_hinted(snapshot: TypeSerializerSnapshot[Any]) -> bool:
    """Return whether a type is only hinted at, as a whole or in parts: without the hint, it would all be pickled."""
    if isinstance(snapshot, UndeclaredTypeSnapshot) and snapshot.hinted:
        return True
    return isinstance(snapshot, CompositeTypeSerializerSnapshot) and any(
        map(only_hinted, snapshot.get_nested_snapshots())
    )
