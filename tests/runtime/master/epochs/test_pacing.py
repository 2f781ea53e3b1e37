"""Pacing: hosted sources read as much per epoch as makes it last about as long as wanted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekindle.runtime.master.epochs.pacing import EpochPacer


def test_the_first_epoch_is_small_to_find_out() -> None:
    assert EpochPacer(target_ms=1_000, most=1_000_000).budget == 10_000


def test_an_epoch_that_took_half_the_time_is_followed_by_one_twice_as_large() -> None:
    pacer = EpochPacer(1_000, 1_000_000)
    pacer.epoch_finished(10_000, seconds=0.5, busy=0.5)
    assert pacer.budget == 20_000


def test_an_epoch_that_took_twice_the_time_is_followed_by_one_half_as_large() -> None:
    pacer = EpochPacer(1_000, 1_000_000)
    pacer.epoch_finished(10_000, seconds=2, busy=2)
    assert pacer.budget == 5_000


def test_epochs_grow_no_more_than_fourfold_at_once() -> None:
    pacer = EpochPacer(1_000, 1_000_000)
    pacer.epoch_finished(10_000, seconds=0.000_001, busy=0.000_001)
    assert pacer.budget == 40_000


def test_an_epoch_that_did_not_use_its_budget_up_says_nothing() -> None:
    pacer = EpochPacer(1_000, 1_000_000)
    pacer.epoch_finished(9_999, seconds=0.01, busy=0.01)
    pacer.epoch_finished(0, seconds=100, busy=100)
    assert pacer.budget == 10_000


def test_epochs_never_shrink_to_nothing() -> None:
    pacer = EpochPacer(1_000, 1_000_000)
    for _ in range(10):
        pacer.epoch_finished(pacer.budget, seconds=60, busy=60)
    assert pacer.budget == 1_000


@pytest.mark.parametrize("most", [1, 500, 5_000, 15_000])
def test_no_epoch_is_larger_than_what_was_set_however_fast_or_slow(most: int) -> None:
    pacer = EpochPacer(1_000, most)
    for seconds in (0.001, 100.0, 0.001):
        assert pacer.budget <= most
        pacer.epoch_finished(pacer.budget, seconds, busy=seconds)
    assert pacer.budget <= most


@given(st.integers(20_000, 900_000), st.integers(1, 5_000))
def test_at_a_steady_rate_epochs_soon_last_as_long_as_wanted(rate: int, target_ms: int) -> None:
    pacer = EpochPacer(target_ms, most=10_000_000)
    for _ in range(30):
        pacer.epoch_finished(pacer.budget, seconds=pacer.budget / rate, busy=pacer.budget / rate)
    wanted = rate * target_ms / 1000
    assert pacer.budget == pytest.approx(max(1_000, wanted), rel=0.01, abs=2)


@pytest.mark.parametrize("target_ms", [100, 200, 1_000])
@pytest.mark.parametrize("fixed", [0.3, 1.2])
def test_epochs_do_not_shrink_where_sparks_own_time_is_longer_than_wanted(fixed: float, target_ms: int) -> None:
    pacer, per_record = EpochPacer(target_ms, most=10_000_000), 2e-6
    for _ in range(30):
        busy = pacer.budget * per_record
        pacer.epoch_finished(pacer.budget, fixed + busy, busy)
    assert fixed / 2 <= pacer.budget * per_record <= max(fixed, target_ms / 1_000)


def test_a_slow_function_is_not_taken_for_sparks_own_time() -> None:
    pacer, per_record = EpochPacer(1_000, most=1_000_000), 0.02
    for _ in range(30):
        busy = pacer.budget * per_record
        pacer.epoch_finished(pacer.budget, 0.2 + busy, busy)
    assert pacer.budget == 1_000
