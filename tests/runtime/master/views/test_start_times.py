"""How long a start takes, by phase."""

from __future__ import annotations

from rekindle.runtime.master.views.start_times import Phase, StartTimes, describe_start


def test_each_phase_takes_what_passed_since_the_one_before() -> None:
    now = iter([10_000, 10_250, 11_250, 11_500, 11_600, 12_100])
    times = StartTimes(lambda: next(now))
    for phase in Phase:
        times.mark(phase)
    assert times.milliseconds() == {
        Phase.STOP: 250,
        Phase.DELAY: 1000,
        Phase.SLOTS: 250,
        Phase.RESTORE: 100,
        Phase.FIRST_EPOCH: 500,
    }
    assert times.so_far() == 2_100


def test_it_is_told_in_a_sentence() -> None:
    times = {Phase.STOP: 120, Phase.DELAY: 880, Phase.SLOTS: 40, Phase.RESTORE: 150, Phase.FIRST_EPOCH: 610}
    assert describe_start(times) == (
        "1.80 s after the failure: 0.12 s to stop what was left, 0.88 s of restart delay, 0.04 s until the slots ran, "
        "0.15 s to restore, 0.61 s for the first epoch"
    )


def test_a_clock_that_is_set_back_gives_no_negative_times() -> None:
    now = iter([10_000, 9_000, 9_500])
    times = StartTimes(lambda: next(now))
    times.mark(Phase.STOP)
    times.mark(Phase.DELAY)
    assert times.milliseconds() == {Phase.STOP: 0, Phase.DELAY: 500}
