"""Operators of a test's own in a program: slots build them from a transformation that has them already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from rekindle.graph.transformations.sources import ConnectorSourceTransformation
from rekindle.runtime.operators.operator import Operator
from rekindle.runtime.operators.slot_source import SlotSource


class _Ready(SlotSource):
    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    @property
    def kind(self) -> str:
        return type(self.operator).__name__

    def create_operator(self) -> Any:
        return self.operator


@dataclass(frozen=True, eq=False)
class _ReadyTransformation(ConnectorSourceTransformation):
    hosted: ClassVar[bool] = False


def ready(operator: Operator) -> ConnectorSourceTransformation:
    """Describe an operator by itself."""
    return _ReadyTransformation(_Ready(operator))
