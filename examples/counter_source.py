import argparse

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.functions import CheckpointedFunction, RichParallelSourceFunction
from rekindle.datastream.state import ListStateDescriptor


class CounterSource(RichParallelSourceFunction, CheckpointedFunction):
    """Count, in every subtask; after a failure, go on where the last checkpoint was taken."""

    def __init__(self, last):
        self.last = last
        self.offset = 0
        self.is_running = True

    def initialize_state(self, context):
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("offset", Types.LONG()))
        for offset in self.state.get():  # empty at the first start
            self.offset = offset

    def run(self, ctx):
        subtask = self.get_runtime_context().get_index_of_this_subtask()
        lock = ctx.get_checkpoint_lock()
        while self.is_running and self.offset < self.last:
            with lock:  # output and state change in one step: no checkpoint comes between them
                ctx.collect((subtask, self.offset))
                self.offset += 1

    def cancel(self):
        self.is_running = False

    def snapshot_state(self, context):
        self.state.update([self.offset])


parser = argparse.ArgumentParser(description="Count in two subtasks.")
parser.add_argument("--last", type=int, default=5, help="how far each subtask counts")
arguments = parser.parse_args()

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(1000)
env.add_source(CounterSource(arguments.last), "counter").print()
env.execute("counter source")
