"""Find a pattern in a sequence of events: a small payment, then a large one by the same card within a minute.

Thieves try a stolen card with a small amount first. So all that has to be remembered of a card is when its last payment
was, if that was a small one.
"""

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ValueStateDescriptor

SMALL, LARGE = 1, 500
MINUTE = 60_000  # milliseconds

payments = [  # card, seconds after midnight, amount
    ("visa", 10, 0.50),
    ("visa", 40, 900.00),  # 30 s after a small one: fraud
    ("amex", 41, 0.90),
    ("visa", 45, 700.00),  # the payment before was a large one
    ("amex", 50, 20.00),
    ("amex", 55, 600.00),  # the payment before was neither small nor large
    ("amex", 60, 0.10),
    ("visa", 61, 0.20),
    ("amex", 119, 501.00),  # 59 s after a small one: fraud
    ("visa", 150, 999.00),  # 89 s after: forgotten
]


class PaymentTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class FraudDetector(KeyedProcessFunction):
    def open(self, runtime_context):
        self.small_payment = runtime_context.get_state(ValueStateDescriptor("time of a small payment", Types.LONG()))

    def process_element(self, payment, ctx):
        card, second, amount = payment
        tried = self.small_payment.value()
        if tried is not None:
            # A timer may fire a little after its time, so it does not decide what is a fraud.
            if amount > LARGE and ctx.timestamp() <= tried + MINUTE:
                yield f"alert: {card} paid {amount:.2f} at second {second}, after a small payment at {tried // 1000}"
            self.small_payment.clear()
        if amount < SMALL:
            self.small_payment.update(ctx.timestamp())
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + MINUTE)

    def on_timer(self, timestamp, ctx):
        """Forget a small payment when its minute is over, so that no state is left of cards that are not used."""
        if self.small_payment.value() == timestamp - MINUTE:  # else it was followed by another payment
            self.small_payment.clear()
        return []  # nothing to emit


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(PaymentTime())
stream = env.from_collection(payments).assign_timestamps_and_watermarks(times)
stream.key_by(lambda payment: payment[0]).process(FraudDetector()).print()
env.execute("fraud detection")
