"""What iterations are told to do, from what the slots report. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.graph.job_graph import JobIteration
from rekindle.runtime.iteration_phase import IterationPhase
from rekindle.runtime.master.epochs.loop_control import IterationControl
from rekindle.runtime.wire import messages as m

HOLD, RUN, DRAIN, OVER = IterationPhase.HOLD, IterationPhase.RUN, IterationPhase.DRAIN, IterationPhase.OVER
HEAD = 3


def iteration(supersteps: bool, max_iterations: int | None = None, criterion: bool = False) -> JobIteration:
    return JobIteration(HEAD, frozenset({HEAD, 4}), (), supersteps, max_iterations, criterion)


def slot(ended: bool = True, busy: bool = False, fed_back: int = 0, criterion: int = 0, round: int = 0) -> Any:
    said = m.IterationReport(HEAD, ended, busy, fed_back, criterion, round)
    return m.EpochReport(1, 0, 0, False, False, 0, None, 0, iterations=[said])


def next_order(control: IterationControl, *slots: Any) -> Any:
    control.epoch_ended(slots)
    orders = control.orders()
    return (orders[0].phase, orders[0].round) if orders else None


def test_a_loop_goes_on_while_one_slot_has_records_in_it() -> None:
    control = IterationControl([iteration(supersteps=False)])
    assert next_order(control, slot(), slot(fed_back=1)) == (RUN, 0)
    assert control.more


@pytest.mark.parametrize("reason", [{"ended": False}, {"busy": True}], ids=str)
def test_an_empty_loop_waits_for_its_input_and_for_its_operators(reason: dict[str, bool]) -> None:
    control = IterationControl([iteration(supersteps=False)])
    assert next_order(control, slot(), slot(**reason)) == (RUN, 0)
    assert not control.more, "whoever has something asks for an epoch itself"


def test_an_empty_loop_ends_in_two_steps_and_goes_on_between_them_if_it_must() -> None:
    control = IterationControl([iteration(supersteps=False)])
    assert next_order(control, slot(), slot()) == (DRAIN, 0)
    assert control.more
    assert next_order(control, slot(fed_back=2), slot()) == (DRAIN, 0)
    assert control.more
    assert next_order(control, slot(), slot()) == (OVER, 0)
    assert control.more
    assert next_order(control, slot(), slot()) is None
    assert not control.more


def test_rounds_begin_when_all_input_is_there() -> None:
    control = IterationControl([iteration(supersteps=True, max_iterations=2)])
    assert control.orders()[0].phase is HOLD
    assert next_order(control, slot(), slot(ended=False)) == (HOLD, 0)
    assert not control.more
    assert next_order(control, slot(), slot()) == (RUN, 1)
    assert control.more


def test_rounds_are_counted_and_end_with_the_last() -> None:
    control = IterationControl([iteration(supersteps=True, max_iterations=2)])
    assert next_order(control, slot(), slot()) == (RUN, 1)
    assert next_order(control, slot(round=1), slot(round=1, fed_back=3)) == (RUN, 2)
    assert next_order(control, slot(round=2, busy=True), slot(round=2, fed_back=3)) == (HOLD, 2)
    assert next_order(control, slot(round=2), slot(round=2, fed_back=3)) == (OVER, 2)
    assert control.more
    assert next_order(control, slot(round=2), slot(round=2)) is None


@pytest.mark.parametrize(
    ("said", "following"),
    [
        ({"fed_back": 1, "criterion": 1}, (RUN, 8)),
        ({"fed_back": 1}, (OVER, 7)),
        ({"criterion": 1}, (OVER, 7)),
    ],
    ids=str,
)
def test_a_round_is_the_last_without_feedback_or_with_an_empty_criterion(
    said: dict[str, int], following: tuple[IterationPhase, int]
) -> None:
    """Also in the first epoch after a restore: what the slots report is all that counts."""
    control = IterationControl([iteration(supersteps=True, criterion=True)])
    assert next_order(control, slot(round=7, **said), slot()) == following
