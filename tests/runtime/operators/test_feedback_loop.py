"""How far the head of a loop is: its end is held back until the loop is over, and rounds are its time."""

from __future__ import annotations

import pytest

from rekindle.graph.transformations.loops import Loop
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.operators.loop_operators import FeedbackLoop
from rekindle.runtime.operators.operator import MAX_WATERMARK, MIN_WATERMARK


@pytest.mark.parametrize(
    ("phase", "supersteps", "watermark", "held"),
    [
        (None, False, 7, 7),
        (None, False, MAX_WATERMARK, MIN_WATERMARK),
        (None, True, 7, MIN_WATERMARK),
        (IterationPhase.HOLD, True, 7, MIN_WATERMARK),
        (IterationPhase.RUN, False, 7, 7),
        (IterationPhase.RUN, True, 7, 3),
        (IterationPhase.DRAIN, False, 7, MAX_WATERMARK),
    ],
)
def test_a_loop_that_goes_on_has_not_ended(
    phase: IterationPhase | None, supersteps: bool, watermark: int, held: int
) -> None:
    loop = FeedbackLoop(Loop(supersteps=supersteps))
    if phase is not None:
        loop.begin(phase, 3)
    assert loop.input_progress(watermark, ended=True) == (held, False)


@pytest.mark.parametrize("ended", [False, True])
def test_one_that_is_over_ends_with_its_inputs(ended: bool) -> None:
    loop = FeedbackLoop(Loop())
    loop.begin(IterationPhase.OVER, 0)
    assert loop.input_progress(7, ended) == (MAX_WATERMARK, ended)
