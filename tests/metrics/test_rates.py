"""How fast numbers grow."""

from __future__ import annotations

from rekindle.metrics.rates import RateWindow


def test_a_rate_is_the_growth_since_the_beginning_at_first() -> None:
    window = RateWindow(1_000, 2, span_ms=10_000)
    assert window.per_second(1_000, 5, 7) == (0.0, 0.0)
    assert window.per_second(3_000, 4, 10) == (2.0, 5.0)


def test_what_was_longer_ago_than_the_span_counts_no_more() -> None:
    window = RateWindow(0, 1, span_ms=5_000)
    for second in range(1, 31):
        window.note(second * 1_000, 100 * min(second, 20))
    assert window.per_second(30_000, 2_000) == (0.0,)
    assert window.per_second(31_000, 2_050) == (10.0,)


def test_numbers_are_remembered_once_a_second_at_most() -> None:
    window = RateWindow(0, 1, span_ms=60_000)
    assert not window.due(999)
    for now in range(1_000, 3_000):
        window.note(now, now)
    assert len(window._noted) == 3


def test_a_long_epoch_is_averaged_over_as_a_whole() -> None:
    window = RateWindow(0, 1, span_ms=5_000)
    window.note(60_000, 600)
    assert window.per_second(60_000, 600) == (10.0,)
