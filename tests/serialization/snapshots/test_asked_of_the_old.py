"""resolve_schema_compatibility as it was before Flink 1.19: asked of the old snapshot, given the new serializer."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.common.serializer import TypeSerializer
from rekindle.exceptions import StateMigrationException
from rekindle.serialization import TypeSerializerSchemaCompatibility, TypeSerializerSnapshot
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.state_evolution import StateName, evolved, stored_snapshot_of
from rekindle.types.compatibility import Outcome

NAME = StateName("operator", "uid", "state")


class Decimals(TypeSerializer[float]):
    """Write numbers with so many decimals."""

    def __init__(self, decimals: int = 0) -> None:
        self.decimals = decimals

    def serialize(self, element: float, stream: BytesIO) -> None:
        stream.write_double(round(element, self.decimals))  # type: ignore[attr-defined]

    def deserialize(self, stream: BytesIO) -> float:
        return float(stream.read_double())  # type: ignore[attr-defined]

    def snapshot_configuration(self) -> TypeSerializerSnapshot[float]:
        return DecimalsSnapshot(self)


class DecimalsSnapshot(TypeSerializerSnapshot[float]):
    """Be written as the documentation of Flink 1.8 has it."""

    def __init__(self, serializer: Decimals | None = None) -> None:
        self.decimals = serializer.decimals if serializer else 0

    def get_current_version(self) -> int:
        return 1

    def write_snapshot(self, output: Any) -> None:
        output.write_int(self.decimals)

    def read_snapshot(self, read_version: int, input_view: Any) -> None:
        self.decimals = input_view.read_int()

    def restore_serializer(self) -> Decimals:
        return Decimals(self.decimals)

    def resolve_schema_compatibility(self, new_serializer: Any) -> TypeSerializerSchemaCompatibility:
        if not isinstance(new_serializer, Decimals):
            return TypeSerializerSchemaCompatibility.incompatible("it is something else now")
        if new_serializer.decimals == self.decimals:
            return TypeSerializerSchemaCompatibility.compatible_as_is()
        if new_serializer.decimals > self.decimals:
            return TypeSerializerSchemaCompatibility.compatible_after_migration()
        return TypeSerializerSchemaCompatibility.incompatible(f"{self.decimals} became {new_serializer.decimals}")


@pytest.mark.parametrize(("now", "outcome"), [(2, Outcome.AS_IS), (4, Outcome.AFTER_MIGRATION)])
def test_the_old_snapshot_is_asked(now: int, outcome: Outcome) -> None:
    assert evolved(stored_snapshot_of(Decimals(2), NAME), Decimals(now), NAME).outcome is outcome


def test_it_may_refuse_with_its_reason() -> None:
    with pytest.raises(StateMigrationException, match="2 became 1"):
        evolved(stored_snapshot_of(Decimals(2), NAME), Decimals(1), NAME)


def test_a_snapshot_of_another_kind_is_not_compatible() -> None:
    with pytest.raises(StateMigrationException, match="is Decimals now"):
        evolved(stored_snapshot_of(serializer_of(Types.LONG()), NAME), Decimals(1), NAME)


@pytest.mark.parametrize(
    "type_info", [Types.LONG(), Types.LIST(Types.LONG()), Types.TUPLE([Types.STRING(), Types.LONG()]), Types.STRING()]
)
def test_snapshots_that_are_here_answer_to_both(type_info: Any) -> None:
    serializer, other = serializer_of(type_info), serializer_of(Types.DOUBLE())
    snapshot = serializer.snapshot_configuration()
    assert snapshot.resolve_schema_compatibility(serializer).is_compatible_as_is()  # type: ignore[arg-type]
    assert snapshot.resolve_schema_compatibility(snapshot).is_compatible_as_is()
    assert snapshot.resolve_schema_compatibility(other).is_incompatible()  # type: ignore[arg-type]
