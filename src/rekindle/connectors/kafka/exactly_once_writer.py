"""The Kafka writer whose records appear once: with the checkpoint that holds them.

Between two barriers records are gathered and encoded. At the barrier they become committables, which travel in the
checkpoint themselves: no transaction of Kafka is open until that is complete, and none outlives its process. Then one
transaction writes them together with a marker, so that whoever commits them again finds it and writes nothing.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

import msgspec

from rekindle.connectors.kafka.commit_markers import CommitMarkers
from rekindle.connectors.kafka.commit_plan import WriterCommits, by_writer, transactional_id
from rekindle.connectors.kafka.kafka_clients import KafkaClients
from rekindle.connectors.kafka.kafka_records import (
    KafkaCommittable,
    PendingRecords,
    RecordBatch,
    decode_committable,
    headers_size,
)
from rekindle.connectors.kafka.kafka_transactions import KafkaTransactions
from rekindle.connectors.kafka.producing import DEFAULTS, RECORD_OVERHEAD
from rekindle.connectors.kafka.record_serialization import ChunkSerialization
from rekindle.connectors.lineage_hash import lineage_hash
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.exceptions import RecordTooLargeError
from rekindle.runtime.at_work import at_record

PIECE_BYTES = 4 << 20


class ExactlyOnceKafkaWriter(SinkWriter):
    """Write the records of one subtask when the checkpoint that holds them is complete.

    Args:
        serialization: Makes Kafka's records.
        clients: Makes clients.
        prefix: What transactional ids begin with.
        commit_topic: The topic that says what is committed.
        context: Where the writer runs.
    """

    def __init__(
        self,
        serialization: ChunkSerialization,
        clients: KafkaClients,
        prefix: str,
        commit_topic: str,
        context: SinkWriterContext,
    ) -> None:
        self._serialize = serialization
        self._clients = clients
        self._largest = clients.number("message.max.bytes", DEFAULTS["message.max.bytes"]) - RECORD_OVERHEAD
        self._patience = clients.number("delivery.timeout.ms", 120_000) / 1000
        self._name = f"{lineage_hash(context.lineage)}/{context.subtask}/{uuid.uuid4().hex}"
        self._id = transactional_id(prefix, context.lineage, context.subtask)
        self._markers = {commit_topic: CommitMarkers(clients, commit_topic)}
        self._commit_topic = commit_topic
        own = KafkaTransactions(clients, self._id, self._markers[commit_topic])
        self._transactions = {(self._id, commit_topic): own}
        self._pending = PendingRecords(PIECE_BYTES)
        self._number = 0

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Gather records for the next checkpoint."""
        batches = self._serialize(values, timestamps)
        for batch in batches:
            require_size(batch, self._largest)
        self._pending.add(batches)

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Return the records themselves."""
        return [self._committable(piece) for piece in self._pending.take()]

    def commit(self, committables: list[bytes]) -> None:
        """Write records to Kafka that are not there yet: in one transaction, unless there are very many."""
        deadline = time.monotonic() + self._patience
        left = [self._unseen(commits, deadline) for commits in by_writer(map(decode_committable, committables))]
        to_commit = [(self._transactions_of(commits), commits) for commits in left if commits is not None]
        for transactions, _ in to_commit:  # all of them first: what they leave open hides markers of each other
            transactions.take_over(deadline)
        for transactions, commits in to_commit:
            transactions.commit(commits, deadline)
        self._close_others()

    def abort_leftovers(self) -> None:
        """Let earlier attempts of this subtask commit nothing more, and end the transaction they have left open."""
        deadline = time.monotonic() + self._patience
        self._transactions[self._id, self._commit_topic].begin(self._name, deadline)
        self._markers[self._commit_topic].ensure_topic(deadline)

    def close(self) -> None:
        """Close all producers."""
        for transactions in self._transactions.values():
            transactions.close()

    def _unseen(self, commits: WriterCommits, deadline: float) -> WriterCommits | None:
        """Leave out what was committed for another subtask: the job that did it may run on, and is not to be fenced."""
        if commits.transactional_id == self._id:
            return commits
        return commits.after(self._markers_in(commits.commit_topic).seen(commits.writer, deadline))

    def _committable(self, piece: bytes) -> bytes:
        self._number += 1
        return msgspec.msgpack.encode(
            KafkaCommittable(self._id, self._commit_topic, self._name, self._number, msgspec.Raw(piece))
        )

    def _markers_in(self, topic: str) -> CommitMarkers:
        markers = self._markers.get(topic)
        if markers is None:
            markers = self._markers[topic] = CommitMarkers(self._clients, topic)
        return markers

    def _transactions_of(self, commits: WriterCommits) -> KafkaTransactions:
        key = (commits.transactional_id, commits.commit_topic)
        found = self._transactions.get(key)
        if found is None:
            markers = self._markers_in(commits.commit_topic)
            found = self._transactions[key] = KafkaTransactions(self._clients, commits.transactional_id, markers)
        return found

    def _close_others(self) -> None:
        """Close the producers of other subtasks, whose committables are committed now."""
        own = (self._id, self._commit_topic)
        for key in [key for key in self._transactions if key != own]:
            self._transactions.pop(key).close()


@at_record("value")
def require_size(batch: RecordBatch, largest: int) -> None:
    """Raise while the record can still be named: Kafka would refuse it when its checkpoint is complete.

    Raises:
        RecordTooLargeError: A record of the batch is larger than Kafka takes.
    """
    count = len(batch.values)
    keys = batch.keys if batch.keys is not None else []
    if batch.headers is None and _longest(batch.values) + _longest(keys) <= largest:
        return
    headers = [0] * count if batch.headers is None else list(map(headers_size, batch.headers))
    for value, key, others in zip(batch.values, keys or [None] * count, headers, strict=True):
        size = len(value or b"") + len(key or b"") + others
        if size > largest:
            raise RecordTooLargeError(
                f"a record for the topic {batch.topic!r} has {size} bytes, and Kafka's client takes {largest}. Raise "
                "'max.request.size' with set_property, and 'max.message.bytes' of the topic"
            )


def _longest(texts: list[bytes | None]) -> int:
    try:
        return max(map(len, texts), default=0)  # type: ignore[arg-type]
    except TypeError:  # there are Nones
        return max((len(text) for text in texts if text is not None), default=0)
