from rekindle.common import Time, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import ProcessJoinFunction, StreamExecutionEnvironment
from rekindle.datastream.window import TumblingEventTimeWindows

# When, in minutes, and what: joins are not in PyFlink, their names are those of Flink's Java API.
orders = [(1, "ada", "tea"), (3, "bob", "ink"), (14, "ada", "pen"), (25, "cyd", "tea")]
payments = [(2, "ada", 4), (5, "ada", 1), (16, "bob", 9), (21, "ada", 3), (26, "cyd", 4)]


class Minutes(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[0] * 60_000


class PaidInTime(ProcessJoinFunction):
    """Take an order and a payment that came no more than ten minutes after it."""

    def process_element(self, order, payment, ctx):
        minutes = (ctx.get_right_timestamp() - ctx.get_left_timestamp()) // 60_000
        yield f"{order[1]} paid {payment[2]} {minutes} minutes after ordering {order[2]}"


def customer(record):
    return record[1]


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
by_minute = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minutes())
ordered = env.from_collection(orders).assign_timestamps_and_watermarks(by_minute)
paid = env.from_collection(payments).assign_timestamps_and_watermarks(by_minute)

# Pairs that are close to each other in time.
near = ordered.key_by(customer).interval_join(paid.key_by(customer))
near.between(Time.minutes(0), Time.minutes(10)).process(PaidInTime()).print("interval join")

# Pairs that fall into one window.
quarter = TumblingEventTimeWindows.of(Time.minutes(15))
together = ordered.join(paid).where(customer).equal_to(customer).window(quarter)
together.apply(lambda order, payment: f"{order[1]}: {order[2]}, {payment[2]}").print("window join")

# All of a window, also where one side has nothing.
groups = ordered.co_group(paid).where(customer).equal_to(customer).window(quarter)
groups.apply(lambda some, others: [f"{len(list(some))} orders, {len(list(others))} payments"]).print("co-group")

env.execute("joins")
