"""Survive a failure: numbers are counted by their last digit, the job fails in the middle, and no number counts twice.

After the failure, state and sources go back together to the last completed checkpoint.
"""

import tempfile

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import (
    CheckpointingMode,
    ExternalizedCheckpointRetention,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor

LAST, FAILS_AT = 6_000, 5_000


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.first_attempt = runtime_context.get_attempt_number() == 0
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, number, ctx):
        if self.first_attempt and number == FAILS_AT:
            raise RuntimeError("a failure, to see what comes of it")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 200 == 0:
            yield ctx.get_current_key(), count


settings = Configuration()
# Checkpoints are taken between epochs: make them small, so that there are some before the failure.
settings.set_string("rekindle.epoch.max-records", "2000")
# A real job has a directory that all machines can reach. Without any, checkpoints are kept in the driver's memory.
directory = tempfile.TemporaryDirectory()
settings.set_string("execution.checkpointing.dir", f"file://{directory.name}")
settings.set_string("execution.checkpointing.num-retained", "3")  # 1 if not set
# How often to try again, and when: see task_failure_recovery.py.
settings.set_string("restart-strategy.type", "fixed-delay")
settings.set_string("restart-strategy.fixed-delay.attempts", "3")
settings.set_string("restart-strategy.fixed-delay.delay", "100 ms")

env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(1)
env.enable_checkpointing(100)  # a checkpoint every 100 ms; a real job takes one every few seconds or minutes
checkpoints = env.get_checkpoint_config()
checkpoints.set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)  # the default; or AT_LEAST_ONCE
checkpoints.set_min_pause_between_checkpoints(50)  # at least 50 ms between the end of one and the start of the next
checkpoints.set_checkpoint_timeout(60_000)  # one that takes longer than a minute is given up
checkpoints.set_tolerable_checkpoint_failure_number(2)  # three failed checkpoints in a row fail the job
checkpoints.set_max_concurrent_checkpoints(1)
# Keep the last checkpoints when the job fails for good or is cancelled, so that one can start again from them.
checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)

numbers = env.from_source(NumberSequenceSource(1, LAST), WatermarkStrategy.no_watermarks(), "numbers")
counts = numbers.key_by(lambda number: number % 10).process(Count())
# This shows every result once, and so does FileSink: they take part in checkpoints. What print() prints may come again.
with counts.execute_and_collect("counts that survive") as results:
    counted = sorted(results)
directory.cleanup()

for digit in range(10):
    print(f"numbers that end in {digit}:", *(count for key, count in counted if key == digit))
