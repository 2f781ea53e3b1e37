"""Rows of sources that are read in splits: where each split ends, and which subtask follows it.

A task reads one split, and the first row names it: nothing is done row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rekindle.graph.job_graph import JobGraph
from rekindle.graph.partitioning import Partitioning
from rekindle.graph.splits import OFFSET_COLUMN, SPLIT_COLUMNS, Split, split_owner
from rekindle.runtime.exchange.arrow_batches import encode_batch
from rekindle.runtime.exchange.payload import Passed, encode_passed

Envelope = tuple[int, int, Any]


@dataclass(frozen=True, slots=True)
class SplitEnds:
    """Cut off what is behind the end of a split.

    Attributes:
        ends: The offset at which each split ends; those that are not named give nothing.
    """

    ends: Mapping[Split, int]

    def cut(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the rows of a task that are before the end of their split."""
        for batch in batches:
            if batch.num_rows:
                end = self.ends.get(split_of(batch), 0)
                kept = int(np.searchsorted(batch.column(OFFSET_COLUMN).to_numpy(), end))  # offsets ascend
                if kept:
                    yield batch.slice(0, kept)


@dataclass(frozen=True, slots=True)
class SplitRoute:
    """Send the rows of each task to the subtask that follows their split.

    Attributes:
        edge: The edge to the operator that follows splits.
        parallelism: The number of its subtasks.
        ends: Where splits end; None: nowhere.
    """

    edge: int
    parallelism: int
    ends: SplitEnds | None = None

    def envelopes(self, batches: Iterator[pa.RecordBatch], epoch: int, task: int) -> Iterator[list[Envelope]]:
        """Return edges, targets and payloads for the rows of a task, batch by batch."""
        rows = target = 0
        for batch in batches if self.ends is None else self.ends.cut(batches):
            if batch.num_rows:
                rows += batch.num_rows
                target = split_owner(split_of(batch), self.parallelism)
                yield [(self.edge, target, encode_batch(batch))]
        if rows:
            yield [(self.edge, target, encode_passed(Passed([rows], [])))]


def split_of(rows: pa.RecordBatch) -> Split:
    """Return the split that rows of one task are from."""
    name, number = (rows.column(column)[0].as_py() for column in SPLIT_COLUMNS)
    return name, number


def split_routes(graph: JobGraph, ends: Mapping[str, SplitEnds]) -> dict[int, SplitRoute]:
    """Return how rows go to the operators that follow their splits, by the nodes of their sources.

    Args:
        graph: The job.
        ends: Where the splits of sources end, by uid.
    """
    uids = {node.id: node.uid for node in graph.nodes}
    return {
        edge.source: SplitRoute(edge.id, graph.nodes[edge.target].parallelism, ends.get(uids[edge.source]))
        for edge in graph.edges
        if edge.partitioner.kind is Partitioning.SPLIT
    }
