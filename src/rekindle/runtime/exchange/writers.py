"""The sending side of an exchange: records are dealt out to targets and leave as chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from rekindle.base.object_size import object_size
from rekindle.exceptions import InvalidProgramError, RecordTooLargeError, SerializationError
from rekindle.graph.job_graph import JobEdge
from rekindle.runtime.at_work import at_record
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.dealing import Deal, Places
from rekindle.runtime.exchange.edge_serializers import UNTYPED, EdgeSerializers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.payload import encode_chunk
from rekindle.runtime.exchange.sizes import PAYLOAD_BYTES, RECORD_BYTES, SPLIT_BYTES, payload_limit
from rekindle.types.spark_typeinfo import SparkRowTypeInfo
from rekindle.types.typeinfo import Types

Envelope = tuple[int, int, bytes]
"""An edge, a target subtask, a payload."""

_WAITING_BYTES = 4 * PAYLOAD_BYTES


@at_record("value", keyed_edge="edge.id")
def keys_of(edge: JobEdge, name: str, values: Iterable[Any], serializers: EdgeSerializers = UNTYPED) -> list[Any]:
    """Apply the key selector of an edge to records, and the type of the keys to what it returns."""
    selector = edge.partitioner.key_selector
    assert selector is not None
    keys: list[Any] = []
    append = keys.append
    try:
        for value in values:
            append(selector(value))
    except BaseException as error:
        error.add_note(f"raised by the key selector of key_by, before operator {name!r}")
        raise
    if serializers.keys is None:
        return keys
    try:
        return serializers.keys.converted(keys)
    except SerializationError as error:
        raise SerializationError(
            f"the key selector of key_by before operator {name!r} returned a key that does not fit its key_type, "
            f"{edge.partitioner.key_type}: {error}"
        ) from error


class ExchangeWriter(ABC):
    """Deal out the records that leave on one edge, on behalf of one task.

    Attributes:
        limit: How many records go into one payload; shared by all tasks that write to the edge.
        ends: The names of the operators that the edge connects, for messages.
    """

    def __init__(self, edge: JobEdge, parallelism: int, serializers: EdgeSerializers = UNTYPED) -> None:
        self.limit = payload_limit()
        self.ends = ("", "")
        self._edge = edge
        self._parallelism = parallelism
        self._serializers = serializers
        self._buffers = [Chunk([]) for _ in range(parallelism)]

    @abstractmethod
    def write(self, chunk: Chunk) -> list[Envelope]:
        """Take records; return the envelopes that are full."""

    def flush(self) -> list[Envelope]:
        """Return everything that is left."""
        return [envelope for target in range(self._parallelism) for envelope in self._take(target)]

    def _deal(self, chunk: Chunk, targets: Places, keys: list[Any] | None = None) -> list[Envelope]:
        """Send each record to the target that stands in its place."""
        deal = Deal.of(targets)
        values = deal.ordered(chunk.values)
        timestamps = None if chunk.timestamps is None else deal.ordered(chunk.timestamps)
        keys = None if keys is None else deal.ordered(keys)
        full = []
        for target, start, stop in deal.parts:
            part = Chunk(
                values[start:stop],
                None if timestamps is None else timestamps[start:stop],
                None if keys is None else keys[start:stop],
            )
            full += self._add(target, part)
        return full

    def _add(self, target: int, part: Chunk) -> list[Envelope]:
        buffer = self._buffers[target]
        if not buffer.values:
            self._buffers[target] = part
        else:
            if (buffer.timestamps is None) != (part.timestamps is None):
                _align_timestamps(buffer, part)
            buffer.values += part.values
            if buffer.keys is not None:
                buffer.keys += part.keys or []
            if buffer.timestamps is not None:
                buffer.timestamps += part.timestamps or []
        waiting = len(self._buffers[target].values)
        if waiting >= self.limit.records:
            return self._take(target, self.limit.records)
        # Records may have become larger than those that the limit was learned from.
        return self._take(target) if waiting * object_size(part.values[-1]) > _WAITING_BYTES else []

    def _take(self, target: int, least: int = 1) -> list[Envelope]:
        """Encode what waits for a target, in as many payloads as it takes; a rest below ``least`` goes on waiting."""
        chunk = self._buffers[target]
        taken: list[Envelope] = []
        start, count = 0, len(chunk.values)
        while count - start >= least:
            part = chunk.cut(start, start + self.limit.records)
            start += len(part.values)
            taken += self._encoded(target, part)
        self._buffers[target] = chunk.cut(start, count) if start else chunk
        return taken

    def _encoded(self, target: int, chunk: Chunk) -> list[Envelope]:
        payload = encode_chunk(chunk, self._serializers.values)
        records, size = len(chunk.values), len(payload)
        self.limit.learn(records, size)
        if size <= SPLIT_BYTES or records == 1:
            if size > RECORD_BYTES:
                sender, receiver = self.ends
                raise RecordTooLargeError(
                    f"a record that operator {sender!r} sends to {receiver!r} has {size:,} bytes, and Spark carries at "
                    f"most {RECORD_BYTES:,} in one piece. Send it in parts, or send where it is kept: a path, or the "
                    "key of an object store"
                )
            return [(self._edge.id, target, payload)]
        del payload
        halves = chunk.cut(0, records // 2), chunk.cut(records // 2, records)
        return [envelope for half in halves for envelope in self._encoded(target, half)]


class HashWriter(ExchangeWriter):
    """Send each record to the subtask that owns its key."""

    def __init__(
        self, edge: JobEdge, parallelism: int, routes: KeyRoutes, name: str, serializers: EdgeSerializers = UNTYPED
    ) -> None:
        super().__init__(edge, parallelism, serializers)
        self._routes = routes
        self._name = name

    def write(self, chunk: Chunk) -> list[Envelope]:
        keys = keys_of(self._edge, self._name, chunk.each(), self._serializers)
        if chunk.columnar and self._keeps_columns(chunk):
            from rekindle.runtime.exchange.arrow_batches import encode_parts  # only who reads a DataFrame needs Arrow

            parts = encode_parts(chunk, keys, self._routes)
            if parts is not None:
                return [envelope for target, payload in parts for envelope in self._behind(target, payload)]
        try:
            targets = self._routes.targets(keys)
        except TypeError as error:
            raise unhashable_key(keys, self._name) from error
        return self._deal(chunk, targets, keys)

    def _keeps_columns(self, chunk: Chunk) -> bool:
        """Return whether the type of the stream leaves records as they are in their columns."""
        type_info = self._edge.type_info
        if chunk.is_text():
            return type_info is None or type_info == Types.STRING()
        return isinstance(type_info, SparkRowTypeInfo)

    def _behind(self, target: int, payload: bytes) -> list[Envelope]:
        """Send a payload to a target, and before it what waits for the target."""
        return [*self._take(target), (self._edge.id, target, payload)]


class RoundRobinWriter(ExchangeWriter):
    """Deal records out one by one, to all targets or to some."""

    def __init__(
        self,
        edge: JobEdge,
        parallelism: int,
        cursor: list[int],
        serializers: EdgeSerializers = UNTYPED,
        targets: Sequence[int] | None = None,
    ) -> None:
        super().__init__(edge, parallelism, serializers)
        self._targets = range(parallelism) if targets is None else targets
        self._cursor = cursor  # one number, shared by all tasks of the slot: the place of the next record's target

    def write(self, chunk: Chunk) -> list[Envelope]:
        full = []
        step = len(self._targets)
        first = self._cursor[0]
        for place, target in enumerate(self._targets):
            start = (place - first) % step
            values = chunk.values[start::step]
            timestamps = None if chunk.timestamps is None else chunk.timestamps[start::step]
            if values:
                full += self._add(target, Chunk(values, timestamps))
        self._cursor[0] = (first + len(chunk.values)) % step
        return full


def _align_timestamps(buffer: Chunk, part: Chunk) -> None:
    for chunk in (buffer, part):
        if chunk.timestamps is None:
            chunk.timestamps = [None] * len(chunk.values)


def unhashable_key(keys: list[Any], name: str) -> Exception:
    """Describe the key that has no hash; not by its value, which may be private."""
    for key in keys:
        if not _is_hashable(key):
            inner = next((each for each in key if not _is_hashable(each)), None) if isinstance(key, tuple) else None
            kind = type(key).__name__ + ("" if inner is None else f" with a {type(inner).__name__} in it")
            return InvalidProgramError(
                f"the key selector of key_by before operator {name!r} returned a {kind}: a key must be hashable. "
                "Return a str, a number, a tuple of such or a frozen dataclass instead"
            )
    return InvalidProgramError(f"the key selector of key_by before operator {name!r} returned a key without a hash")


def _is_hashable(key: Any) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True
