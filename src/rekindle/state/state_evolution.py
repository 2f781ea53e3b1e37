"""Whether state that was restored can follow the types of the program that asks for it, and with which serializers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.exceptions import SerializationError, SerializerSnapshotError, StateMigrationException
from rekindle.serialization.snapshots.stored_snapshot import snapshot_from_bytes, snapshot_to_bytes
from rekindle.types.compatibility import Outcome
from rekindle.types.type_serializer import TypeSerializer


@dataclass(frozen=True, slots=True)
class StateName:
    """Name a state for messages.

    Attributes:
        operator: The operator's name.
        uid: The operator's uid.
        state: The state's name.
    """

    operator: str
    uid: str
    state: str

    def __str__(self) -> str:
        return f"state {self.state!r} of operator {self.operator!r} (uid {self.uid!r})"


@dataclass(frozen=True, slots=True)
class Evolved:
    """Say how to go on with what was restored.

    Attributes:
        reader: Reads what was written.
        writer: Writes from now on.
        outcome: Which of the four outcomes it is; never INCOMPATIBLE.
    """

    reader: TypeSerializer[Any]
    writer: TypeSerializer[Any]
    outcome: Outcome


def stored_snapshot_of(serializer: TypeSerializer[Any], name: StateName) -> bytes:
    """Return the snapshot of a serializer as it is stored with its state."""
    try:
        return snapshot_to_bytes(serializer.snapshot_configuration())
    except (SerializerSnapshotError, SerializationError) as error:
        raise SerializerSnapshotError(f"{name} cannot be part of a snapshot: {error}") from error


def evolved(
    stored: bytes, serializer: TypeSerializer[Any], name: StateName, what: str = "", may_migrate: bool = True
) -> Evolved:
    """Compare the serializer of a program with the snapshot of the one that wrote the state.

    Args:
        stored: The stored snapshot of the serializer that wrote it.
        serializer: The serializer of the program.
        name: The state, for messages.
        what: What of the state it serializes, for messages, such as "key"; nothing for its values.
        may_migrate: Whether it may be read with one serializer and written with another.

    Raises:
        StateMigrationException: The state cannot follow.
        SerializerSnapshotError: What was stored cannot be read any more.
    """
    part = f"the {what} type of {name}" if what else f"the type of {name}"
    try:
        before = snapshot_from_bytes(stored)
        now = serializer.snapshot_configuration()
        result = now.resolve_schema_compatibility(before)
        if result.outcome is Outcome.AS_IS:
            return Evolved(serializer, serializer, Outcome.AS_IS)
        if result.outcome is Outcome.RECONFIGURED:
            reconfigured = result.get_reconfigured_serializer()
            return Evolved(reconfigured, reconfigured, Outcome.RECONFIGURED)
        if result.outcome is Outcome.AFTER_MIGRATION and may_migrate:
            return Evolved(before.restore_serializer_for(now), serializer, Outcome.AFTER_MIGRATION)
    except SerializerSnapshotError as error:
        raise SerializerSnapshotError(f"{name} cannot be restored: {error}") from error
    changed = "; ".join(result.reasons) or f"it was {before.describe()} and is {now.describe()} now"
    if result.outcome is Outcome.AFTER_MIGRATION:
        raise StateMigrationException(
            f"{part} changed, and a {what} never migrates: {changed}. Change it back, or give the operator another "
            "uid to start without its state"
        )
    raise StateMigrationException(
        f"{part} changed in a way that its values cannot follow: {changed}. Change it back, or give the state another "
        "name to start without its values"
    )


def other_keys(name: StateName, key: str) -> StateMigrationException:
    """Say that the state of a key would not be found by that key any more."""
    return StateMigrationException(
        f"the key type of {name} changed in such a way that {key} is another key now, and its state would not be "
        "found: a field of it has another name, a member of an enum another name or value, or fewer fields count when "
        "keys are compared. Change it back, or give the operator another uid to start without its state"
    )
