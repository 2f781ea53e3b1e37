"""The head of a loop, its tails, and what tells when no more rounds are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rekindle.graph.transformations.transformation import Transformation

FEEDBACK = "iteration-feedback"
"""The tag by which feedback of another type than the input leaves the head."""


@dataclass(slots=True, eq=False)
class Loop:
    """Hold what the operators of one loop have in common.

    Attributes:
        max_iterations: The number of rounds, at most.
        supersteps: Whether all of a round is done before the next one begins.
        has_criterion: Whether there is a termination criterion.
        apart: Whether feedback leaves the head by a tag rather than with the input.
    """

    max_iterations: int | None = None
    supersteps: bool = False
    has_criterion: bool = False
    apart: bool = False


@dataclass(frozen=True, eq=False)
class LoopTransformation(Transformation):
    """Describe an operator of a loop that is there because of the loop.

    Attributes:
        loop: The loop: the same object for all its operators.
    """

    loop: Loop


@dataclass(frozen=True, eq=False)
class IterationHeadTransformation(LoopTransformation):
    """Pass on the input, and what was fed back."""

    kind: ClassVar[str] = "IterationHeadOperator"
    begins_iteration: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class IterationTailTransformation(LoopTransformation):
    """Take what is fed back."""

    kind: ClassVar[str] = "IterationTailOperator"


@dataclass(frozen=True, eq=False)
class TerminationCriterionTransformation(LoopTransformation):
    """Count the records of the stream that tells whether another round is needed."""

    kind: ClassVar[str] = "TerminationCriterionOperator"
