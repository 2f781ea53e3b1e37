from rekindle.common import Time
from rekindle.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Profile(KeyedProcessFunction):
    """Keep what is known of each customer, in every kind of state."""

    def open(self, runtime_context):
        recent = ListStateDescriptor("recent")
        recent.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.visits = runtime_context.get_state(ValueStateDescriptor("visits", default_value=0))
        self.recent = runtime_context.get_list_state(recent)
        self.spent_on = runtime_context.get_map_state(MapStateDescriptor("spent on"))
        self.highest = runtime_context.get_reducing_state(ReducingStateDescriptor("highest", max))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean()))

    def process_element(self, purchase, ctx):
        customer, article, price = purchase
        self.visits.update(self.visits.value() + 1)
        self.recent.add(article)
        self.spent_on[article] = (self.spent_on[article] or 0) + price
        self.highest.add(price)
        self.mean.add(price)
        yield (
            f"{customer}: visit {self.visits.value()}, bought {', '.join(self.recent)} within the hour, "
            f"spent {self.spent_on[article]} on {article}, at most {self.highest.get()}, "
            f"{self.mean.get():.1f} on average"
        )


purchases = [("ada", "tea", 4), ("bob", "ink", 9), ("ada", "pen", 2), ("ada", "tea", 6)]
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.from_collection(purchases).key_by(lambda purchase: purchase[0]).process(Profile()).print()
env.execute("profiles")
