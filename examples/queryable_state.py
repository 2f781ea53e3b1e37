"""Ask a running job for what it keeps: queryable state, live and as the last checkpoint holds it.

The client may be any other program, on any machine that reaches a proxy of the job. PyFlink does not have it: in Flink
it is for Java.
"""

import time

from rekindle.common import Configuration, Types
from rekindle.datastream import KeyedProcessFunction, SourceFunction, StreamExecutionEnvironment
from rekindle.datastream.state import ListStateDescriptor, ValueStateDescriptor
from rekindle.queryable_state import NoCheckpointError, QueryableStateClient, UnknownKeyError

PURCHASES = [("ann", 20), ("bob", 5), ("ann", 7), ("cyd", 1), ("ann", 13)]
TOTAL = ValueStateDescriptor("total", Types.LONG())
TOTAL.set_queryable("totals")
PRICES = ListStateDescriptor("prices", Types.LONG())
PRICES.set_queryable("prices")


class Purchases(SourceFunction):
    """Sell all there is, and keep the shop open."""

    def __init__(self):
        self.selling = True

    def run(self, ctx):
        for purchase in PURCHASES:
            ctx.collect(purchase)
        while self.selling:
            time.sleep(0.05)

    def cancel(self):
        self.selling = False


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(TOTAL)
        self.prices = runtime_context.get_list_state(PRICES)

    def process_element(self, purchase, ctx):
        self.total.update((self.total.value() or 0) + purchase[1])
        self.prices.add(purchase[1])


env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict({"queryable-state.enable": "true"}))
env.enable_checkpointing(100)
keyed = env.add_source(Purchases()).key_by(lambda purchase: purchase[0], Types.STRING())
keyed.process(Totals())
last = keyed.as_queryable_state("last purchase")  # without a function: the last record of each key
job = env.execute_async("shop")


def asked(future):
    """Return the answer, as soon as there is one: the job has to start, and to take a checkpoint."""
    while True:
        try:
            return future().result()
        except (UnknownKeyError, NoCheckpointError):
            time.sleep(0.05)


while not job.get_queryable_state_proxies().result():
    time.sleep(0.05)
host, port = job.get_queryable_state_proxies().result()[0]
with QueryableStateClient(host, port) as client:

    def look_up(name, key, descriptor, consistency="live"):
        return asked(lambda: client.get_kv_state(job.get_job_id(), name, key, Types.STRING(), descriptor, consistency))

    while look_up("totals", "ann", TOTAL).value() < 40:
        time.sleep(0.05)
    print("ann has spent", look_up("totals", "ann", TOTAL).value())
    print("for", look_up("prices", "ann", PRICES).get())
    while look_up("totals", "ann", TOTAL, "checkpointed").value() < 40:
        time.sleep(0.05)
    print("and no failure takes that back")
    print("bob's last purchase:", look_up("last purchase", "bob", last.get_state_descriptor()).value())
    several = client.get_kv_states(job.get_job_id(), "totals", ["ann", "cyd", "eve"], Types.STRING(), TOTAL).result()
    print("of three, the job knows", ", ".join(several))
job.cancel().result()
