"""Records on their way to Kafka, in columns, and how they are kept in a checkpoint until they are committed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rekindle.exceptions import StateRestoreError

Headers = list[tuple[str, bytes | None]]


class RecordBatch(msgspec.Struct, array_like=True):
    """Records for one topic, in their order.

    Attributes:
        topic: The topic.
        values: The values; None deletes a key in a compacted topic.
        keys: The keys; None: no record has one.
        timestamps: Milliseconds since the epoch, 0 for the time of writing; None: that for all.
        headers: The headers; None: no record has any.
    """

    topic: str
    values: list[bytes | None]
    keys: list[bytes | None] | None = None
    timestamps: list[int] | None = None
    headers: list[Headers] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def size(self) -> int:
        """Return about how many bytes the records have."""
        size = 16 * len(self.values) + _length(self.values)
        size += 0 if self.keys is None else _length(self.keys)
        return size + (0 if self.headers is None else sum(map(headers_size, self.headers)))

    def follows(self, other: RecordBatch) -> bool:
        """Return whether the records can be added to those of another batch."""
        return (
            self.topic == other.topic
            and (self.keys is None) == (other.keys is None)
            and (self.timestamps is None) == (other.timestamps is None)
            and (self.headers is None) == (other.headers is None)
        )

    def append(self, other: RecordBatch) -> None:
        """Add the records of a batch that follows."""
        self.values += other.values
        for mine, more in ((self.keys, other.keys), (self.timestamps, other.timestamps), (self.headers, other.headers)):
            if mine is not None and more is not None:
                mine += more  # type: ignore[operator]


def headers_size(headers: Headers) -> int:
    """Return how many bytes the headers of a record take, at most."""
    return sum(10 + 4 * len(name) + len(value or b"") for name, value in headers)


def _length(texts: list[bytes | None]) -> int:
    try:
        return sum(map(len, texts))  # type: ignore[arg-type]
    except TypeError:  # there are Nones
        return sum(len(text) for text in texts if text is not None)


class KafkaCommittable(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-kafka-1"):
    """Keep records in the checkpoint until they are committed.

    Attributes:
        transactional_id: The transactional id of the subtask that prepared it, by which all who commit it fence each
            other.
        commit_topic: The topic that says what is committed.
        writer: Who prepared it, once for each start of a subtask: the key in that topic.
        number: Which of the writer's committables it is, counted from 1; they are committed in this order.
        records: The batches, encoded.
    """

    transactional_id: str
    commit_topic: str
    writer: str
    number: int
    records: msgspec.Raw

    def batches(self) -> list[RecordBatch]:
        """Return the records."""
        return msgspec.msgpack.decode(self.records, type=list[RecordBatch])


def encode_batches(batches: list[RecordBatch]) -> bytes:
    """Return batches as a committable has them."""
    return msgspec.msgpack.encode(batches)


def decode_committable(data: bytes) -> KafkaCommittable:
    """Return a committable out of a checkpoint.

    Raises:
        StateRestoreError: It is none of this sink's.
    """
    try:
        return msgspec.msgpack.decode(data, type=KafkaCommittable)
    except msgspec.DecodeError as error:
        raise StateRestoreError(
            f"the checkpoint holds a commit that is not of this version's KafkaSink ({error}). Give a sink of "
            "another kind another uid, or restore with the version that wrote the checkpoint"
        ) from error


class PendingRecords:
    """Gather records between two barriers: encoded piece by piece, so that they take little memory.

    Args:
        piece_bytes: How large a piece becomes, about.
    """

    def __init__(self, piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes
        self._pieces: list[bytes] = []
        self._open: list[RecordBatch] = []
        self._last: dict[str, RecordBatch] = {}
        self._size = 0

    def add(self, batches: Iterable[RecordBatch]) -> None:
        """Add batches; they are the gatherer's from then on."""
        for batch in batches:
            last = self._last.get(batch.topic)
            if last is not None and batch.follows(last):
                last.append(batch)
            else:
                self._open.append(batch)
                self._last[batch.topic] = batch
            self._size += batch.size()
        if self._size >= self._piece_bytes:
            self._close_piece()

    def take(self) -> list[bytes]:
        """Return all pieces, and begin anew."""
        if self._open:
            self._close_piece()
        pieces, self._pieces = self._pieces, []
        return pieces

    def _close_piece(self) -> None:
        self._pieces.append(encode_batches(self._open))
        self._open, self._last, self._size = [], {}, 0
