"""How state follows when the fields of a class change: Flink's rules of POJOs.

Fields may be added, removed and reordered; the type of a field, and the name of the class, may not change.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from rekindle.exceptions import SerializationError, SerializerSnapshotError
from rekindle.serialization.classes.class_names import ClassName, class_named
from rekindle.serialization.classes.dropped_field import DroppedFieldSerializer
from rekindle.serialization.classes.named_fields_serializer import NamedFieldsSerializer
from rekindle.serialization.classes.recursive_class import making_serializer_of
from rekindle.serialization.encodings.pickle_serializer import PICKLE_DOES_NOT_EVOLVE, PickleSerializerSnapshot
from rekindle.serialization.snapshots.stored_snapshot import read_snapshot, write_snapshot
from rekindle.serialization.snapshots.type_change import type_changed
from rekindle.types.compatibility import Outcome, TypeSerializerSchemaCompatibility, worst
from rekindle.types.data_views import DataInputView, DataOutputView
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

T = TypeVar("T")
_FORMAT = 1


class NamedFieldsSerializerSnapshot(TypeSerializerSnapshot[T]):
    """Remember a class by its name, and its fields by name, order and type.

    Attributes:
        kind: What classes of this kind are called.
        serializer_class: What serializes them.
    """

    kind: ClassVar[str]
    serializer_class: ClassVar[type[NamedFieldsSerializer[Any]]]

    def __init__(self, serializer: NamedFieldsSerializer[T] | None = None) -> None:
        """Remember a serializer; without one, :meth:`read_snapshot` says what to remember."""
        self._cls: type | None = None
        self._class_name = ClassName("", "")
        self._fields: dict[str, TypeSerializerSnapshot[Any]] = {}
        if serializer is not None:
            self._cls = serializer.cls
            self._class_name = serializer.name
            self._fields = {name: _snapshot_of(nested, name, self._class_name) for name, nested in serializer.layout}

    @property
    def fields(self) -> dict[str, TypeSerializerSnapshot[Any]]:
        """Return the snapshots of the fields' serializers, by name."""
        return self._fields

    @staticmethod
    @abstractmethod
    def make_stand_in(module: str, qualified: str, fields: tuple[str, ...]) -> type:
        """Make a class of this kind with these fields, to look at state whose class is not here."""

    def _stand_in(self, module: str, qualified: str) -> type:
        return self.make_stand_in(module, qualified, tuple(self._fields))

    @staticmethod
    @abstractmethod
    def is_of_kind(cls: type) -> bool:
        """Return whether a class is of the kind that this remembers."""

    def get_current_version(self) -> int:
        """Return the version of the format."""
        return _FORMAT

    def write_snapshot(self, output: DataOutputView) -> None:
        """Write the name of the class, and the fields."""
        self._class_name.write(output)
        output.write_int(len(self._fields))
        for name, nested in self._fields.items():
            output.write_utf(name)
            write_snapshot(nested, output)

    def read_snapshot(self, read_version: int, input_view: DataInputView) -> None:
        """Read the name of the class, and the fields."""
        self._class_name = ClassName.read(input_view)
        for _ in range(input_view.read_int()):
            name = input_view.read_utf()
            self._fields[name] = read_snapshot(input_view)

    def restore_serializer(self) -> TypeSerializer[T]:
        """Return a serializer that reads instances as they were written into instances of the class as it is today.

        Raises:
            SerializerSnapshotError: The class is gone.
        """
        return self._with_fields(self._current_class(), self._fields, {})

    def restore_serializer_for(self, new_serializer_snapshot: TypeSerializerSnapshot[Any]) -> TypeSerializer[T]:
        """Return such a serializer whose fields are restored for those of the newer one."""
        new = new_serializer_snapshot
        if not isinstance(new, NamedFieldsSerializerSnapshot) or new._class_name != self._class_name:
            return self.restore_serializer()
        return self._with_fields(new._current_class(), self._fields, new._fields)

    def resolve_schema_compatibility(
        self, old_serializer_snapshot: TypeSerializerSnapshot[Any]
    ) -> TypeSerializerSchemaCompatibility:
        """Compare the fields by name.

        Raises:
            SerializerSnapshotError: The class of this snapshot is gone.
        """
        old = old_serializer_snapshot
        if not isinstance(old, NamedFieldsSerializerSnapshot):
            return type_changed(old, self)
        if old._class_name != self._class_name:
            return TypeSerializerSchemaCompatibility.incompatible(self._renamed(old))
        if type(old) is not type(self):
            return TypeSerializerSchemaCompatibility.incompatible(
                f"{self._class_name} was a {old.kind} and is a {self.kind} now"
            )
        return self._compared_with(old)

    def describe(self) -> str:
        """Name the type for people."""
        return str(self._class_name)

    def _compared_with(self, old: NamedFieldsSerializerSnapshot[Any]) -> TypeSerializerSchemaCompatibility:
        added = [name for name in self._fields if name not in old._fields]
        removed = [name for name in old._fields if name not in self._fields]
        kept = [name for name in old._fields if name in self._fields]
        with making_serializer_of(self._class_name) as enclosing:
            results = {name: self._fields[name].resolve_schema_compatibility(old._fields[name]) for name in kept}
            reasons: list[str] = []
            for name, result in results.items():
                reasons += self._reasons(name, old._fields[name], self._fields[name], result)
            outcome = worst(results.values())
            if outcome is not Outcome.INCOMPATIBLE and (added or removed):
                outcome = Outcome.AFTER_MIGRATION
            reasons += self._reasons_of_added(added) if added else []
            reasons += [f"field {name!r} of {self._class_name} was removed; its values are dropped" for name in removed]
            if outcome in (Outcome.INCOMPATIBLE, Outcome.AFTER_MIGRATION):
                return TypeSerializerSchemaCompatibility(outcome, tuple(reasons))
            if kept != list(self._fields):
                reasons.append(
                    f"the fields of {self._class_name} were reordered; the order in which they are stored stays"
                )
                outcome = Outcome.RECONFIGURED
            if outcome is Outcome.AS_IS:
                return TypeSerializerSchemaCompatibility.compatible_as_is()
            layout = tuple((name, self._going_on(name, result)) for name, result in results.items())
            enclosing.serializer = self.serializer_class(self._current_class(), layout)
        return TypeSerializerSchemaCompatibility.compatible_with_reconfigured_serializer(enclosing.serializer, *reasons)

    def _going_on(self, name: str, result: TypeSerializerSchemaCompatibility) -> TypeSerializer[Any]:
        if result.outcome is Outcome.RECONFIGURED:
            serializer: TypeSerializer[Any] = result.get_reconfigured_serializer()
            return serializer
        return self._fields[name].restore_serializer()

    def _with_fields(
        self,
        cls: type,
        fields: dict[str, TypeSerializerSnapshot[Any]],
        become: dict[str, TypeSerializerSnapshot[Any]],
    ) -> TypeSerializer[T]:
        kept = {field.name for field in self.serializer_class.fields_of(cls)}

        def restored(name: str, nested: TypeSerializerSnapshot[Any]) -> TypeSerializer[Any]:
            if name not in kept:
                return DroppedFieldSerializer(nested)
            return nested.restore_serializer_for(become[name]) if name in become else nested.restore_serializer()

        with making_serializer_of(self._class_name) as enclosing:
            layout = tuple((name, restored(name, nested)) for name, nested in fields.items())
            enclosing.serializer = self.serializer_class(cls, layout)
        return enclosing.serializer

    def _current_class(self) -> type:
        if self._cls is None:
            cls = class_named(self._class_name, self._stand_in)
            if not self.is_of_kind(cls):
                raise SerializerSnapshotError(
                    f"state was written with the {self.kind} {self._class_name}, and that is no longer a {self.kind}. "
                    "Make it one again, or give the new class another name"
                )
            self._cls = cls
        return self._cls

    def _reasons(
        self,
        name: str,
        old: TypeSerializerSnapshot[Any],
        new: TypeSerializerSnapshot[Any],
        result: TypeSerializerSchemaCompatibility,
    ) -> list[str]:
        field = f"field {name!r} of {self._class_name}"
        if result.is_incompatible() and old.describe() != new.describe():
            is_pickle = isinstance(old, PickleSerializerSnapshot) or isinstance(new, PickleSerializerSnapshot)
            why = f"; {PICKLE_DOES_NOT_EVOLVE}" if is_pickle else ""
            return [f"{field} was {old.describe()} and is {new.describe()} now{why}"]
        return [f"{field}: {reason}" for reason in result.reasons]

    def _reasons_of_added(self, added: list[str]) -> list[str]:
        fields = {field.name: field for field in self.serializer_class.fields_of(self._current_class())}
        return [
            f"field {name!r} of {self._class_name} was added; it starts as {fields[name].initial_text()}"
            if name in fields
            else f"field {name!r} of {self._class_name} was added"
            for name in added
        ]

    def _renamed(self, old: NamedFieldsSerializerSnapshot[Any]) -> str:
        return (
            f"the class was {old._class_name} and is {self._class_name} now: a class that is renamed or moved is "
            "another type to its state (register_snapshot_alias is for classes of snapshots, not for this)"
        )


def _snapshot_of(serializer: TypeSerializer[Any], field: str, owner: ClassName) -> TypeSerializerSnapshot[Any]:
    try:
        return serializer.snapshot_configuration()
    except SerializationError as error:
        raise SerializationError(f"field {field!r} of {owner}: {error}") from error
