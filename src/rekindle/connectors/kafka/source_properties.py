"""The properties of a Kafka source: which go to the client, which to Spark, and which mean something here. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rekindle.exceptions import ConfigurationError

COMMIT_ON_CHECKPOINT = "commit.offsets.on.checkpoint"
MAX_OFFSETS = "maxOffsetsPerTrigger"
FAIL_ON_DATA_LOSS = "failOnDataLoss"
DEFAULT_MAX_OFFSETS = 500_000

_OWN = {COMMIT_ON_CHECKPOINT, MAX_OFFSETS, FAIL_ON_DATA_LOSS, "group.id", "client.id.prefix"}
_WITHOUT_EFFECT = {
    "auto.commit.interval.ms",  # nothing is committed but by checkpoints
    "auto.offset.reset",  # the offsets initializer says it
    "client.id",  # each of Spark's consumers has its own
    "enable.auto.commit",
    "key.deserializer",  # keys and values come as bytes
    "partition.discovery.interval.ms",  # Spark looks for partitions before every epoch
    "register.consumer.metrics",
    "value.deserializer",
}
_REFUSED = {
    "interceptor.classes": "Spark does not allow it. Omit it",
    "minPartitions": "it would let two tasks read one partition, whose order would be lost. Omit it",
    "maxRecordsPerPartition": "it would let two tasks read one partition, whose order would be lost. Omit it",
}
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class KafkaProperties:
    """Properties by their names; none of the values is ever shown.

    Attributes:
        given: All that the program gave.
    """

    given: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        for key, value in self.given.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise ConfigurationError(f"Kafka properties are strings, and the value of {key!r} is not")
            if key in _REFUSED:
                raise ConfigurationError(f"the Kafka property {key!r} cannot be set: {_REFUSED[key]}")
        if not self.given.get("bootstrap.servers"):
            raise ConfigurationError("a KafkaSource needs bootstrap servers: call set_bootstrap_servers('host:9092')")
        self.flag(COMMIT_ON_CHECKPOINT)
        self.flag(FAIL_ON_DATA_LOSS)
        _positive(MAX_OFFSETS, self.given.get(MAX_OFFSETS, str(DEFAULT_MAX_OFFSETS)))

    @property
    def servers(self) -> str:
        """Return where clients begin."""
        return self.given["bootstrap.servers"]

    @property
    def group(self) -> str | None:
        """Return the consumer group."""
        return self.given.get("group.id") or None

    @property
    def commits(self) -> bool:
        """Return whether offsets are committed for the group when a checkpoint is complete."""
        return self.group is not None and self.flag(COMMIT_ON_CHECKPOINT)

    def flag(self, key: str) -> bool:
        """Return a property that is true or false; by default true."""
        value = self.given.get(key, "true").strip().lower()
        if value not in _FLAGS:
            raise ConfigurationError(f"the Kafka property {key!r} must be true or false, and is {self.given[key]!r}")
        return _FLAGS[value]

    def client(self) -> dict[str, str]:
        """Return the properties of a client."""
        return {key: value for key, value in self.given.items() if key not in _OWN | _WITHOUT_EFFECT}

    def spark_options(self) -> dict[str, str]:
        """Return the options of Spark's connector."""
        options = {f"kafka.{key}": value for key, value in self.client().items()}
        options[MAX_OFFSETS] = self.given.get(MAX_OFFSETS, str(DEFAULT_MAX_OFFSETS))
        options[FAIL_ON_DATA_LOSS] = str(self.flag(FAIL_ON_DATA_LOSS)).lower()
        prefix = self.given.get("client.id.prefix") or self.group
        if prefix is not None:  # a broker may allow only groups whose names begin so
            options["groupIdPrefix"] = prefix
        return options


def _positive(key: str, value: str) -> None:
    if not value.isdigit() or int(value) < 1:
        raise ConfigurationError(f"the Kafka property {key!r} must be a number above 0, and is {value!r}")
