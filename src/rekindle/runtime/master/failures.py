"""What a failure of slots or of Spark is for people: one error that names the cause."""

from __future__ import annotations

from rekindle.exceptions import (
    CheckpointCorruptError,
    JobExecutionError,
    RekindleError,
    UserCodeError,
    kind_named,
)
from rekindle.runtime.slot.failure import is_curable
from rekindle.runtime.spark.epoch_driver import EpochDriver
from rekindle.runtime.wire import messages as m

_ERROR_LINES = 12
_PYTHON = "that PYSPARK_PYTHON, spark.pyspark.python or python.executable names a Python that starts there"
_WORKERS = {
    "Python worker failed to connect back": (
        "a Python worker that Spark had started did not connect back to it in time (Python worker failed to connect "
        f"back). Check that the machine is not overloaded, and {_PYTHON}"
    ),
    "while reading the port number from": (
        f"Spark cannot start Python workers: the daemon that starts them ended at once. Check {_PYTHON}"
    ),
    "PythonWorkerFactory.createWorker": (
        f"a Python worker of Spark ended before it could be used. Check that there is enough memory, and {_PYTHON}"
    ),
}
"""What Spark says of Python workers that do not come about, and what that means."""


def slot_error(message: m.SlotFailed) -> RekindleError:
    """Give the error that a slot reported."""
    curable = is_curable(message)
    if message.operator:
        return UserCodeError(
            message.operator,
            message.subtask,
            message.summary,
            message.traceback,
            message.uid,
            message.record,
            message.identity,
            curable,
        )
    kind = kind_named(message.kind) if message.kind else JobExecutionError
    if kind is CheckpointCorruptError or not curable:
        return kind(message.summary.removeprefix(f"{kind.__module__}.{kind.__qualname__}: "))
    return JobExecutionError(f"slot {message.subtask} failed: {message.summary}\n\n{message.traceback}")


def ended_error(driver: EpochDriver) -> BaseException:
    """Say why no more epochs begin."""
    error = driver.error
    return spark_error(error) if error is not None else JobExecutionError("Spark ended the query of this job")


def spark_error(error: BaseException, what: str = "an epoch failed in Spark") -> BaseException:
    """Make an error of Spark's readable: without the frames of the JVM; the whole of it stays behind as the cause.

    Args:
        error: What Spark raised.
        what: What it kept from being done.
    """
    if isinstance(error, RekindleError):
        return error
    text = str(error).partition("Driver stacktrace:")[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    advice = next((advice for sign, advice in _WORKERS.items() if sign in text), None)
    readable = JobExecutionError(f"{what}: " + (advice or "\n".join(lines[:_ERROR_LINES])))
    readable.__cause__ = error
    return readable
