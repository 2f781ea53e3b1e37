"""The Kafka writer that writes at once: at least once if it waits for Kafka at the barrier, else without a promise."""

from __future__ import annotations

import logging
import time
from typing import Any

from rekindle.connectors.kafka.kafka_clients import KafkaClients, close_quietly
from rekindle.connectors.kafka.producing import DEFAULTS, produce
from rekindle.connectors.kafka.record_serialization import ChunkSerialization
from rekindle.contracts.connectors import SinkWriter
from rekindle.exceptions import OutputLostError

_LOG = logging.getLogger(__name__)
_LAST_WAIT = 10.0
_MOST_IN_FLIGHT = 5  # for which Kafka remembers what it has
_IN_FLIGHT = ("max.in.flight.requests.per.connection", "max.in.flight")


class ImmediateKafkaWriter(SinkWriter):
    """Write the records of one subtask at once.

    Args:
        serialization: Makes Kafka's records.
        clients: Makes clients.
        flush: Whether a checkpoint waits until Kafka has everything written before it.
        only_log: Whether records that Kafka does not take are logged, and the job goes on.
    """

    def __init__(
        self, serialization: ChunkSerialization, clients: KafkaClients, flush: bool, only_log: bool = False
    ) -> None:
        self._serialize = serialization
        self._clients = clients
        self._flush = flush
        self._only_log = only_log
        self._patience = clients.number("delivery.timeout.ms", 120_000) / 1000
        self._lost = 0
        self._why = ""
        fixed = {"on_delivery": self._failed, "delivery.report.only.error": True}
        defaults = {**DEFAULTS, "delivery.timeout.ms": 120_000}
        if can_be_idempotent(clients):
            defaults["enable.idempotence"] = True  # no record twice, and none before another, when Kafka is slow
        self._producer = clients.producer(defaults, fixed)

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Hand records to Kafka's client."""
        for batch in self._serialize(values, timestamps):
            produce(self._producer, batch, time.monotonic() + self._patience)
        self._producer.poll(0)
        self._raise_lost()

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Wait until Kafka has everything; there is nothing to commit then."""
        if self._flush or checkpoint_id == 0:
            unsent = self._producer.flush(self._patience + 5)
            if unsent:
                self._lost, self._why = self._lost + unsent, f"no answer within {self._patience:.0f} s"
        self._raise_lost()
        return []

    def commit(self, committables: list[bytes]) -> None:
        """Nothing is left to be done."""

    def abort_leftovers(self) -> None:
        """Nothing is hidden."""

    def close(self) -> None:
        """Give the client a last chance to send what it has."""
        self._producer.flush(_LAST_WAIT)
        self._producer.purge()
        close_quietly(self._producer)

    def _failed(self, error: Any, message: Any) -> None:
        self._lost += 1
        self._why = f"{error.str()}, topic {message.topic()!r}"

    def _raise_lost(self) -> None:
        if not self._lost:
            return
        text = (
            f"{self._lost} records did not reach Kafka at {self._clients.bootstrap_servers}: {self._why}. "
            "Look at the broker and the topic; the job reads those records again from its last checkpoint"
        )
        self._lost = 0
        if self._only_log:
            _LOG.error("%s", text)
        else:
            raise OutputLostError(text)


def can_be_idempotent(clients: KafkaClients) -> bool:
    """Return whether the program's properties allow the client to keep records from coming twice, as in Java."""
    in_flight = max(clients.number(name, _MOST_IN_FLIGHT) for name in _IN_FLIGHT)
    tries = min(clients.number(name, 1) for name in ("retries", "message.send.max.retries"))
    return clients.text("acks", "all") in ("all", "-1") and tries > 0 and in_flight <= _MOST_IN_FLIGHT
