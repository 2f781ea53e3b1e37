"""The numbering job with its results in Kafka, and its golden result computed in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from rekindle.common import SimpleStringSchema
from rekindle.datastream import DataStream
from rekindle.datastream.connectors import DeliveryGuarantee
from rekindle.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from support.balances import Numbering, key_of
from support.services.kafka import Broker


class FirstField(SimpleStringSchema):
    """Take what is before the first comma."""

    def serialize(self, element: str) -> bytes:
        return element.partition(",")[0].encode()


def number_into_kafka(
    stream: DataStream,
    bootstrap_servers: str,
    topics: Mapping[str, DeliveryGuarantee],
) -> None:
    """Number the events of each key, and write them to topics, each with a guarantee of its own."""
    numbered = stream.key_by(key_of).process(Numbering()).name("numbering").uid("numbering")
    for topic, guarantee in topics.items():
        serializer = (
            KafkaRecordSerializationSchema.builder()
            .set_topic(topic)
            .set_key_serialization_schema(FirstField())
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        sink = (
            KafkaSink.builder()
            .set_bootstrap_servers(bootstrap_servers)
            .set_record_serializer(serializer)
            .set_delivery_guarantee(guarantee)
            .build()
        )
        numbered.sink_to(sink).uid(f"sink {guarantee.name}")


@dataclass(frozen=True)
class KafkaVerdict:
    """What differs between a topic and the golden result.

    Attributes:
        lost: How many records are missing.
        duplicated: How many are there too often.
        disordered: How many keys have their numbers in another order.
        wrong_sums: How many keys end with another sum.
    """

    lost: int = 0
    duplicated: int = 0
    disordered: int = 0
    wrong_sums: int = 0


def judge_topic(broker: Broker, topic: str, count: int) -> KafkaVerdict:
    """Compare what a reader of committed records sees with the golden result."""
    expected: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for event in range(1, count + 1):
        expected[key_of(event)] += 1
        sums[key_of(event)] += event
    numbers: dict[str, list[int]] = defaultdict(list)
    last: dict[str, tuple[int, int]] = {}
    for record in broker.consume_committed(topic):
        assert record.value is not None
        key, number, total = record.value.decode().split(",")
        numbers[key].append(int(number))
        last[key] = max(last.get(key, (0, 0)), (int(number), int(total)))
    golden = Counter({(key, number): 1 for key, up_to in expected.items() for number in range(1, up_to + 1)})
    found = Counter((key, number) for key, several in numbers.items() for number in several)
    return KafkaVerdict(
        (golden - found).total(),
        (found - golden).total(),
        sum(several != sorted(several) for several in numbers.values()),
        sum(last.get(key) != (expected[key], sums[key]) for key in expected),
    )
