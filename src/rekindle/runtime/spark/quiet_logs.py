"""What Spark writes to the terminal of a program while a job runs.

It is the same in a session that Rekindle starts and in one that the program made: nothing about epochs that failed or
were stopped, which Rekindle reports itself, with their cause; and no progress bar over its lines. Loggers for which the
program's own Log4j configuration says something stay as they are.

All other loggers say what Spark's own configuration lets them: everything, in a JVM that spark-submit has started. That
is hundreds of lines a minute, so there they are lowered too, unless ``spark.log.level`` has set a level.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_NO_LOG4J = (Py4JError, AttributeError, TypeError)  # it may have been replaced by something else
_LEVEL_SETTING = "spark.log.level"
_DEFAULTS_OF_SPARK = "org/apache/spark/log4j2-defaults"

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
        if not context.getConf().contains(_LEVEL_SETTING):
            _lower_all_others(context._jvm, "WARN")  # as in PySpark's own shell: the program may want to see those
        _stop_progress_bar(context._jsc)
        _pass_over_a_dead_jvm(context)
    except _NO_LOG4J as error:
        log.debug("Spark's logs are left as they are: %s", error)


def quieten_jvm(settings: Mapping[str, str]) -> None:
    """Let the JVM say no more than one that Rekindle has started, before there is a session in it.

    Args:
        settings: What the session will have.
    """
    jvm: Any = SparkContext._jvm
    try:
        jvm.org.apache.spark.SparkConf().log()  # sets logging up, which undoes what was set before
        _set_levels(jvm)
        if _LEVEL_SETTING not in settings:
            _lower_all_others(jvm, "ERROR")
    except _NO_LOG4J as error:
        log.debug("Spark's logs are left as they are: %s", error)


def _set_levels(jvm: Any) -> None:
    log4j = jvm.org.apache.logging.log4j
    configured = set(log4j.LogManager.getContext(False).getConfiguration().getLoggers().keySet())
    for name in LEVELS.keys() - configured:
        log4j.core.config.Configurator.setLevel(name, getattr(log4j.Level, LEVELS[name]))


def _lower_all_others(jvm: Any, name: str) -> None:
    """Lower what the loggers say that nobody has configured: where Log4j has nothing but what comes with Spark."""
    log4j = jvm.org.apache.logging.log4j
    configuration = log4j.LogManager.getContext(False).getConfiguration()
    source, level = configuration.getConfigurationSource().getLocation() or "", getattr(log4j.Level, name)
    now: int = configuration.getRootLogger().getLevel().intLevel()
    if _DEFAULTS_OF_SPARK in source and level.intLevel() < now <= log4j.Level.INFO.intLevel():
        log4j.core.config.Configurator.setRootLevel(level)


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
