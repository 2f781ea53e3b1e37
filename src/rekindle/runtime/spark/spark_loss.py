"""Tells whether Spark is still there: its JVM may die, or its context be stopped, under a job that runs."""

from __future__ import annotations

import signal
import socket
import subprocess
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rekindle.runtime.master.cluster import ClusterLoss

_DYING_SECONDS = 10.0  # a JVM that no longer answers is given so long to end: its end says more than its silence
_STOPPING_SECONDS = 2.0  # a context that stops by itself may be the first sign of a JVM that is shut down
_OUT_OF_MEMORY = (3, 52)  # with -XX:+ExitOnOutOfMemoryError; by Spark, when a task runs out of it


def spark_loss(session: SparkSession) -> ClusterLoss | None:
    """Look whether the Spark of a session is gone; None while it is there."""
    context: Any = getattr(session, "sparkContext", None)
    gateway = getattr(context, "_gateway", None)
    if gateway is None:
        return None  # no JVM that could be looked at
    process = jvm_process(gateway)
    ended = _ended(process, 0.0)
    if ended is not None:
        return ended
    if context._jsc is None:
        return ClusterLoss("the SparkSession that it ran on was stopped (spark.stop())", wanted=True)
    try:
        stopped = context._jsc.sc().isStopped()
    except (Py4JError, OSError):
        return _ended(process, _DYING_SECONDS) or _unreachable(gateway)
    if not stopped:
        return None
    return _ended(process, _STOPPING_SECONDS) or ClusterLoss("Spark has stopped its SparkContext; its own log says why")


def jvm_process(gateway: Any) -> subprocess.Popen[bytes] | None:
    """Return the process of a JVM; None where spark-submit has started this program."""
    process: subprocess.Popen[bytes] | None = vars(gateway).get("proc")  # any other way asks the JVM
    return process


def _ended(process: subprocess.Popen[bytes] | None, wait: float) -> ClusterLoss | None:
    if process is None:
        return None
    try:
        code = process.wait(wait)
    except subprocess.TimeoutExpired:
        return None
    return ClusterLoss(f"Spark's JVM (process {process.pid}) {how_it_ended(code)}")


def how_it_ended(code: int) -> str:
    """Return how a process ended, by the return code that Python gives it."""
    if code < 0:
        return f"was killed by {_signal_name(-code)}"
    if code in _OUT_OF_MEMORY:
        return f"ended with exit code {code}, as after an OutOfMemoryError: give it more with spark.driver.memory"
    name = _signal_name(code - 128)
    return f"ended with exit code {code}" + (f" ({name})" if name.startswith("SIG") else "")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _unreachable(gateway: Any) -> ClusterLoss | None:
    """Look whether somebody listens where the JVM should: a lost connection alone does not mean that it is gone."""
    parameters = gateway.gateway_parameters
    try:
        socket.create_connection((parameters.address, parameters.port), timeout=_DYING_SECONDS).close()
    except OSError as error:
        return ClusterLoss(f"Spark's JVM is gone: nothing answers at {parameters.address}:{parameters.port} ({error})")
    return None
