"""The job of the demonstration: payments of many users, a running balance per user, written to files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekindle.common import Configuration, Encoder, Types, WatermarkStrategy
from rekindle.connectors.files.file_system import FileSink
from rekindle.connectors.number_sequence import NumberSequenceSource
from rekindle.contracts.state import ValueStateDescriptor
from rekindle.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment

USERS = 1_000
CHECKPOINT_INTERVAL_MS = 1_000
_MOST_PER_EPOCH = 20_000
_EPOCHS = 20  # at least, so that there are checkpoints before a slot is killed


def payment(event: int) -> tuple[str, int]:
    """Make event number n: a user and an amount, always the same for the same n."""
    mixed = (event * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return f"user-{(mixed >> 40) % USERS}", (mixed >> 20) % 100


class RunningBalance(KeyedProcessFunction):
    """Keep number and sum of a user's payments; emit both with every payment."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Get the state."""
        self._balance = runtime_context.get_state(ValueStateDescriptor("balance", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterator[str]:
        """Count and add up."""
        user, amount = value
        count, total = self._balance.value() or (0, 0)
        count, total = count + 1, total + amount
        self._balance.update((count, total))
        yield f"{user},{count},{total}"


def build(events: int, directory: str, parallelism: int) -> StreamExecutionEnvironment:
    """Write the program down."""
    configuration = Configuration()
    configuration.set_integer("rekindle.epoch.max-records", max(1, min(_MOST_PER_EPOCH, events // _EPOCHS)))
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism)
    environment.enable_checkpointing(CHECKPOINT_INTERVAL_MS)
    environment.get_checkpoint_config().set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    sink = FileSink.for_row_format(f"{directory}/balances", Encoder.simple_string_encoder())
    (
        environment.from_source(NumberSequenceSource(1, events), WatermarkStrategy.no_watermarks(), "events")
        .map(payment)
        .name("payment")
        .key_by(lambda event: event[0])
        .process(RunningBalance())
        .name("running balance")
        .uid("running-balance")
        .sink_to(sink.build())
        .name("balances")
    )
    return environment
