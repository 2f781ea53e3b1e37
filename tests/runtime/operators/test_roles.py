"""What operators do besides processing chunks: each plays the roles it needs, in full, and no others."""

from __future__ import annotations

import pytest

from rekindle.runtime.operators import roles
from rekindle.runtime.operators.batch.broadcast_first import BroadcastFirstOperator
from rekindle.runtime.operators.batch.final_reduce import FinalReduceOperator
from rekindle.runtime.operators.batch.key_by_key import KeyByKeyOperator
from rekindle.runtime.operators.building import _MODULES, operator_class
from rekindle.runtime.operators.operator import Operator

ROLES = [role for role in vars(roles).values() if isinstance(role, type) and role.__module__ == roles.__name__]
BATCH = [BroadcastFirstOperator, FinalReduceOperator, KeyByKeyOperator]


@pytest.mark.parametrize("kind", [*map(operator_class, sorted(_MODULES)), *BATCH])
def test_every_operator_that_a_slot_builds_plays_its_roles_in_full(kind: type[Operator]) -> None:
    assert issubclass(kind, Operator)
    assert not kind.__abstractmethods__


@pytest.mark.parametrize("role", ROLES)
def test_every_role_asks_for_something_and_is_played(role: type[Operator]) -> None:
    assert role.__abstractmethods__ > Operator.__abstractmethods__
    assert any(issubclass(kind, role) for kind in [*map(operator_class, _MODULES), *BATCH])


@pytest.mark.parametrize(
    "kind", ["PassOperator", "PrintOperator", "CollectOperator", "SparkSourceOperator", "TerminationCriterionOperator"]
)
def test_an_operator_that_only_processes_chunks_plays_none(kind: str) -> None:
    assert not any(issubclass(operator_class(kind), role) for role in ROLES)
