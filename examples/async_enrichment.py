import asyncio
import functools

from rekindle.common import Time, Types
from rekindle.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from rekindle.datastream.async_retry_predicates import exception_type_predicate


class DatabaseClient:
    """Stand for the client of a database: every query takes a while, and the first ones may find it busy."""

    def __init__(self, busy_for):
        self.busy_for = busy_for

    async def query(self, user):
        await asyncio.sleep(0.05)
        if self.busy_for > 0:
            self.busy_for -= 1
            raise ConnectionError("too many connections")
        if user == "eve":
            await asyncio.sleep(60)
        return {"ada": "London", "bob": "Bern", "cyd": "Cadiz", "dan": "Dublin"}.get(user)


class AsyncDatabaseRequest(AsyncFunction):
    """Add the city of its user to each order; many queries are under way at a time."""

    def open(self, runtime_context):
        self.client = DatabaseClient(busy_for=3)

    async def async_invoke(self, order):
        user, amount = order
        city = await self.client.query(user)
        return [] if city is None else [f"{user} in {city}: {amount}"]

    def timeout(self, order):
        user, amount = order
        return [f"{user} in an unknown place: {amount}"]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
orders = env.from_collection([("ada", 3), ("eve", 7), ("bob", 5), ("nobody", 1), ("cyd", 2), ("ada", 8), ("dan", 4)])
again = AsyncRetryStrategy.fixed_delay(
    max_attempts=5,
    backoff_time_millis=100,
    result_predicate=None,
    exception_predicate=functools.partial(exception_type_predicate, expected_error_type=ConnectionError),
)
AsyncDataStream.ordered_wait_with_retry(
    orders, AsyncDatabaseRequest(), Time.seconds(5), again, capacity=100, output_type=Types.STRING()
).print()
env.execute("orders with cities")
