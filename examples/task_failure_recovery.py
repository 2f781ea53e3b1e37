"""Say how often a job is restarted after a failure, and when.

Name the strategy on the command line: fixed-delay (if none is named), failure-rate, exponential-delay or none.
"""

import sys

from rekindle.common import RestartStrategies
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


class FailAtFirst(MapFunction):
    def open(self, runtime_context):
        self.attempt = runtime_context.get_attempt_number()

    def map(self, value):
        if self.attempt == 0:
            raise RuntimeError(f"attempt {self.attempt} fails")
        return f"attempt {self.attempt} has processed {value}"


chosen = sys.argv[1] if len(sys.argv) > 1 else "fixed-delay"
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
# Or by configuration: "restart-strategy.type", "restart-strategy.fixed-delay.attempts" and so on. PyFlink has the
# exponential delay there only.
env.set_restart_strategy(strategies[chosen])
env.from_collection(["tea", "ink"]).map(FailAtFirst()).print()
try:
    env.execute("restarts")
except Exception as failure:
    print(f"the job failed for good: {failure}")
