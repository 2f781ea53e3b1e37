"""Starts a slot on the machine on which a Spark task runs. Spark's Python workers import no more than this for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pyarrow as pa
from pyspark import SparkFiles

from rekindle.exceptions import SlotLostError
from rekindle.runtime.slot.slot_deployment import REGISTERED, SlotDeployment
from rekindle.runtime.spark.slot_fork_server import fork_slot

NOT_STARTED = "could not start slot"
"""How the error of a slot begins that died before it had registered; Spark wraps it into text of its own."""

_SHOWN = 4_000
_START_SECONDS = 60.0  # until a slot has registered; it loads the program after that


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
    encoded = msgspec.msgpack.encode(deployment)
    output, errors = fork_slot(encoded, paths, _START_SECONDS) or _run_slot(encoded, paths)
    if output.endswith(REGISTERED):
        return
    said = errors.decode(errors="replace").strip()
    if len(said) > _SHOWN:
        said = f"({len(said) - _SHOWN} characters before this were cut)\n{said[-_SHOWN:]}"
    raise SlotLostError(
        f"{NOT_STARTED} {deployment.slot} with {sys.executable} on {socket.gethostname()}; it said:\n{said}",
        deployment.slot,
    )


def _run_slot(deployment: bytes, paths: list[str]) -> tuple[bytes, bytes]:
    """Start a slot with a Python of its own; return what its process said until it had registered or was gone."""
    # The process reads its deployment, leaves a child of its own behind and ends: nobody has to wait for a slot.
    started = subprocess.Popen(
        [sys.executable, "-m", "rekindle.runtime.slot"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    try:
        output, errors = started.communicate(deployment, timeout=_START_SECONDS)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)  # the slot as well: both are of one session
        output, errors = started.communicate()
        return output, errors or f"nothing within {_START_SECONDS:.0f} s, and was killed".encode()
    return output, errors or f"nothing, and ended with exit code {started.returncode}".encode()


def _shipped() -> list[str]:
    """Return the Python files that Spark brought to this executor."""
    root = SparkFiles.getRootDirectory()
    return [entry for entry in sys.path if entry.startswith(root)]
