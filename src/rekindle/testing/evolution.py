"""Tells in a test, long before a job is restored, whether its state will follow a change of its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.serialization.classes.class_names import old_versions_of_classes
from rekindle.serialization.serializer_of import serializer_of
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.annotations import as_type_info
from rekindle.types.compatibility import Outcome
from rekindle.types.serializer_snapshot import TypeSerializerSnapshot
from rekindle.types.type_serializer import TypeSerializer

__all__ = ["Evolution", "check_evolution", "serializer_snapshot"]


@dataclass(frozen=True, slots=True)
class Evolution:
    """Say what becomes of state when its type changes.

    Attributes:
        outcome: Which of the four outcomes it is.
        reasons: What changed, one sentence each; empty where nothing did.
    """

    outcome: Outcome
    reasons: tuple[str, ...]

    @property
    def is_compatible(self) -> bool:
        """Return whether state of the old type can be restored as one of the new type."""
        return self.outcome is not Outcome.INCOMPATIBLE

    def __str__(self) -> str:
        return f"{self.outcome.value}: {'; '.join(self.reasons)}" if self.reasons else self.outcome.value


def serializer_snapshot(type_info: Any) -> bytes:
    """Return what a checkpoint keeps to know the type of a state by: bytes for a test to store and compare with later.

    Args:
        type_info: What descriptors of state take: type information, a dataclass, another annotation, or a serializer.

    Raises:
        SerializerSnapshotError: State cannot be of this type.
    """
    return snapshot_to_bytes(_snapshot(type_info, "The type"))


def check_evolution(old: Any, new: Any) -> Evolution:
    """Return whether state of one type can be restored by a program in which it is of another.

    Both may be what descriptors of state take, a snapshot of a serializer, or the bytes of :func:`serializer_snapshot`.
    The way is that of a restore: the old type is stored and read back. Two versions of a class share its name, so that
    there is only one of them in a program; keep the bytes of the old one with the test::

        USER = bytes.fromhex("524b5353…")  # serializer_snapshot(User).hex() as of version 1

        def test_version_1_can_be_restored():
            assert check_evolution(USER, User).is_compatible

    Or give it the old class, if it has the ``__module__`` and the ``__qualname__`` of the new one.

    Args:
        old: The type that state was written with.
        new: The type of today.

    Raises:
        SerializerSnapshotError: What is stored cannot be read, or a class in it is gone.
    """
    with old_versions_of_classes():
        stored = snapshot_to_bytes(_snapshot(old, "The old type"))
    before = snapshot_from_bytes(stored)
    now = _snapshot(new, "The new type")
    result = now.resolve_schema_compatibility(before)
    if result.outcome is Outcome.AFTER_MIGRATION:
        before.restore_serializer_for(now)
    return Evolution(result.outcome, result.reasons)


def _snapshot(given: Any, place: str) -> TypeSerializerSnapshot[Any]:
    if isinstance(given, TypeSerializerSnapshot):
        return given
    if isinstance(given, bytes):
        return snapshot_from_bytes(given)
    if isinstance(given, str):
        raise TypeError(f"{place} is a string; a stored snapshot is given as bytes: bytes.fromhex({given[:8]!r}…)")
    serializer: TypeSerializer[Any] = serializer_of(as_type_info(given, place))
    return serializer.snapshot_configuration()
