"""What Spark writes to the terminal of a program while a job runs.

It is the same in a session that Rekindle starts and in one that the program made: nothing about epochs that failed or
were stopped, which Rekindle reports itself, with their cause; and no progress bar over its lines. Loggers for which the
program's own Log4j configuration says something stay as they are.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_SPARK = "org.apache.spark"
LEVELS = {
    # What becomes of a failed task is told twice: the slot says why, and the job master what follows.
    f"{_SPARK}.api.python.PythonRunner": "OFF",
    f"{_SPARK}.executor.Executor": "OFF",
    f"{_SPARK}.scheduler.TaskSetManager": "OFF",
    f"{_SPARK}.sql.execution.datasources.v2": "OFF",
    f"{_SPARK}.sql.execution.streaming": "OFF",
    f"{_SPARK}.storage.ShuffleBlockFetcherIterator": "OFF",
    f"{_SPARK}.util.Utils": "OFF",
    # Queries and tasks are stopped while they work.
    f"{_SPARK}.scheduler.DAGScheduler": "ERROR",
    f"{_SPARK}.scheduler.TaskSchedulerImpl": "ERROR",  # which executor was lost, and why, only Spark can say
    f"{_SPARK}.sql.execution.python": "ERROR",
    "org.apache.hadoop.util.Shell": "ERROR",
}


def quieten(session: SparkSession) -> None:
    """Let the session say no more than Rekindle's own would, for as long as it lives."""
    context = session.sparkContext
    try:
        _set_levels(context._jvm)
        _stop_progress_bar(context._jsc)
        _pass_over_a_dead_jvm(context)
    except (Py4JError, AttributeError, TypeError) as error:  # Log4j may have been replaced by something else
        log.debug("Spark's logs are left as they are: %s", error)


def _set_levels(jvm: Any) -> None:
    log4j = jvm.org.apache.logging.log4j
    configured = set(log4j.LogManager.getContext(False).getConfiguration().getLoggers().keySet())
    for name in LEVELS.keys() - configured:
        log4j.core.config.Configurator.setLevel(name, getattr(log4j.Level, LEVELS[name]))


def _stop_progress_bar(context: Any) -> None:
    """Stop what spark.ui.showConsoleProgress has started. It cannot be started again."""
    bar = context.sc().progressBar()
    if bar.isDefined():
        bar.get().stop()


def _pass_over_a_dead_jvm(context: Any) -> None:
    """Let PySpark's server of accumulators print no traceback when the JVM hangs up: the job says that it died."""
    server = context._accumulatorServer
    handle_error = server.handle_error

    def handle(request: Any, address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            handle_error(request, address)

    server.handle_error = handle
