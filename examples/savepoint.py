"""Stop a running job with a savepoint, and go on from there with another parallelism.

So a program is changed, moved or given more machines without losing its state.
"""

import tempfile
import time
from pathlib import Path

from rekindle.common import Configuration, Types, WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor

LAST = 20_000


class Count(KeyedProcessFunction):
    def __init__(self, note):
        self.note = note  # a file by which the program below sees that the job has begun

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.begun = False  # not state: every start of the job finds it like this

    def process_element(self, number, ctx):
        if not self.begun:
            self.begun = True
            self.note.touch()
            yield f"this run begins with {number}"
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 2_000 == 0:
            yield f"{count} numbers are {'odd' if ctx.get_current_key() else 'even'}"


def count_numbers(env, note):
    numbers = env.from_source(NumberSequenceSource(1, LAST), WatermarkStrategy.no_watermarks(), "numbers")
    # State is found again by the uid of its operator, so that the program may change around it.
    return numbers.uid("numbers").key_by(lambda number: number % 2).process(Count(note)).uid("count")


directory = tempfile.TemporaryDirectory()
note = Path(directory.name) / "begun"

# A slow job: a hundred numbers at a time. It would take a while.
slow = Configuration.from_dict({"rekindle.epoch.max-records": "100"})
env = StreamExecutionEnvironment.get_execution_environment(slow)
env.set_parallelism(1)
count_numbers(env, note).print()
job = env.execute_async("numbers")
while not note.exists():
    time.sleep(0.1)
savepoint = job.stop_with_savepoint(False, directory.name).result()  # without drain: it is to go on
print("stopped")

# The same program again: it begins with the first number that is not in the savepoint.
settings = Configuration.from_dict({"execution.state-recovery.path": savepoint})
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(2)
count_numbers(env, note).print()
env.execute("numbers, twice as fast")
directory.cleanup()
