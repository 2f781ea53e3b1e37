"""Clocks: that of the machine, which may jump, and the steady one that jobs wait by."""

from __future__ import annotations

import time

import pytest

from rekindle.base.clock import ClockSteps, SteadyClock, SystemClock
from rekindle.checkpoint.options import CheckpointOptions
from rekindle.checkpoint.periodic_schedule import PeriodicSchedule

HOUR = 3_600_000


class Machine:
    """Stand for a machine whose clock somebody sets."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.passed = 1_700_000_000_000, 5_000
        patch.setattr(time, "time_ns", lambda: self.wall * 1_000_000)
        patch.setattr(time, "clock_gettime_ns", lambda which: self.passed * 1_000_000)
        patch.setattr(time, "monotonic_ns", lambda: self.passed * 1_000_000)

    def pass_time(self, millis: int) -> None:
        self.wall += millis
        self.passed += millis


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_steady_clock_tells_what_has_passed_when_that_of_the_machine_is_set(
    monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    machine = Machine(monkeypatch)
    steady, start = SteadyClock(), machine.wall
    machine.pass_time(1_000)
    assert steady.now() == SystemClock().now() == start + 1_000
    machine.wall += jump
    machine.pass_time(1_000)
    assert (steady.now(), SystemClock().now()) == (start + 2_000, start + 2_000 + jump)


@pytest.mark.parametrize("jump", [-HOUR, HOUR, -600, 600])
def test_a_step_of_the_clock_is_noticed_once(monkeypatch: pytest.MonkeyPatch, jump: int) -> None:
    machine = Machine(monkeypatch)
    steps = ClockSteps()
    machine.pass_time(5 * HOUR)
    assert steps.millis() == 0
    machine.wall += jump
    machine.pass_time(1_000)
    assert [steps.millis(), steps.millis()] == [jump, 0]


def test_a_clock_that_is_only_corrected_a_little_was_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    steps = ClockSteps()
    found = []
    for _ in range(4):
        machine.wall += 200
        found.append(steps.millis())
    assert found == [0, 0, 600, 0]


def test_the_next_checkpoint_is_due_on_time_when_the_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    steady = SteadyClock()
    schedule = PeriodicSchedule(CheckpointOptions(interval_ms=10_000), steady.now())
    machine.wall -= HOUR
    machine.pass_time(10_000)
    assert schedule.due_at(0) == steady.now()
