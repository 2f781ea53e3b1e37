"""The SparkSession of a job: the user's own, or one made for the job."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from logging import NOTSET, WARNING, getLogger

from pyspark.sql import SparkSession

from rekindle.common import Configuration
from rekindle.common.options import PythonOptions
from rekindle.runtime.scratch import ScratchDirectory
from rekindle.runtime.spark.java import require_java

# In force while the query of a job is started; Spark keeps a copy of the session's settings for the query.
QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # an empty exchange must still run all its tasks
    "spark.sql.codegen.wholeStage": "false",  # plans are rebuilt every epoch; compiling them costs more than it gives
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",  # above that, the JVM's collector gets busy
    "spark.sql.execution.arrow.maxBytesPerBatch": "32m",  # rows, and payloads, may be large
    # Spark's logs of batches are scratch on the driver's disk: the plainer way of writing them saves 60 ms an epoch.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    "spark.sql.streaming.pollingDelay": "10ms",
}

_SESSION_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.shuffle.compress": "false",  # the exchange goes through this machine's page cache
    "spark.python.daemon.module": "rekindle.runtime.spark.worker_daemon",
}

_SETTINGS_LOCK = threading.RLock()  # a session's settings are shared by all jobs on it
_LOGGING = os.path.join(os.path.dirname(__file__), "log4j2.properties")


def create_session(configuration: Configuration, parallelism: int) -> SparkSession:
    """Start Spark, on this machine unless ``spark.master`` says otherwise, or take the session that is active."""
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    require_java()
    quieten_py4j()
    settings = dict(_SESSION_SETTINGS)
    wanted = {key: value for key, value in configuration.to_dict().items() if key.startswith("spark.")}
    master = wanted.get("spark.master", f"local[{max(parallelism, os.cpu_count() or 1)}]")
    if master.startswith("local"):
        settings |= _LOCAL_SETTINGS | _worker_sockets()
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging = f"-Dlog4j2.configurationFile=file:{_LOGGING}"
    settings["spark.driver.extraJavaOptions"] = f"{logging} {wanted.pop('spark.driver.extraJavaOptions', '')}".strip()
    executable = configuration.get(PythonOptions.PYTHON_EXECUTABLE)
    if executable is not None:
        os.environ["PYSPARK_PYTHON"] = executable
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("rekindle").master(master)
    for key, value in (settings | wanted).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def use_this_python(session: SparkSession) -> None:
    """Let the workers of a local session run the Python of this program, unless it says which one they shall run.

    PySpark takes whatever ``python3`` the PATH finds, which may not be the one that Rekindle is installed for.
    """
    context = session.sparkContext
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if (context.master or "").startswith("local") and not chosen:
        context.pythonExec = sys.executable


def quieten_py4j() -> None:
    """Keep what py4j tells of its connections out of the logs of programs that log at INFO, unless they ask for it."""
    logger = getLogger("py4j")
    if logger.level == NOTSET:
        logger.setLevel(WARNING)


def _worker_sockets() -> dict[str, str]:
    """Let Spark speak with its Python workers through Unix sockets, in a directory that does not outlive the driver."""
    sockets = ScratchDirectory()
    atexit.register(sockets.close)
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": sockets.path,
    }


@contextmanager
def query_settings(session: SparkSession) -> Iterator[None]:
    """Apply the settings of a job's query while it is started, and put back what was there."""
    with _SETTINGS_LOCK:
        yield from _changed_settings(session)


def _changed_settings(session: SparkSession) -> Iterator[None]:
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
