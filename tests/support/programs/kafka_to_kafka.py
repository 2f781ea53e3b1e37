"""Numbers the events of a Kafka topic by key into another one.

    kafka_to_kafka.py BROKERS INPUT EXACTLY_ONCE AT_LEAST_ONCE DIRECTORY [key=value …]

It is slow until there is a file ``gate`` in the directory, so that there is time to kill it, and raises when there is a
file ``raise``, which it removes.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from rekindle.common import Configuration, RestartStrategies, SimpleStringSchema, Types, WatermarkStrategy
from rekindle.datastream import ExternalizedCheckpointRetention, StreamExecutionEnvironment
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from support.kafka_numbering import number_into_kafka
from support.services.jars import spark_kafka_jars


class Event:
    """Read the number of an event; slowly, or raising, as files in a directory say."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._open = False

    def __call__(self, text: str) -> int:
        number = int(text)
        if number % 250 == 0 and not self._open:
            self._open = os.path.exists(f"{self._directory}/gate")
            if not self._open:
                time.sleep(0.2)
            with suppress(FileNotFoundError):
                os.unlink(f"{self._directory}/raise")
                raise OSError("this once")
        return number


def main() -> None:
    brokers, source_topic, once, again, directory, *settings = sys.argv[1:]
    options = {
        "rekindle.progress": "log",
        "spark.jars": ",".join(str(jar) for jar in sorted(spark_kafka_jars().glob("*.jar"))),
    } | dict(setting.split("=", 1) for setting in settings)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(2)
    env.enable_checkpointing(200)
    checkpoints = env.get_checkpoint_config()
    checkpoints.set_checkpoint_storage_dir(f"file://{directory}/checkpoints")
    checkpoints.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(100_000, 100))
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(brokers)
        .set_topics(source_topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .set_property("maxOffsetsPerTrigger", "2000")
        .build()
    )
    texts = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")
    numbers = texts.map(Event(directory), Types.LONG()).uid("event")
    guarantees = {once: DeliveryGuarantee.EXACTLY_ONCE, again: DeliveryGuarantee.AT_LEAST_ONCE}
    number_into_kafka(numbers, brokers, guarantees)
    env.execute("kafka to kafka")


if __name__ == "__main__":
    main()
