"""Starts the slots of an attempt, each through a Spark task on an executor, so that Spark decides where they run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from rekindle.exceptions import SlotLostError
from rekindle.runtime.slot.deployment import SlotDeployment
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.versions import repartition_by_id


@dataclass(frozen=True, slots=True)
class StartSlot:
    """Start the slot of this partition; a slot outlives the task and the Python worker that started it."""

    deployment: bytes
    paths: list[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run as the function of ``mapInArrow``."""
        for batch in batches:
            for slot in batch.column(0).to_pylist():
                self._start(slot)
            yield batch

    def _start(self, slot: int) -> None:
        deployment = msgspec.structs.replace(msgspec.msgpack.decode(self.deployment, type=SlotDeployment), slot=slot)
        # The process reads its deployment, leaves a child of its own behind and ends: nobody has to wait for a slot.
        started = subprocess.run(
            [sys.executable, "-m", "rekindle.runtime.slot"],
            input=msgspec.msgpack.encode(deployment),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([*self.paths, *_shipped()])},
            check=False,
        )
        if started.returncode != 0:
            raise SlotLostError(
                f"slot {slot} could not be started with {sys.executable} on {socket.gethostname()}; it said:\n"
                + started.stderr.decode(errors="replace")
            )


def _shipped() -> list[str]:
    """Give the Python files that Spark brought to this executor."""
    root = SparkFiles.getRootDirectory()
    return [entry for entry in sys.path if entry.startswith(root)]


def launch_slots(session: SparkSession, deployment: SlotDeployment, slots: int) -> None:
    """Start all slots of an attempt; they register with the job master by themselves."""
    paths = [entry for entry in deployment.sys_path if entry]
    start: Any = StartSlot(msgspec.msgpack.encode(deployment), paths)
    with query_settings(session):
        indices = session.range(slots).select(F.col("id").cast("int").alias("slot"))
        repartition_by_id(indices, slots, "slot").mapInArrow(start, "slot int").collect()
