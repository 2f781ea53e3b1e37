"""Say how often a job is restarted after a failure, and when.

Name the strategy on the command line: fixed-delay (if none is named), failure-rate, exponential-delay, none, or
by-keys, which is the failure rate by configuration.
"""

import sys

from rekindle.common import Configuration, RestartStrategies
from rekindle.datastream import MapFunction, StreamExecutionEnvironment

strategies = {
    # Three restarts at most, 100 ms after each failure.
    "fixed-delay": RestartStrategies.fixed_delay_restart(3, 100),
    # Restarts without end, 100 ms after each failure, unless there are more than three failures in five minutes.
    "failure-rate": RestartStrategies.failure_rate_restart(3, 300_000, 100),
    # Restarts without end. The first comes after 100 ms, and every delay is twice the one before, up to 10 s. After an
    # hour without failure the delays begin anew. A tenth of each is random, so that jobs do not all start at once.
    "exponential-delay": RestartStrategies.exponential_delay_restart(100, 10_000, 2.0, 3_600_000, 0.1),
    # The first failure is the last. This is the default of jobs without checkpoints.
    "none": RestartStrategies.no_restart(),
}
# The same failure rate by keys: here, in conf/rekindle-conf.yaml, or with -D on the command line.
by_keys = {
    "restart-strategy.type": "failure-rate",
    "restart-strategy.failure-rate.max-failures-per-interval": "3",
    "restart-strategy.failure-rate.failure-rate-interval": "5 min",
    "restart-strategy.failure-rate.delay": "100 ms",
}


class FailAtFirst(MapFunction):
    def open(self, runtime_context):
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value):
        if self.attempt == 0:
            raise RuntimeError(f"attempt {self.attempt} fails")
        return f"attempt {self.attempt} has processed {value}"


chosen = sys.argv[1] if len(sys.argv) > 1 else "fixed-delay"
if chosen == "by-keys":
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(by_keys))
else:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_restart_strategy(strategies[chosen])  # PyFlink has the exponential delay by keys only
env.set_parallelism(1)
env.from_collection(["tea", "ink"]).map(FailAtFirst()).print()
try:
    env.execute("restarts")
except Exception as failure:
    print(f"the job failed for good: {failure}")
