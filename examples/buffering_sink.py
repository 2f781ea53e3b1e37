from rekindle.common import Types, WatermarkStrategy
from rekindle.datastream import SinkFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.functions import CheckpointedFunction
from rekindle.datastream.state import ListStateDescriptor


class BufferingSink(SinkFunction, CheckpointedFunction):
    """Write records in batches; those that wait for theirs are in the checkpoint."""

    def __init__(self, threshold):
        self.threshold = threshold
        self.buffered = []

    def initialize_state(self, context):
        descriptor = ListStateDescriptor("buffered-elements", Types.TUPLE([Types.STRING(), Types.LONG()]))
        self.checkpointed = context.get_operator_state_store().get_list_state(descriptor)
        if context.is_restored():
            self.buffered = list(self.checkpointed.get())  # with another parallelism, another share of them

    def invoke(self, value, context):
        self.buffered.append(value)
        if len(self.buffered) == self.threshold:
            self.write(self.buffered)
            self.buffered = []

    def snapshot_state(self, context):
        self.checkpointed.update(self.buffered)

    def finish(self):  # the input has ended
        if self.buffered:
            self.write(self.buffered)
            self.buffered = []

    def write(self, batch):
        print("written:", *(f"{word}={count}" for word, count in batch))


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.enable_checkpointing(1000)
numbers = env.from_source(NumberSequenceSource(1, 10), WatermarkStrategy.no_watermarks(), "numbers")
numbers.map(lambda n: ("even" if n % 2 == 0 else "odd", n)).add_sink(BufferingSink(4))
env.execute("buffering sink")
