"""One transactional id of Kafka: writes records and the marker of their commit in one transaction, whatever fails.

Whoever calls ``init_transactions`` for the id ends the transaction of the one before, who cannot write any more. What
is committed is asked for after that, so that of two that commit the same, one does.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from rekindle.connectors.kafka.commit_markers import CommitMarkers, encode_marker, partition_of
from rekindle.connectors.kafka.commit_plan import WriterCommits, in_transactions
from rekindle.connectors.kafka.kafka_clients import KafkaClientError, KafkaClients, close_quietly, require_client
from rekindle.connectors.kafka.kafka_records import KafkaCommittable
from rekindle.connectors.kafka.producing import DEFAULTS, produce, produce_marker

_LOG = logging.getLogger(__name__)

TRANSACTION_BYTES = 64 << 20
"""How much one transaction writes: it takes seconds at most, and stays far from Kafka's timeout."""
_PAUSE = 0.2


class KafkaFencedError(KafkaClientError):
    """Another attempt of the job commits for this subtask now."""


class KafkaTransactions:
    """Commit under one transactional id.

    Args:
        clients: Makes clients.
        transactional_id: The id.
        markers: What is committed.
    """

    def __init__(self, clients: KafkaClients, transactional_id: str, markers: CommitMarkers) -> None:
        self._clients = clients
        self._id = transactional_id
        self._markers = markers
        self._producer: Any = None
        self._fenced: KafkaFencedError | None = None
        self._undelivered: list[tuple[Any, str]] = []  # why Kafka did not take a record, the first, and its topic
        self._committed: dict[str, int] = {}  # by writer, as far as it is known since init_transactions

    def take_over(self, deadline: float) -> None:
        """End what others began under the id, and let them commit nothing more.

        Args:
            deadline: Until when to try, by ``time.monotonic``.
        """
        self._until(deadline, "taken over", lambda: self._ready(deadline))

    def begin(self, writer: str, deadline: float) -> None:
        """Take over for a writer that has prepared nothing yet, so that nobody can have committed for it."""
        self.take_over(deadline)
        self._committed[writer] = 0

    def commit(self, commits: WriterCommits, deadline: float) -> None:
        """Write records that are not written yet, and their markers.

        Args:
            commits: What to commit.
            deadline: Until when to try, by ``time.monotonic``.

        Raises:
            KafkaFencedError: Another attempt has taken over.
            KafkaClientError: Kafka could not be reached in time, or does not take the records.
        """
        for group in in_transactions(commits.committables, TRANSACTION_BYTES):
            self._until(deadline, "committed", lambda group=group: self._commit_once(commits.writer, group, deadline))

    def close(self) -> None:
        """Forget the producer; what it has not committed is not seen by anyone."""
        producer, self._producer, self._committed = self._producer, None, {}
        if producer is not None:
            producer.purge()
            close_quietly(producer)

    def _commit_once(self, writer: str, group: Sequence[KafkaCommittable], deadline: float) -> None:
        producer = self._ready(deadline)
        if writer not in self._committed:
            self._committed[writer] = self._markers.committed(writer, deadline)
        left = [committable for committable in group if committable.number > self._committed[writer]]
        if not left:
            return
        self._markers.ensure_topic(deadline)
        last = left[-1].number
        producer.begin_transaction()
        for committable in left:
            for batch in committable.batches():
                produce(producer, batch, deadline)
        marker, place = encode_marker(last), partition_of(writer)
        produce_marker(producer, self._markers.topic, writer.encode(), marker, place, deadline)
        producer.commit_transaction(_left(deadline))
        self._committed[writer] = last

    def _ready(self, deadline: float) -> Any:
        """Return a producer that alone may commit under the id."""
        if self._fenced is not None:
            raise self._fenced  # for good: to come back would be to fence the successor
        if self._producer is None:
            timeout = self._clients.number("transaction.timeout.ms", 60_000)
            message_timeout = min(timeout, self._clients.number("delivery.timeout.ms", 120_000))
            fixed: dict[str, Any] = {
                "transactional.id": self._id,
                "enable.idempotence": True,
                "delivery.report.only.error": True,
                "on_delivery": self._not_delivered,
                "transaction.timeout.ms": timeout,
                "delivery.timeout.ms": message_timeout,
            }
            producer = self._clients.producer(DEFAULTS, fixed)
            try:
                producer.init_transactions(_left(deadline))
            except BaseException:
                close_quietly(producer)
                raise
            self._producer = producer
            self._committed = {}
        return self._producer

    def _until(self, deadline: float, what: str, step: Any) -> None:
        """Try until it is done: a transaction that must be aborted is, and what is broken is made anew."""
        client = require_client()
        while True:
            self._undelivered.clear()
            try:
                step()
                return
            except client.KafkaException as problem:
                error = problem.args[0]
                cause, why = error, self._clients.describe(problem)
                if self._undelivered:
                    cause, topic = self._undelivered[0]
                    why = f"{cause.str()}, topic {topic!r} ({why})"
                if _is_fenced(client, error):
                    self.close()
                    self._fenced = KafkaFencedError(
                        f"another attempt of the job, or another job started from the same savepoint, commits under "
                        f"the transactional id {self._id!r} now. If it is another job, give one of them another "
                        "set_transactional_id_prefix"
                    )
                    raise self._fenced from problem
                self._recover(error, deadline)
                if time.monotonic() + _PAUSE > deadline or _is_hopeless(client, cause):
                    self.close()
                    raise KafkaClientError(
                        f"records could not be {what} under the transactional id {self._id!r} on "
                        f"{self._clients.bootstrap_servers}: {why}. They are in the checkpoint, and committed when the "
                        "job is restored from it"
                    ) from problem
                _LOG.warning("transaction of %s is tried again: %s", self._id, why)
                time.sleep(_PAUSE)
            except BaseException:
                self.close()
                raise

    def _not_delivered(self, error: Any, message: Any) -> None:
        """Keep why Kafka did not take a record, of which the error of the transaction says nothing."""
        if not self._undelivered:
            self._undelivered.append((error, message.topic()))

    def _recover(self, error: Any, deadline: float) -> None:
        """Abort the transaction if that is enough; else begin with a new producer, which asks what is committed."""
        if self._producer is None:
            return
        if error.txn_requires_abort():
            try:
                self._producer.abort_transaction(_left(deadline))
                return
            except require_client().KafkaException:
                pass
        self.close()


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _is_fenced(client: Any, error: Any) -> bool:
    codes = client.KafkaError
    return error.code() in (codes._FENCED, codes.PRODUCER_FENCED, codes.INVALID_PRODUCER_EPOCH)


def _is_hopeless(client: Any, error: Any) -> bool:
    """Return whether trying again within the same attempt helps nobody."""
    codes = client.KafkaError
    return error.code() in (
        codes.MSG_SIZE_TOO_LARGE,
        codes.TOPIC_AUTHORIZATION_FAILED,
        codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        codes.CLUSTER_AUTHORIZATION_FAILED,
        codes._UNKNOWN_TOPIC,
        codes.UNKNOWN_TOPIC_OR_PART,
        codes._UNKNOWN_PARTITION,
        codes._AUTHENTICATION,
        codes.SASL_AUTHENTICATION_FAILED,
        codes.INVALID_TRANSACTION_TIMEOUT,
    )
