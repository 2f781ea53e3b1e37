"""What Spark raises, as one error that names the cause, and whether Spark would raise it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from rekindle.exceptions import JobExecutionError, RekindleError

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


@contextmanager
def readable_errors() -> Iterator[None]:
    """Make what Spark raises in an epoch readable."""
    try:
        yield
    except RekindleError:
        raise
    except Exception as error:
        raise spark_error(error) from error


def ended_error(error: BaseException | None) -> BaseException:
    """Return why no more epochs begin, given what Spark raised, if it did."""
    return spark_error(error) if error is not None else JobExecutionError("Spark ended the query of this job")


def refusal(error: BaseException) -> str | None:
    """Say that Spark refuses the plan of a job; None if an error does not mean that."""
    if isinstance(error, AnalysisException):
        return "Spark refuses the plan of the job, and would after a restart"
    return None
