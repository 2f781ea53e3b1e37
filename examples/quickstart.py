from rekindle.common import WatermarkStrategy
from rekindle.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from rekindle.datastream.connectors.number_seq import NumberSequenceSource
from rekindle.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))  # one value per key

    def process_element(self, number, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 10_000 == 0:
            yield f"{count} numbers end in {ctx.get_current_key()}"


env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(1000)  # every second; after a failure the job goes on from the last one
env.get_checkpoint_config().set_checkpoint_storage_dir("file:///tmp/rekindle-quickstart")
numbers = env.from_source(NumberSequenceSource(1, 200_000), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda number: number % 10).process(Count()).print()
env.execute("quickstart")
