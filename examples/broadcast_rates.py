"""Convert amounts by rates that every subtask is told: broadcast state beside a stream without keys."""

from rekindle.common import Types
from rekindle.datastream import BroadcastProcessFunction, OutputTag, StreamExecutionEnvironment
from rekindle.datastream.state import MapStateDescriptor

rates = [("CHF", 1.05), ("GBP", 1.2), ("CHF", 1.1)]  # the last one counts
payments = ["100 CHF", "30 GBP", "7 JPY", "20 CHF", "50 GBP"]

RATES = MapStateDescriptor("rates", Types.STRING(), Types.DOUBLE())
UNKNOWN = OutputTag("unknown currency", Types.STRING())


class Convert(BroadcastProcessFunction):
    def process_element(self, payment, ctx):
        amount, currency = payment
        rate = ctx.get_broadcast_state(RATES).get(currency)  # here it can only be read
        if rate is None:
            yield UNKNOWN, currency
        else:
            yield f"{amount} {currency} are {amount * rate:.2f} EUR"

    def process_broadcast_element(self, rate, ctx):
        currency, euros = rate
        ctx.get_broadcast_state(RATES).put(currency, euros)  # the same in every subtask


def parse(payment):
    amount, currency = payment.split()
    return int(amount), currency


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
amounts = env.from_collection(payments).rebalance().map(parse)  # dealt out to all subtasks
converted = amounts.connect(env.from_collection(rates).broadcast(RATES)).process(Convert())
converted.print("paid")
converted.get_side_output(UNKNOWN).print("no rate for")
env.execute("amounts in euros")
