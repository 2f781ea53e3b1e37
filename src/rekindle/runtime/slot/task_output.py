"""What a task has produced so far: envelopes for the exchanges, gathered per task so that their order is kept."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rekindle.graph.job_graph import JobEdge, JobGraph, JobNode
from rekindle.graph.partitioning import Partitioning, rescale_targets
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.key_routes import KeyRoutes
from rekindle.runtime.exchange.partition_writers import BroadcastWriter, CustomWriter, GlobalWriter, ShuffleWriter
from rekindle.runtime.exchange.payload import Item, Progress, decode_all, encode_progress, encode_several
from rekindle.runtime.exchange.sizes import chunk_size, payload_limit
from rekindle.runtime.exchange.writers import Envelope, ExchangeWriter, HashWriter, RoundRobinWriter
from rekindle.runtime.slot.failure import blaming
from rekindle.runtime.slot.work_times import Traffic

_MANY = 64  # envelopes for the same target: together they are cheaper to carry
_LARGE = 1 << 16


class Exchanges:
    """Keep what the tasks of a slot share about the exchanges: routes of keys, cursors of round robin.

    Attributes:
        traffic: What has left over each, by edge.
    """

    def __init__(self, graph: JobGraph, slot: int) -> None:
        self._nodes = {node.id: node for node in graph.nodes}
        self._edges = graph.edges
        self._serializers = EdgeSerializers.of(graph.edges)
        self._routes: dict[tuple[int, int], KeyRoutes] = {}
        self._limits = {edge.id: payload_limit() for edge in graph.edges}
        self.traffic = {edge.id: Traffic() for edge in graph.edges if edge.exchange}
        self._slot = slot
        self._cursors = {edge.id: [slot % self._nodes[edge.target].parallelism] for edge in graph.edges}
        for edge in graph.edges:
            if edge.partitioner.kind is Partitioning.RESCALE:
                self._cursors[edge.id] = [0]  # senders have targets of their own: each begins with its first

    def targets(self, edge: JobEdge) -> Sequence[int]:
        """Return the subtasks that may get records from this slot over an edge."""
        parallelism = self._nodes[edge.target].parallelism
        if edge.partitioner.kind is Partitioning.RESCALE:
            return rescale_targets(self._slot, self._nodes[edge.source].parallelism, parallelism)
        return range(parallelism)

    def source(self, edge_id: int) -> JobNode:
        """Return the operator whose records leave on an edge."""
        return self._nodes[self._edges[edge_id].source]

    def received(self, edge_id: int, payload: bytearray) -> list[Item]:
        """Decode what came over an edge."""
        return decode_all(payload, self._serializers[edge_id].values)

    def writer(self, edge: JobEdge) -> ExchangeWriter:
        """Make the writer of an edge for one task."""
        writer = self._writer(edge)
        writer.limit = self._limits[edge.id]
        writer.ends = (self._nodes[edge.source].name, self._nodes[edge.target].name)
        return writer

    def _writer(self, edge: JobEdge) -> ExchangeWriter:
        target = self._nodes[edge.target]
        serializers = self._serializers[edge.id]
        if edge.partitioner.kind is Partitioning.HASH:
            shape = (target.parallelism, target.max_parallelism)
            routes = self._routes.setdefault(shape, KeyRoutes(*shape))
            return HashWriter(edge, target.parallelism, routes, target.name, serializers)
        match edge.partitioner.kind:
            case Partitioning.SHUFFLE:
                return ShuffleWriter(edge, target.parallelism, serializers)
            case Partitioning.GLOBAL:
                return GlobalWriter(edge, target.parallelism, serializers)
            case Partitioning.BROADCAST:
                return BroadcastWriter(edge, target.parallelism, serializers)
            case Partitioning.CUSTOM:
                return CustomWriter(edge, target.parallelism, target.name, serializers)
        cursor = self._cursors[edge.id]
        return RoundRobinWriter(edge, target.parallelism, cursor, serializers, self.targets(edge))


class TaskOutput:
    """Gather the envelopes of one task.

    Attributes:
        produced: About how many bytes the records have that operators have emitted since somebody set it to 0.
        unsent: The same, since envelopes were last taken.
    """

    def __init__(self, exchanges: Exchanges) -> None:
        self.produced = 0
        self.unsent = 0
        self._exchanges = exchanges
        self._writers: dict[int, ExchangeWriter] = {}
        self._ready: list[Envelope] = []

    def note(self, chunk: Chunk) -> None:
        """Count what an operator has emitted."""
        size = chunk_size(chunk)
        self.produced += size
        self.unsent += size

    def write(self, edge: JobEdge, chunk: Chunk) -> None:
        """Send records over an exchange."""
        writer = self._writers.get(edge.id)
        if writer is None:
            writer = self._writers[edge.id] = self._exchanges.writer(edge)
        started = time.monotonic()
        self._add(edge.id, started, writer.write(chunk))

    def announce(self, edge: JobEdge, progress: Progress) -> None:
        """Send word of progress to every target of an exchange, after all records so far."""
        self._flush(edge.id)
        started, payload = time.monotonic(), encode_progress(progress)
        self._add(edge.id, started, [(edge.id, target, payload) for target in self._exchanges.targets(edge)])

    def take(self) -> list[Envelope]:
        """Take the envelopes that are ready."""
        self.unsent = 0
        ready, self._ready = self._ready, []
        return ready if len(ready) < _MANY else _fewer(ready)

    def finish(self) -> list[Envelope]:
        """Take everything: the task is done."""
        for edge_id in self._writers:
            self._flush(edge_id)
        return self.take()

    def _flush(self, edge_id: int) -> None:
        writer = self._writers.get(edge_id)
        if writer is not None:
            started = time.monotonic()
            with blaming(self._exchanges.source(edge_id)):
                envelopes = writer.flush()
            self._add(edge_id, started, envelopes)

    def _add(self, edge_id: int, started: float, envelopes: list[Envelope]) -> None:
        self._exchanges.traffic[edge_id].add(started, envelopes)
        self._ready += envelopes


def _fewer(envelopes: list[Envelope]) -> list[Envelope]:
    """Put small payloads for one target together. Those of one edge and target keep their order."""
    by_target: defaultdict[tuple[int, int], list[bytes]] = defaultdict(list)
    for edge, target, payload in envelopes:
        by_target[edge, target].append(payload)
    return [
        (edge, target, group[0] if len(group) == 1 else encode_several(group))
        for (edge, target), payloads in by_target.items()
        for group in _groups(payloads)
    ]


def _groups(payloads: list[bytes]) -> Iterator[list[bytes]]:
    group: list[bytes] = []
    size = 0
    for payload in payloads:
        if group and size + len(payload) > _LARGE:
            yield group
            group, size = [], 0
        group.append(payload)
        size += len(payload)
    yield group
