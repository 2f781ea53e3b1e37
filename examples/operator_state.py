"""State of a subtask rather than of a key, through a failure: no record counts twice, and every subtask hears of all.

Three interfaces that a function takes on besides its own: ListCheckpointed is the short form for one list,
CheckpointedFunction can have a list that every subtask gets whole (union list state), and a CheckpointListener hears
when a checkpoint is complete. PyFlink has none of them.
"""

from rekindle.common import Configuration, RestartStrategies, Types, WatermarkStrategy
from rekindle.datastream import MapFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import CheckpointedFunction, CheckpointListener, ListCheckpointed
from rekindle.datastream.state import ListStateDescriptor

LAST, FAILS_AFTER, SUBTASKS = 800, 150, 2


class CountHere(MapFunction, ListCheckpointed):
    """Number the records of this subtask."""

    def __init__(self):
        self.count = 0

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, number):
        self.count += 1
        return self.subtask, self.count

    def snapshot_state(self, checkpoint_id, timestamp):
        return [self.count]

    def restore_state(self, state):  # after a failure, before open
        self.count = sum(state)  # at another parallelism, a subtask may get several counts, or none


class KnowAll(MapFunction, CheckpointedFunction):
    """Add to each record the subtasks whose state this one was given."""

    def initialize_state(self, context):
        descriptor = ListStateDescriptor("who was there", Types.INT())
        self.state = context.get_operator_state_store().get_union_list_state(descriptor)
        self.known = sorted(self.state.get())  # what every subtask has put into it, not only this one

    def open(self, runtime_context):
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, counted):
        return *counted, self.known

    def snapshot_state(self, context):
        self.state.update([self.subtask])


class FailOnce(MapFunction, CheckpointListener):
    """Fail in the middle, as soon as there is a checkpoint to go back to."""

    def __init__(self):
        self.completed = None

    def open(self, runtime_context):
        self.may_fail = runtime_context.get_attempt_number() == 0

    def map(self, record):
        if self.may_fail and self.completed is not None and record[1] > FAILS_AFTER:
            raise RuntimeError(f"a failure after checkpoint {self.completed}, to see what comes of it")
        return record

    def notify_checkpoint_complete(self, checkpoint_id):
        self.completed = checkpoint_id


# Checkpoints are taken between epochs: make them small, so that there are some before the end.
settings = Configuration.from_dict({"rekindle.epoch.max-records": "100"})
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(SUBTASKS)
env.enable_checkpointing(100)
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 100))
numbers = env.from_source(NumberSequenceSource(1, LAST), WatermarkStrategy.no_watermarks(), "numbers")
records = numbers.map(CountHere()).uid("count").map(KnowAll()).uid("know all").map(FailOnce())
with records.execute_and_collect("operator state") as results:
    collected = sorted(results)

for subtask in range(SUBTASKS):
    own = [record for record in collected if record[0] == subtask]
    print(f"subtask {subtask} has numbered {len(own)} records from {own[0][1]} to {own[-1][1]}")
    print(f"since the failure, subtask {subtask} knows of subtasks {own[-1][2]}")
