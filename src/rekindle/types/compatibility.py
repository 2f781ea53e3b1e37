"""The four things that may be said of a new serializer and what an older one wrote."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Outcome", "TypeSerializerSchemaCompatibility"]


class Outcome(Enum):
    """Name the four outcomes, from the best to the worst."""

    AS_IS = "compatible as is"
    RECONFIGURED = "compatible with a reconfigured serializer"
    AFTER_MIGRATION = "compatible after migration"
    INCOMPATIBLE = "incompatible"


_RANKS = {outcome: rank for rank, outcome in enumerate(Outcome)}


@dataclass(frozen=True, slots=True)
class TypeSerializerSchemaCompatibility:
    """Say whether a new serializer can go on with what an older one wrote, and why not.

    Attributes:
        outcome: Which of the four it is.
        reasons: What changed, one sentence each; empty where nothing did.
        reconfigured: The serializer to use instead of the new one.
    """

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    reconfigured: Any = None

    @staticmethod
    def compatible_as_is() -> TypeSerializerSchemaCompatibility:
        """Return: the new serializer reads what was written."""
        return _AS_IS

    @staticmethod
    def compatible_after_migration(*reasons: str) -> TypeSerializerSchemaCompatibility:
        """Return: all has to be read with the old serializer and written with the new one."""
        return TypeSerializerSchemaCompatibility(Outcome.AFTER_MIGRATION, reasons)

    @staticmethod
    def compatible_with_reconfigured_serializer(serializer: Any, *reasons: str) -> TypeSerializerSchemaCompatibility:
        """Return: this serializer, made of the new one, reads what was written."""
        return TypeSerializerSchemaCompatibility(Outcome.RECONFIGURED, reasons, serializer)

    @staticmethod
    def incompatible(*reasons: str) -> TypeSerializerSchemaCompatibility:
        """Return: there is no way from the old to the new."""
        return TypeSerializerSchemaCompatibility(Outcome.INCOMPATIBLE, reasons)

    def is_compatible_as_is(self) -> bool:
        """Return whether the new serializer reads what was written."""
        return self.outcome is Outcome.AS_IS

    def is_compatible_after_migration(self) -> bool:
        """Return whether all has to be written anew."""
        return self.outcome is Outcome.AFTER_MIGRATION

    def is_compatible_with_reconfigured_serializer(self) -> bool:
        """Return whether another serializer is to be used instead of the new one."""
        return self.outcome is Outcome.RECONFIGURED

    def is_incompatible(self) -> bool:
        """Return whether there is no way."""
        return self.outcome is Outcome.INCOMPATIBLE

    def get_reconfigured_serializer(self) -> Any:
        """Return the serializer to use instead of the new one."""
        if self.reconfigured is None:
            raise ValueError(f"there is no reconfigured serializer: the outcome is {self.outcome.value!r}")
        return self.reconfigured

    def __str__(self) -> str:
        return f"{self.outcome.value}: {'; '.join(self.reasons)}" if self.reasons else self.outcome.value


_AS_IS = TypeSerializerSchemaCompatibility(Outcome.AS_IS)


def worst(results: Iterable[TypeSerializerSchemaCompatibility]) -> Outcome:
    """Return the outcome that decides about a whole made of parts: incompatible, migration, reconfigured, as is."""
    return max((result.outcome for result in results), key=_RANKS.__getitem__, default=Outcome.AS_IS)


def within(name: str, reasons: Iterable[str]) -> tuple[str, ...]:
    """Say of reasons in which part of a whole they are."""
    return tuple(f"{name}: {reason}" for reason in reasons)
