"""Set timers in event time and read state with time to live in them."""

from rekindle.common import Duration, Time, WatermarkStrategy
from rekindle.common.typeinfo import Types
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import StateTtlConfig, ValueStateDescriptor


class Sum(KeyedProcessFunction):
    def __init__(self):
        self.state = None

    def open(self, runtime_context: RuntimeContext):
        state_descriptor = ValueStateDescriptor("state", Types.FLOAT())
        state_ttl_config = (
            StateTtlConfig.new_builder(Time.seconds(100))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .disable_cleanup_in_background()
            .build()
        )
        state_descriptor.enable_time_to_live(state_ttl_config)
        self.state = runtime_context.get_state(state_descriptor)

    def process_element(self, value, ctx):
        current = self.state.value()
        if current is None:
            current = 0
        current += value[2]
        self.state.update(current)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.state.value()


class MyTimestampAssigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp: int) -> int:
        return int(value[0])


def main(env):
    ds = env.from_collection(
        [
            (1000, "Alice", 110.1),
            (4000, "Bob", 30.2),
            (3000, "Alice", 20.0),
            (2000, "Bob", 53.1),
            (5000, "Alice", 13.1),
            (3000, "Bob", 3.1),
            (7000, "Bob", 16.1),
            (10000, "Alice", 20.1),
        ],
        type_info=Types.TUPLE([Types.LONG(), Types.STRING(), Types.FLOAT()]),
    )
    ds = ds.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2)).with_timestamp_assigner(
            MyTimestampAssigner()
        )
    )
    ds.key_by(lambda value: value[1]).process(Sum()).print()
    env.execute()
