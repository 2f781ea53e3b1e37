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
from rekindle.runtime.master.failures import spark_error
from rekindle.runtime.slot.__main__ import REGISTERED
from rekindle.runtime.slot.deployment import SlotDeployment
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.versions import repartition_by_id

NOT_STARTED = "could not start slot"
"""How the error of a slot begins that died before it had registered; Spark wraps it into text of its own."""

_SHOWN = 4_000


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
        deployment = msgspec.msgpack.decode(self.deployment, type=SlotDeployment)
        start_slot(msgspec.structs.replace(deployment, slot=slot), [*self.paths, *_shipped()])


def start_slot(deployment: SlotDeployment, paths: list[str]) -> None:
    """Start a slot on this machine; returns when it has registered with the job master.

    Args:
        deployment: What the slot is told.
        paths: Where it finds Python modules.

    Raises:
        SlotLostError: Its process died before; with what it said.
    """
    # The process reads its deployment, leaves a child of its own behind and ends: nobody has to wait for a slot.
    started = subprocess.run(
        [sys.executable, "-m", "rekindle.runtime.slot"],
        input=msgspec.msgpack.encode(deployment),
        capture_output=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        check=False,
    )
    if started.returncode == 0 and started.stdout.endswith(REGISTERED):
        return
    said = started.stderr.decode(errors="replace").strip() or f"nothing, and ended with exit code {started.returncode}"
    if len(said) > _SHOWN:
        said = f"({len(said) - _SHOWN} characters before this were cut)\n{said[-_SHOWN:]}"
    raise SlotLostError(
        f"{NOT_STARTED} {deployment.slot} with {sys.executable} on {socket.gethostname()}; it said:\n{said}",
        deployment.slot,
    )


def _shipped() -> list[str]:
    """Give the Python files that Spark brought to this executor."""
    root = SparkFiles.getRootDirectory()
    return [entry for entry in sys.path if entry.startswith(root)]


def launch_slots(session: SparkSession, deployment: SlotDeployment, slots: int) -> None:
    """Start all slots of an attempt; returns when all have registered with the job master.

    Raises:
        SlotLostError: One of them died before.
        JobExecutionError: Spark could not run the tasks that start them.
    """
    paths = [entry for entry in deployment.sys_path if entry]
    start: Any = StartSlot(msgspec.msgpack.encode(deployment), paths)
    try:
        with query_settings(session):
            indices = session.range(slots).select(F.col("id").cast("int").alias("slot"))
            repartition_by_id(indices, slots, "slot").mapInArrow(start, "slot int").collect()
    except Exception as error:
        _, found, rest = str(error).partition(NOT_STARTED)
        if found:
            raise SlotLostError((found + rest).partition("Driver stacktrace:")[0].strip()) from error
        raise spark_error(error, "the slots could not be started") from error
