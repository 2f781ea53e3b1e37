"""When an asynchronous request is tried again."""

from __future__ import annotations

import pytest

from rekindle.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from rekindle.datastream.functions import AsyncRetryStrategy
from rekindle.exceptions import ConfigurationError


def test_no_restart_never_tries_again() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert not strategy.can_retry(1)
    assert strategy.get_backoff_time_millis(1) == -1
    assert strategy.get_retry_predicate().result_predicate() is None
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_fixed_delay_tries_so_many_times_at_the_same_pace() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(3, 100, empty_result_predicate, has_exception_predicate)
    assert [strategy.can_retry(attempt) for attempt in (1, 3, 4)] == [True, True, False]
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 9)] == [100, 100, 100]
    assert strategy.get_retry_predicate().result_predicate() is empty_result_predicate
    assert strategy.get_retry_predicate().exception_predicate() is has_exception_predicate


def test_exponential_backoff_grows_up_to_its_limit() -> None:
    strategy: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(6, 100, 1000, 2.0, None, None)
    assert [strategy.get_backoff_time_millis(n) for n in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]
    assert [strategy.can_retry(attempt) for attempt in (6, 7)] == [True, False]


def test_exponential_backoff_depends_on_the_attempt_alone() -> None:
    strategy: AsyncRetryStrategy[int] = AsyncRetryStrategy.exponential_backoff(6, 100, 1000, 1.5, None, None)
    assert strategy.get_backoff_time_millis(3) == 225
    assert strategy.get_backoff_time_millis(3) == 225
    assert strategy.get_backoff_time_millis(2) == 150
    assert strategy.get_backoff_time_millis(10**9) == 1000


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((0, 1, 1, 1.0), "max_attempts"), ((1, 0, 1, 1.0), "initial_delay"), ((1, 1, 1, 0.0), "multiplier")],
)
def test_exponential_backoff_names_the_argument_that_cannot_work(
    arguments: tuple[int, int, int, float], named: str
) -> None:
    with pytest.raises(ConfigurationError, match=named):
        AsyncRetryStrategy.exponential_backoff(*arguments, None, None)


def test_fixed_delay_without_a_delay_raises() -> None:
    with pytest.raises(ConfigurationError, match="backoff_time_millis"):
        AsyncRetryStrategy.fixed_delay(1, 0, None, None)


def test_predicates_hold_for_what_they_are_named_after() -> None:
    assert empty_result_predicate([])
    assert empty_result_predicate(None)
    assert not empty_result_predicate([None])
    assert has_exception_predicate(ValueError())
    assert not has_exception_predicate(None)
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(KeyError(), ValueError)
