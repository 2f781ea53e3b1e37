"""Asynchronous requests that are tried again."""

from rekindle.common import Time, Types
from rekindle.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, async_retry_predicates


class Flaky(AsyncFunction):
    def __init__(self):
        self.seen = {}

    async def async_invoke(self, value):
        n = self.seen[value] = self.seen.get(value, 0) + 1
        if n < 3:
            raise ValueError("again")
        return [(value, n)]


class Empty(AsyncFunction):
    def __init__(self):
        self.seen = {}

    async def async_invoke(self, value):
        n = self.seen[value] = self.seen.get(value, 0) + 1
        return [] if n < 2 else [(value, n)]


def main(env):
    ds = env.from_collection([1, 2], Types.INT())
    s = AsyncRetryStrategy.fixed_delay(
        max_attempts=5,
        backoff_time_millis=10,
        result_predicate=None,
        exception_predicate=async_retry_predicates.has_exception_predicate,
    )
    AsyncDataStream.ordered_wait_with_retry(ds, Flaky(), Time.seconds(5), s, 10).print("flaky")
    e = AsyncRetryStrategy.exponential_backoff(
        max_attempts=5,
        initial_delay=10,
        max_retry_delay=100,
        multiplier=2.0,
        result_predicate=async_retry_predicates.empty_result_predicate,
        exception_predicate=None,
    )
    AsyncDataStream.unordered_wait_with_retry(
        ds, Empty(), Time.seconds(5), e, 10, Types.TUPLE([Types.INT(), Types.INT()])
    ).print("empty")
    env.execute()
