"""A job that is going to be upgraded, in its first version: what customers have spent, and how often they come.

docs/upgrading.md starts it, stops it with a savepoint, and goes on with examples/upgrade_v2.py. It runs for as long as
it is let: stop it with `rekindle stop`, or with Ctrl-C.
"""

import os
import sys
import tempfile
from dataclasses import dataclass

from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.datastream.state import ValueStateDescriptor

OUTPUT = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="shop-")
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000


@dataclass
class Account:
    orders: int = 0
    spent: int = 0


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.account = runtime_context.get_state(ValueStateDescriptor("account", Account))

    def process_element(self, order, ctx):
        number, customer, price = order
        account = self.account.value() or Account()
        account.orders += 1
        account.spent += price
        self.account.update(account)
        yield f"order {number}: {customer} has spent {account.spent} on {account.orders} orders"


class Visits(KeyedProcessFunction):
    def open(self, runtime_context):
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits", Types.LONG()))

    def process_element(self, visit, ctx):
        number, customer = visit
        visits = (self.visits.value() or 0) + 1
        self.visits.update(visits)
        yield f"visit {number}: {customer} was here {visits} times"


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
env.set_parallelism(2)
env.enable_checkpointing(500)
# In a directory they outlive the program: after a crash the job can be started again from there.
env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{os.path.abspath(OUTPUT)}-checkpoints")

# Every operator with state has a uid: by it, the next version finds its state again.
orders = source_of(order_of, "orders")
visits = source_of(visit_of, "visits")
totals = orders.key_by(lambda order: order[1]).process(Totals(), Types.STRING()).uid("totals")
counted = visits.key_by(lambda visit: visit[1]).process(Visits(), Types.STRING()).uid("visit-count")

sink = FileSink.for_row_format(OUTPUT).build()
totals.union(counted).sink_to(sink).uid("sink")

env.execute("shop")
