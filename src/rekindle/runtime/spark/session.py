"""The SparkSession of a job: the user's own, or one made for the job."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from rekindle.common import Configuration
from rekindle.runtime.spark.java import require_java

# In force while the query of a job is started; Spark keeps a copy of the session's settings for the query.
QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # an empty exchange must still run all its tasks
    "spark.sql.codegen.wholeStage": "false",  # plans are rebuilt every epoch; compiling them costs more than it gives
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    "spark.sql.streaming.pollingDelay": "10ms",
}

_SESSION_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
}
_LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}

# What Spark logs when an epoch fails. Rekindle reports the failure itself, with its cause, and restarts.
_QUIET_LOGGERS = (
    "org.apache.spark.api.python",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.datasources.v2",
    "org.apache.spark.sql.execution.streaming",
    "org.apache.spark.util.Utils",
)


def create_session(configuration: Configuration, parallelism: int) -> SparkSession:
    """Start Spark, on this machine unless ``spark.master`` says otherwise, or take the session that is active."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    settings = dict(_SESSION_SETTINGS)
    wanted = {key: value for key, value in configuration.to_dict().items() if key.startswith("spark.")}
    master = wanted.get("spark.master", f"local[{max(parallelism, os.cpu_count() or 1)}]")
    if master.startswith("local"):
        settings |= _LOCAL_SETTINGS
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("rekindle").master(master)
    for key, value in (settings | wanted).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    quiet_known_failures(session)
    return session


def quiet_known_failures(session: SparkSession) -> None:
    """Keep Spark from logging the failures of epochs, which Rekindle reports and handles."""
    log4j = session.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]
    for logger in _QUIET_LOGGERS:
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.OFF)


@contextmanager
def query_settings(session: SparkSession) -> Iterator[None]:
    """Apply the settings of a job's query while it is started, and put back what was there."""
    before = {key: session.conf.get(key, None) for key in QUERY_SETTINGS}
    for key, value in QUERY_SETTINGS.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


def is_local(session: SparkSession) -> bool:
    """Tell whether all of Spark is in one process on this machine."""
    master = str(session.sparkContext.master)
    return master == "local" or master.startswith("local[")
