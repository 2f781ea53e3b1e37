"""The second version of examples/upgrade_v1.py. docs/upgrading.md starts it from the savepoint of the first.

Changed: an account has a field more, visits are no longer counted, there are gifts, the sources stand in another order,
and the job runs with more subtasks and with its state in RocksDB.
"""

import os
import sys
import tempfile
from dataclasses import dataclass

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import EmbeddedRocksDBStateBackend, KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.state import ValueStateDescriptor

OUTPUT = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="shop-")
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000


@dataclass
class Account:
    orders: int = 0
    spent: int = 0
    largest: int = 0  # new: what is in the savepoint gets the default


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.account = runtime_context.get_state(ValueStateDescriptor("account", Account))

    def process_element(self, order, ctx):
        number, customer, price = order
        account = self.account.value() or Account()
        account.orders += 1
        account.spent += price
        account.largest = max(account.largest, price)
        self.account.update(account)
        spent = f"{account.spent} on {account.orders} orders, {account.largest} at most"
        yield f"order {number}: {customer} has spent {spent}"


class Gifts(KeyedProcessFunction):
    """New: it has no state in the savepoint, and starts without."""

    def open(self, runtime_context):
        self.orders = runtime_context.get_state(ValueStateDescriptor("orders", Types.LONG()))

    def process_element(self, order, ctx):
        orders = (self.orders.value() or 0) + 1
        self.orders.update(orders)
        if orders % 10 == 0:
            yield f"gift for {ctx.get_current_key()}, after {orders} orders"


def customer_of(number):
    return f"c{number * 7919 % 20}"


def order_of(number):
    return number, customer_of(number), number * 37 % 90 + 10


def visit_of(number):
    return number, customer_of(number)


def source_of(function, name):
    source = DataGeneratorSource(function, COUNT, rate_limiter_strategy=RateLimiterStrategy.per_second(1_000))
    return env.from_source(source, WatermarkStrategy.no_watermarks(), name).uid(name)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(3)
env.set_state_backend(EmbeddedRocksDBStateBackend())
env.enable_checkpointing(500)
# In a directory they outlive the program: after a crash the job can be started again from there.
env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{os.path.abspath(OUTPUT)}-checkpoints")

visits = source_of(visit_of, "visits")
orders = source_of(order_of, "orders")
told = visits.map(lambda visit: f"visit {visit[0]}: {visit[1]}", Types.STRING()).uid("visits-told")
gifts = orders.key_by(lambda order: order[1]).process(Gifts(), Types.STRING()).uid("gifts")
totals = orders.key_by(lambda order: order[1]).process(Totals(), Types.STRING()).uid("totals")

sink = FileSink.for_row_format(OUTPUT).build()
totals.union(told, gifts).sink_to(sink).uid("sink")

env.execute("shop")
