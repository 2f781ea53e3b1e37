"""What benchmarks of whole jobs on Spark share: files to read, a sink that does nothing, the time of epochs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rekindle.checkpoint.completed_checkpoint import CompletedCheckpoint
from rekindle.common import Configuration
from rekindle.datastream import SinkFunction, StreamExecutionEnvironment
from rekindle.runtime.master.views.progress import EpochSummary, ProgressView


class Discard(SinkFunction):
    """Take results and do nothing with them."""

    def invoke(self, value: Any, context: Any) -> None:
        """Do nothing."""


class Epochs(ProgressView):
    """Remember how long each epoch took."""

    def __init__(self) -> None:
        super().__init__("benchmark")
        self.finished: list[tuple[float, EpochSummary]] = []
        self.checkpoints = 0

    def epoch_finished(self, summary: EpochSummary) -> None:
        self.finished.append((time.perf_counter(), summary))

    def checkpoint_completed(self, checkpoint: CompletedCheckpoint) -> None:
        self.checkpoints += 1


def configured(parallelism: int, settings: Mapping[str, str] | None = None) -> StreamExecutionEnvironment:
    """Return an environment with settings of Rekindle."""
    configuration = Configuration()
    for key, value in (settings or {}).items():
        configuration.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(configuration)
    environment.set_parallelism(parallelism)
    return environment


def run_job(environment: StreamExecutionEnvironment) -> Epochs:
    """Run the job that the environment describes, and return its epochs."""
    epochs = Epochs()
    environment._submit(None, None, epochs).result.result()
    return epochs


def steady(epochs: Epochs) -> tuple[float, float]:
    """Return the records per second of the first epoch, and of all others together, gaps between epochs included."""
    first, *rest = [(at, summary) for at, summary in epochs.finished if summary.records]
    return (
        first[1].records / first[1].seconds,
        sum(summary.records for _, summary in rest) / (rest[-1][0] - first[0]),
    )


def overall(epochs: Epochs) -> float:
    """Return the records per second from the beginning of the first epoch to the end of the last."""
    finished = [(at, summary) for at, summary in epochs.finished if summary.records]
    began = finished[0][0] - finished[0][1].seconds
    return sum(summary.records for _, summary in finished) / (finished[-1][0] - began)


def write_pairs(directory: str | Path, records: int, keys: int, files: int, payload: int = 0) -> None:
    """Write Parquet files of random pairs ``k long, v long``, the same in every run.

    Args:
        directory: Where to; made if need be.
        records: How many pairs.
        keys: How many keys; values are below 100.
        files: How many files the pairs are spread over.
        payload: How many random bytes a third column ``payload`` has; 0: there is none.
    """
    Path(directory).mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    for number in range(files):
        rows = records * (number + 1) // files - records * number // files
        columns = {"k": pa.array(rng.integers(0, keys, rows)), "v": pa.array(rng.integers(0, 100, rows))}
        if payload:
            buffers = [None, pa.py_buffer(rng.bytes(rows * payload))]
            columns["payload"] = pa.FixedSizeBinaryArray.from_buffers(pa.binary(payload), rows, buffers)
        pq.write_table(pa.table(columns), Path(directory, f"part-{number:05}.parquet"))
