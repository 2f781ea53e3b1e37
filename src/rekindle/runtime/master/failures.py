"""What a failure of slots or of Spark is for people: one error that names the cause."""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

from rekindle.exceptions import (
    CheckpointCorruptError,
    JobExecutionError,
    RekindleError,
    UserCodeError,
    kind_named,
)
from rekindle.runtime.slot.failure import is_curable
from rekindle.runtime.wire import messages as m

_ERROR_LINES = 12


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


def query_error(query: StreamingQuery) -> BaseException:
    """Say why a query is no longer active."""
    error = query.exception()
    return spark_error(error) if error is not None else JobExecutionError("Spark ended the query of this job")


def spark_error(error: BaseException) -> BaseException:
    """Make an error of Spark's readable: without the frames of the JVM; the whole of it stays behind as the cause."""
    if isinstance(error, RekindleError):
        return error
    text = str(error).partition("Driver stacktrace:")[0]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\tat ")]
    readable = JobExecutionError("an epoch failed in Spark: " + "\n".join(lines[:_ERROR_LINES]))
    readable.__cause__ = error
    return readable
