"""Look things up in the history of an entity: what did an article cost at some time?

One stream brings prices, another one questions. Nothing is promised about which of them comes first, so a question
waits until event time has reached the time it asks about: then all prices up to then are known.
"""

from rekindle.common import Time, Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedCoProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, MapStateDescriptor, StateTtlConfig

prices = [("tea", 1, 4.0), ("ink", 2, 9.0), ("tea", 5, 4.5), ("ink", 6, 8.0), ("tea", 9, 6.0)]  # article, day, price
questions = [("tea", 5, "ada"), ("ink", 1, "ada"), ("tea", 7, "bob"), ("ink", 8, "bob")]  # article, day, who asks


class Day(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


class PriceHistory(KeyedCoProcessFunction):
    def open(self, runtime_context):
        history = MapStateDescriptor("price by day", Types.INT(), Types.DOUBLE())
        # Each entry of the map goes a year after it was written, by the clock on the wall.
        history.enable_time_to_live(StateTtlConfig.new_builder(Time.days(365)).build())
        self.prices = runtime_context.get_map_state(history)
        waiting = ListStateDescriptor("questions that wait", Types.TUPLE([Types.INT(), Types.STRING()]))
        self.waiting = runtime_context.get_list_state(waiting)

    def process_element1(self, price, ctx):
        _, day, amount = price
        self.prices.put(day, amount)

    def process_element2(self, question, ctx):
        _, day, who = question
        self.waiting.add((day, who))
        ctx.timer_service().register_event_time_timer(day)

    def on_timer(self, timestamp, ctx):
        article = ctx.get_current_key()
        known = [day for day in self.prices if day <= timestamp]
        price = self.prices.get(max(known)) if known else "nothing yet"
        for day, who in self.waiting.get():
            if day == timestamp:
                yield f"{who}: on day {day} {article} cost {price}"
        self.waiting.update([(day, who) for day, who in self.waiting.get() if day != timestamp])


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Day())
price_stream = env.from_collection(prices).assign_timestamps_and_watermarks(times)
question_stream = env.from_collection(questions).assign_timestamps_and_watermarks(times)
by_article = price_stream.connect(question_stream).key_by(lambda price: price[0], lambda question: question[0])
by_article.process(PriceHistory()).print()
env.execute("price history")
