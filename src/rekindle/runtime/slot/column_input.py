"""What arrives over the exchange behind a chain: operators that were run by columns where their source was read."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.columns.chains import ColumnChain
from rekindle.contracts.key_groups import subtask_of_key_group
from rekindle.contracts.time.watermark_strategy import WatermarkKind
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.transformations.one_input import TimestampsAndWatermarksTransformation
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.column_chunk import ColumnChunk
from rekindle.runtime.exchange.edge_serializers import EdgeSerializers
from rekindle.runtime.exchange.payload import Passed
from rekindle.runtime.exchange.writers import keys_of, unhashable_key
from rekindle.runtime.operators.building import OperatorBuilder
from rekindle.runtime.operators.event_time import extracted, highest_of
from rekindle.runtime.operators.operator import MIN_WATERMARK, Operator
from rekindle.runtime.slot.failure import blaming
from rekindle.state.key_hash import key_group_of


class ColumnInput:
    """Take what the tasks of a source send that ran a chain.

    Rows that could not be processed by columns come as they were read, to every subtask. The functions of the chain
    run here then; each subtask keeps what it owns. They are known to do nothing but compute.

    Attributes:
        chain: The chain.
    """

    def __init__(self, chain: ColumnChain, graph: JobGraph, slot: int, serializers: EdgeSerializers) -> None:
        self.chain = chain
        self._nodes = {node.id: node for node in graph.nodes}
        self._edge = graph.edges[chain.edge]
        self._target = self._nodes[self._edge.target]
        self._slot = slot
        self._serializers = serializers
        self._operators: list[Operator] | None = None
        self._highest: list[int | None] = [None] * chain.shares
        self._cursor = 0
        self._ran: list[int] = []
        self._interval = 0

    def open(self, watermark_interval_ms: int) -> None:
        """Begin in a slot, which asks for watermarks so often; 0: never."""
        self._interval = watermark_interval_ms

    def arrived(self, chunk: Chunk) -> Chunk:
        """Return records as the operator behind the exchange takes them."""
        if isinstance(chunk, ColumnChunk) and not chunk.key_columns:
            return self._processed(chunk)
        return chunk

    def passed(self, passed: Passed) -> int | None:
        """Return the watermark that follows from what has passed by in a task; None: there is none."""
        for share, highest in enumerate(passed.highest):
            self._see(share, highest)
        if not self._highest or not self._interval:
            return None
        known = [highest for highest in self._highest if highest is not None]
        if len(known) < len(self._highest):
            return None
        return max(MIN_WATERMARK, min(known) - self._bound() - 1)

    def _see(self, share: int, highest: int | None) -> None:
        known = self._highest[share]
        if highest is not None and (known is None or highest > known):
            self._highest[share] = highest

    def _see_all(self, stamps: Sequence[int | None]) -> None:
        """See the timestamps of records, dealt out in turn: also to those shares that few records never reach."""
        shares = len(self._highest)
        for share in range(shares):
            own = [stamp for stamp in stamps[(share - self._cursor) % shares :: shares] if stamp is not None]
            self._see(share, max(own, default=None))
        self._cursor = (self._cursor + len(stamps)) % max(1, shares)

    def _bound(self) -> int:
        for node in self.chain.nodes:
            transformation = self._nodes[node].transformation
            if isinstance(transformation, TimestampsAndWatermarksTransformation):
                return transformation.strategy.max_out_of_orderness_ms
        raise AssertionError("watermarks without an operator that makes them")

    def _processed(self, rows: ColumnChunk) -> Chunk:
        """Run the functions of the chain on rows as they were read, and keep what this subtask owns."""
        if self._operators is None:
            builder = OperatorBuilder()
            self._operators = [builder.build(self._nodes[node].transformation) for node in self.chain.nodes]
        chunk: Chunk = rows.as_records()
        ran: list[int] = []
        for node_id, operator in zip(self.chain.nodes, self._operators, strict=True):
            node = self._nodes[node_id]
            with blaming(node):
                if isinstance(node.transformation, TimestampsAndWatermarksTransformation):
                    strategy = node.transformation.strategy
                    assert strategy.timestamp_assigner is not None
                    stamps = extracted(strategy.timestamp_assigner, chunk)
                    if strategy.kind is not WatermarkKind.NONE:
                        highest_of(stamps)  # raises if one is too high
                    chunk = Chunk(chunk.values, stamps)
                    self._see_all(stamps)
                else:
                    chunk = operator.process(chunk) or Chunk([])
            ran.append(chunk.size())
        if self._slot == 0:  # the same rows came to all subtasks, and count once
            self._ran = ran
        return self._owned(chunk)

    def ran(self) -> list[int]:
        """Return how many records each operator of the chain emitted for the rows that came last, if it ran here."""
        ran, self._ran = self._ran, []
        return ran

    def _owned(self, chunk: Chunk) -> Chunk:
        edge, target, serializer = self._edge, self._target, self._serializers.values
        values = chunk.values
        with blaming(self._nodes[edge.source]):
            if edge.typed_keys and serializer is not None:
                values = serializer.converted(values)
            keys = keys_of(edge, target.name, values, self._serializers)
            try:
                groups = [key_group_of(key, target.max_parallelism) for key in keys]
            except TypeError as error:
                raise unhashable_key(keys, target.name) from error
            if not edge.typed_keys and serializer is not None:
                values = serializer.converted(values)
        own = [
            place
            for place, group in enumerate(groups)
            if subtask_of_key_group(group, target.parallelism, target.max_parallelism) == self._slot
        ]
        stamps = chunk.timestamps
        return Chunk(
            [values[place] for place in own],
            None if stamps is None else [stamps[place] for place in own],
            [keys[place] for place in own],
        )
