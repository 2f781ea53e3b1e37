"""Every kind of operator that a program can describe is one that a slot can build."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import fields

import pytest

from rekindle.contracts.functions import MapFunction
from rekindle.graph import transformations
from rekindle.graph.transformations.loops import IterationHeadTransformation, IterationTailTransformation, Loop
from rekindle.graph.transformations.one_input import MapTransformation
from rekindle.graph.transformations.sources import ConnectorSourceTransformation
from rekindle.graph.transformations.transformation import Transformation
from rekindle.runtime.operators.building import OperatorBuilder, operator_class
from rekindle.types.typeinfo import Types

for _module in pkgutil.iter_modules(transformations.__path__):
    importlib.import_module(f"{transformations.__name__}.{_module.name}")


def described(base: type[Transformation] = Transformation) -> list[type[Transformation]]:
    """Return all classes that say of which kind they are."""
    own = [base] if "kind" in base.__dict__ and base.__module__.startswith(transformations.__name__) else []
    return own + [found for derived in base.__subclasses__() for found in described(derived)]


@pytest.mark.parametrize("kind", [cls for cls in described() if cls is not ConnectorSourceTransformation])
def test_an_operator_takes_what_its_transformation_says(kind: type[Transformation]) -> None:
    said = {field.name for field in fields(kind)} - {"key_type"}
    taken = inspect.signature(operator_class(kind.kind)).parameters
    assert said == set(taken)


def test_no_two_transformations_are_of_one_kind() -> None:
    kinds = [cls.kind for cls in described()]
    assert len(kinds) == len(set(kinds)) > 30


class Same(MapFunction):
    def map(self, value: object) -> object:
        return value


def test_an_operator_is_built_without_the_type_of_its_keys() -> None:
    built = OperatorBuilder().build(MapTransformation(Same(), key_type=Types.LONG()))
    assert not hasattr(built, "key_type")


def test_the_operators_of_a_loop_share_what_goes_round_and_those_of_another_do_not() -> None:
    builder = OperatorBuilder()
    one, other = Loop(), Loop()
    head = builder.build(IterationHeadTransformation(one))
    tail = builder.build(IterationTailTransformation(one))
    elsewhere = builder.build(IterationTailTransformation(other))
    assert head.loop is tail.loop  # type: ignore[attr-defined]
    assert elsewhere.loop is not tail.loop  # type: ignore[attr-defined]
    assert OperatorBuilder().build(IterationHeadTransformation(one)).loop is not head.loop  # type: ignore[attr-defined]
