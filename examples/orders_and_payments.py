"""Orders from JSON files meet their payments from Kafka. What customers have spent goes to a table, each order once.

An order waits in state for its payment, or the payment for its order, whichever comes first. If the other one does not
come within half an hour of event time, a side output says so.

    orders_and_payments.py                     orders and payments from the lists below, as JSON files
    orders_and_payments.py DIRECTORY           JSON files that are moved to DIRECTORY/orders and DIRECTORY/payments
    orders_and_payments.py DIRECTORY BROKER    the same, but payments from the topic `payments` of a Kafka broker

With a directory the program runs until it is stopped: `rekindle stop orders-and-payments -p SAVEPOINTS` takes a
savepoint, and examples/orders_and_payments_v2.py goes on from there.
"""

import json
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass

from rekindle.common import Duration, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedCoProcessFunction, KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from rekindle.datastream.connectors.file_system import FileSink, FileSource
from rekindle.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from rekindle.datastream.connectors.tables import directory_writer
from rekindle.datastream.formats.json import JsonRowDeserializationSchema
from rekindle.datastream.formats.parquet import parquet_writer
from rekindle.datastream.state import ValueStateDescriptor

MINUTE = 60_000  # milliseconds
TIMEOUT = 30 * MINUTE

example_orders = [  # id, customer, cents, minute
    ("o1", "ada", 1250, 0),
    ("o2", "bob", 800, 1),
    ("o3", "ada", 4100, 2),  # its payment comes too late
    ("o4", "ada", 300, 5),  # and the payment of this one never
    ("o5", "bob", 700, 50),
]
example_payments = [("o2", 3), ("o1", 12), ("o3", 40), ("o5", 49), ("o9", 52)]  # order, minute


@dataclass
class Order:
    id: str
    customer: str
    cents: int
    time: int


@dataclass
class Payment:
    order: str
    time: int


@dataclass
class Unmatched:
    order: str
    customer: str
    missing: str  # what has not come: "payment" or "order"


@dataclass
class Account:
    orders: int = 0
    cents: int = 0


@dataclass
class Total:
    customer: str
    order: str
    orders: int
    cents: int


UNMATCHED = OutputTag("unmatched")


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value.time


class Match(KeyedCoProcessFunction):
    """Pass on orders that are paid in time."""

    def open(self, runtime_context):
        self.order = runtime_context.get_state(ValueStateDescriptor("order", Order))
        self.payment = runtime_context.get_state(ValueStateDescriptor("payment", Payment))

    def process_element1(self, order, ctx):
        if self.belong_together(order, self.payment.value()):
            self.stop_waiting(self.payment, ctx)
            yield order
        else:
            self.wait(self.order, order, ctx)

    def process_element2(self, payment, ctx):
        order = self.order.value()
        if self.belong_together(order, payment):
            self.stop_waiting(self.order, ctx)
            yield order
        else:
            self.wait(self.payment, payment, ctx)

    def belong_together(self, order, payment):
        return order is not None and payment is not None and abs(order.time - payment.time) <= TIMEOUT

    def wait(self, state, value, ctx):
        state.update(value)
        ctx.timer_service().register_event_time_timer(value.time + TIMEOUT)

    def stop_waiting(self, state, ctx):
        ctx.timer_service().delete_event_time_timer(state.value().time + TIMEOUT)
        state.clear()

    def on_timer(self, timestamp, ctx):
        order, payment = self.order.value(), self.payment.value()
        if order is not None and timestamp == order.time + TIMEOUT:
            yield UNMATCHED, Unmatched(order.id, order.customer, "payment")
            self.order.clear()
        else:
            yield UNMATCHED, Unmatched(payment.order, "", "order")
            self.payment.clear()


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.account = runtime_context.get_state(ValueStateDescriptor("account", Account))

    def process_element(self, order, ctx):
        account = self.account.value() or Account()
        account.orders += 1
        account.cents += order.cents
        self.account.update(account)
        yield Total(order.customer, order.id, account.orders, account.cents)


def write_examples(directory):
    orders = [{"id": o, "customer": who, "cents": cents, "time": at * MINUTE} for o, who, cents, at in example_orders]
    payments = [{"order": order, "time": at * MINUTE} for order, at in example_payments]
    for name, records in (("orders", orders), ("payments", payments)):
        with open(f"{directory}/{name}/0.json", "w") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)


def files_of(name, record_class):
    source = FileSource.for_format("json", f"{directory}/{name}", record_class=record_class)
    return source.monitor_continuously(Duration.of_seconds(1)).build() if given else source.build()


def payments_from(broker):
    fields = Types.ROW_NAMED(["order", "time"], [Types.STRING(), Types.LONG()])
    return (
        KafkaSource.builder()
        .set_bootstrap_servers(broker)
        .set_topics("payments")
        .set_group_id("orders-and-payments")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(fields).build())
        .build()
    )


# A directory, and perhaps a broker.
given = [os.path.abspath(sys.argv[1]), *sys.argv[2:]] if len(sys.argv) > 1 else []
directory, *brokers = given or [tempfile.mkdtemp(prefix="orders-and-payments-")]
for name in ("orders", "payments"):
    os.makedirs(f"{directory}/{name}", exist_ok=True)
if not given:
    write_examples(directory)

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(2_000)
env.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{directory}/checkpoints")

# Records may be a minute late. Where nothing has come for ten seconds, such as from a partition of Kafka without
# payments, event time does not wait: otherwise no timer would fire.
times = (
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_minutes(1))
    .with_idleness(Duration.of_seconds(10))
    .with_timestamp_assigner(EventTime())
)
source_of_payments = payments_from(brokers[0]) if brokers else files_of("payments", Payment)
payments = env.from_source(source_of_payments, times, "payments").uid("payments")
orders = env.from_source(files_of("orders", Order), times, "orders").uid("orders")

# Every operator with state has a uid: by it, the next version finds its state again.
matched = orders.connect(payments.map(lambda row: Payment(row.order, row.time), Payment))
paid = matched.key_by(lambda order: order.id, lambda payment: payment.order).process(Match(), Order).uid("match")
totals = paid.key_by(lambda order: order.customer).process(Totals(), Total).uid("totals")
unmatched = paid.get_side_output(UNMATCHED)

# All of this becomes visible with the next checkpoint, once, whatever fails.
paid.sink_to(FileSink.for_bulk_format(f"{directory}/paid", parquet_writer(Order)).build()).uid("paid-files")
unmatched_files = FileSink.for_bulk_format(f"{directory}/unmatched", parquet_writer(Unmatched)).build()
unmatched.sink_to(unmatched_files).uid("unmatched-files")
totals.sink_to_data_frame(directory_writer(f"{directory}/totals")).uid("totals-table")  # or delta_writer

env.execute("orders-and-payments")

if not given:
    spark = env.spark_session
    spark.read.parquet(f"{directory}/totals").createOrReplaceTempView("totals")
    for row in spark.sql("""
        SELECT customer, max(orders) AS orders, max(cents) AS cents FROM totals GROUP BY customer ORDER BY customer
    """).collect():
        print(f"{row.customer} has paid {row.cents / 100:.2f} for {row.orders} orders")
    for row in spark.read.parquet(f"{directory}/unmatched").collect():
        print(f"no {row.missing} for {row.order}")
    shutil.rmtree(directory)
