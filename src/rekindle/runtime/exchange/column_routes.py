"""DataFrames whose rows go to the next operator's slots as columns, never as Python objects.

The Spark task that reads a batch takes it through the chain behind the source, hashes the keys and cuts the batch up by
target. What can be folded before it is sent is gathered over many batches and folded first. Such a source needs no
stage in the slots before the exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rekindle.columns.chains import ColumnChain
from rekindle.columns.combining import combined
from rekindle.columns.evaluation import NotColumnar, columnar
from rekindle.columns.pipeline import KeyedRows, Observed, joined, keyed_rows
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.exchange.arrow_batches import encode_batch, encode_folded, encode_rows
from rekindle.runtime.exchange.dealing import Deal
from rekindle.runtime.exchange.payload import Passed, encode_passed
from rekindle.state.key_hash import key_group_of, key_groups_of_longs

_GATHERED_ROWS = 1 << 19  # before they are folded: more rows a key and window leave less to send
_GATHERED_BYTES = 64 << 20

Envelope = tuple[int, int, Any]


@dataclass(frozen=True, slots=True)
class ColumnRoute:
    """Say what is done with the rows of a source, and how many subtasks share the key groups behind it.

    Attributes:
        chain: The operators behind the source.
        parallelism: The number of subtasks.
        max_parallelism: The number of key groups.
    """

    chain: ColumnChain
    parallelism: int
    max_parallelism: int

    def envelopes(self, batches: Iterator[pa.RecordBatch], epoch: int, task: int) -> Iterator[list[Envelope]]:
        """Take the rows of a task through the chain: edges, targets and payloads, batch by batch."""
        observed = Observed.of(self.chain, epoch, task)
        gathered: list[KeyedRows] = []
        size = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            try:
                with columnar():
                    rows = keyed_rows(self.chain, batch, observed)
            except NotColumnar:
                yield from self._sent(gathered)
                gathered, size = [], 0
                observed.count(0, batch.num_rows)
                yield self._to_all(encode_batch(batch))
                continue
            if not rows.rows:
                continue
            gathered.append(rows)
            size += batch.nbytes
            if (
                self.chain.combined is None
                or size >= _GATHERED_BYTES
                or sum(r.rows for r in gathered) >= _GATHERED_ROWS
            ):
                yield from self._sent(gathered)
                gathered, size = [], 0
        yield from self._sent(gathered)
        if any(observed.records):
            yield self._passed(observed, task)

    def _sent(self, gathered: list[KeyedRows]) -> Iterator[list[Envelope]]:
        if gathered and self.chain.combined is not None:
            try:
                with columnar():
                    sent = self._folded(joined(gathered))
                yield sent
                return
            except NotColumnar:
                pass
        for rows in gathered:
            yield self._rows(rows)

    def _rows(self, rows: KeyedRows) -> list[Envelope]:
        single = self.chain.single_key
        parts = encode_rows(rows, single, self._deal(rows.keys, rows.rows))
        return [(self.chain.edge, target, payload) for target, payload in parts]

    def _folded(self, rows: KeyedRows) -> list[Envelope]:
        assert self.chain.combined is not None
        folded = combined(self.chain.combined, rows)
        single = self.chain.single_key
        parts = encode_folded(folded, single, self._deal(folded.keys, len(folded.starts)))
        return [(self.chain.edge, target, payload) for target, payload in parts]

    def _deal(self, keys: list[pa.Array], rows: int) -> Deal | None:
        """Return which rows go to which target; None: all to the only one."""
        return None if self.parallelism == 1 else Deal.of(self._targets(keys, rows))

    def _targets(self, keys: list[pa.Array], rows: int) -> npt.NDArray[np.int64]:
        column = keys[0]
        if self.chain.single_key and column.null_count == 0 and pa.types.is_integer(column.type):
            groups = key_groups_of_longs(column.to_numpy().astype(np.int64, copy=False), self.max_parallelism)
        elif self.chain.single_key:
            encoded = pc.dictionary_encode(column, null_encoding="encode")
            unique = [key_group_of(key, self.max_parallelism) for key in encoded.dictionary.to_pylist()]
            groups = np.array(unique, dtype=np.int64)[encoded.indices.to_numpy()]
        else:
            routes: dict[Any, int] = {}
            parts = zip(*(part.to_pylist() for part in keys), strict=True)
            numbers = (
                routes[key] if key in routes else routes.setdefault(key, key_group_of(key, self.max_parallelism))
                for key in parts
            )
            groups = np.fromiter(numbers, dtype=np.int64, count=rows)
        return groups * self.parallelism // self.max_parallelism

    def _to_all(self, payload: bytes) -> list[Envelope]:
        return [(self.chain.edge, target, payload) for target in range(self.parallelism)]

    def _passed(self, observed: Observed, task: int) -> list[Envelope]:
        """Tell all targets of timestamps, if watermarks follow from them, and one how many records there were."""
        told = task % self.parallelism
        return [
            (
                self.chain.edge,
                target,
                encode_passed(Passed(observed.records if target == told else [], observed.highest)),
            )
            for target in range(self.parallelism)
            if target == told or observed.highest
        ]


def column_routes(graph: JobGraph) -> dict[int, ColumnRoute]:
    """Return what is done with the rows of sources, by their nodes, where that is done by columns."""
    nodes = {node.id: node for node in graph.nodes}
    return {
        chain.nodes[0]: ColumnRoute(chain, target.parallelism, target.max_parallelism)
        for chain in graph.chains
        for target in (nodes[graph.edges[chain.edge].target],)
    }
