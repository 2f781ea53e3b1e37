"""The SparkSession of a job: the user's own, or one made for the job."""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from rekindle.base.scratch_directory import ScratchDirectory
from rekindle.config.configuration import Configuration
from rekindle.config.options import PythonOptions
from rekindle.exceptions import SparkSetupError
from rekindle.logs.library_logs import keep_py4j_to_its_logger, show_only_warnings_of
from rekindle.runtime.spark.file_names import warn_of_lost_letters
from rekindle.runtime.spark.gateway import has_jvm, said, start_jvm
from rekindle.runtime.spark.java import require_java
from rekindle.runtime.spark.open_files import require_open_files
from rekindle.runtime.spark.quiet_logs import quieten, quieten_jvm
from rekindle.runtime.spark.row_sizes import BYTES_PER_BATCH, MOST_BYTES_PER_BATCH, ROWS_PER_BATCH
from rekindle.runtime.spark.spark_loss import jvm_process, spark_loss
from rekindle.runtime.spark.spark_packages import not_started, with_packages
from rekindle.runtime.spark.versions import checkpoint_file_manager, require_supported_spark

# In force while the query of a job is started; Spark keeps a copy of the session's settings for the query.
QUERY_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # an empty exchange must still run all its tasks
    "spark.sql.codegen.wholeStage": "false",  # streams are planned in every epoch; compiling costs more than it gives
    "spark.sql.execution.arrow.maxRecordsPerBatch": f"{ROWS_PER_BATCH}",  # above that, the JVM's collector gets busy
    BYTES_PER_BATCH: f"{MOST_BYTES_PER_BATCH}b",  # rows, and payloads, may be large
    "spark.sql.streaming.minBatchesToRetain": "10",
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    "spark.sql.streaming.pollingDelay": "100ms",  # between two looks at sources that had nothing new
}

_NO_REPETITION = {
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
}
_SESSION_SETTINGS = _NO_REPETITION | {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.shuffle.compress": "false",  # the exchange goes through this machine's page cache
    "spark.python.daemon.module": "rekindle.runtime.spark.worker_daemon",
}

log = logging.getLogger(__name__)

_ADVISED: set[str] = set()  # sessions, by the id of their application
_SETTINGS_LOCK = threading.RLock()  # a session's settings are shared by all jobs on it


def existing_session() -> SparkSession | None:
    """Return the session that the program has, whichever of its threads has made it."""
    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate()
    return active


def create_session(configuration: Configuration, parallelism: int, packages: Iterable[str] = ()) -> SparkSession:
    """Take the session that there is; or start Spark, where the program, spark-submit or Spark's defaults say.

    What the program's configuration says comes first, then what spark-submit, ``PYSPARK_SUBMIT_ARGS`` and
    ``spark-defaults.conf`` say; where nobody says anything, Spark runs on this machine, with Rekindle's settings.

    Args:
        configuration: Has the settings of the program.
        parallelism: How many cores Spark has on this machine, at least.
        packages: What sources of the program need, as Maven names it.

    Raises:
        SparkSetupError: Spark cannot be used as it is installed, or did not start with the packages.
    """
    require_supported_spark()
    _require_no_connect_server(configuration)
    forget_dead_spark()
    existing = existing_session()
    if existing is not None:
        return existing
    show_only_warnings_of("py4j")
    keep_py4j_to_its_logger()
    settings = {key: value for key, value in configuration.to_dict().items() if key.startswith("spark.")}
    if not has_jvm():
        require_open_files()
        require_java()
        settings = with_packages(settings, packages, pyspark.__version__)
    try:
        start_jvm(settings)
    except PySparkRuntimeError as error:
        what = not_started(settings) if error.getCondition() == "JAVA_GATEWAY_EXITED" else None
        if what is None:
            raise
        raise SparkSetupError(what) from error
    settings = said() | settings
    master = settings.setdefault("spark.master", f"local[{max(parallelism, os.cpu_count() or 1)}]")
    settings.setdefault("spark.app.name", "rekindle")
    defaults = _SESSION_SETTINGS | _settings_of(master)
    executable = configuration.get(PythonOptions.PYTHON_EXECUTABLE)
    if executable is not None:
        os.environ["PYSPARK_PYTHON"] = executable
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    quieten_jvm(settings)
    builder = SparkSession.builder
    for key, value in (defaults | settings).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Py4JJavaError as error:
        why = str(error.java_exception.getMessage()).partition("\n")[0]
        raise SparkSetupError(
            f"Spark did not start with master {master}: {why} If that is a cluster, check the address, and that this "
            "machine reaches it; what Spark printed before this error says more"
        ) from error


def _require_no_connect_server(configuration: Configuration) -> None:
    named = os.environ.get("SPARK_REMOTE") or configuration.to_dict().get("spark.remote")
    if named:
        raise SparkSetupError(
            f"SPARK_REMOTE, or spark.remote, names a Spark Connect server, {named}, which cannot be used: Rekindle "
            "needs the driver's JVM. Unset it, and name the cluster in spark.master"
        )


def adopt_session(session: SparkSession) -> None:
    """Make a session ready for jobs, whoever made it: it says no more than one of Rekindle's own would.

    Raises:
        SparkSetupError: It is a Spark that Rekindle does not support.
    """
    prepare_session(session)
    show_only_warnings_of("py4j")
    keep_py4j_to_its_logger()
    quieten(session)


def prepare_session(session: SparkSession) -> None:
    """Make a session ready for tasks of Rekindle's.

    Raises:
        SparkSetupError: It is a Spark that Rekindle does not support.
    """
    require_supported_spark(session)
    use_this_python(session)


def advise(session: SparkSession) -> None:
    """Say, once for a session, what of it does harm, and what to start it with instead.

    Where Spark repeats tasks, slots refuse to run one twice. In the wrong locale it does not find files.
    """
    context = session.sparkContext
    warn_of_lost_letters(context._jvm, str(context.applicationId))
    missing = missing_settings(str(context.master), dict(context.getConf().getAll()))
    if missing and str(context.applicationId) not in _ADVISED:
        _ADVISED.add(str(context.applicationId))
        log.warning(
            "This Spark session may repeat tasks on its own, and each time the job returns to its last checkpoint. "
            "Start it with %s, or let Rekindle start it, with nothing said of these: env.spark_session",
            ", ".join(f"{key}={value}" for key, value in missing.items()),
        )


def missing_settings(master: str, settings: dict[str, str]) -> dict[str, str]:
    """Return the settings that keep Spark from repeating tasks, as far as a session does not have them."""
    if master.startswith("local") and not master.startswith("local-cluster"):
        # Spark repeats nothing there, unless the master says how often: local[2,4].
        return {"spark.master": master.partition(",")[0] + "]"} if "," in master else {}
    defaults = {"spark.speculation": "false", "spark.dynamicAllocation.enabled": "false"}
    wanted = _NO_REPETITION | {"spark.dynamicAllocation.enabled": "false"}
    return {key: value for key, value in wanted.items() if settings.get(key, defaults.get(key)) != value}


def stop_session(session: SparkSession) -> None:
    """Stop Spark, or forget it if it is gone: the next session then gets a JVM of its own."""
    loss = spark_loss(session)
    if loss is None:
        session.stop()
    elif not loss.wanted:
        _forget(session)


def forget_dead_spark() -> None:
    """Let PySpark know no more of a JVM that has died under it, or every session from now on would be refused."""
    context = SparkContext._active_spark_context
    session: Any = SimpleNamespace(sparkContext=context)
    if context is not None and (loss := spark_loss(session)) is not None and not loss.wanted:
        _forget(session)


def _forget(session: SparkSession) -> None:
    """Let PySpark know no more of a session that it cannot stop; another may have come in its place already."""
    context: Any = session.sparkContext
    gateway: Any = context._gateway
    context._jsc = None  # nobody is left to be told
    active, own_jvm = SparkContext._active_spark_context is context, SparkContext._gateway is gateway
    if active:
        context.stop()
        SparkSession._instantiatedSession = SparkSession._activeSession = None
    if own_jvm:
        SparkContext._gateway = SparkContext._jvm = None
        with suppress(Exception):
            gateway.shutdown_callback_server()
        process = jvm_process(gateway)
        if process is not None and process.stdin is not None:
            process.stdin.close()  # a JVM that has only stopped its context ends by this


def use_this_python(session: SparkSession) -> None:
    """Let the workers of a local session run the Python of this program, unless it says which one they shall run.

    PySpark takes whatever ``python3`` the PATH finds, which may not be the one that Rekindle is installed for.
    """
    context = session.sparkContext
    chosen = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if (context.master or "").startswith("local") and not chosen:
        context.pythonExec = sys.executable


def _settings_of(master: str) -> dict[str, str]:
    if not master.startswith("local"):
        return {}
    if master.startswith("local-cluster"):
        return _LOCAL_SETTINGS | _own_directory()
    # Spark makes up a secret for its own ports there. Without one it hands tasks, which have the secret of the job in
    # them, to anybody on this machine who asks.
    return _LOCAL_SETTINGS | _own_directory() | {"spark.authenticate": "true"}


def _own_directory() -> dict[str, str]:
    """Let Spark have a directory that is for the user only, and gone after the driver.

    Records that cross an exchange lie in it, and the Unix sockets by which Spark speaks with its Python workers.
    """
    scratch = ScratchDirectory()
    atexit.register(scratch.close)
    return {
        "spark.local.dir": scratch.path,
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": scratch.path,
    }


@contextmanager
def query_settings(session: SparkSession) -> Iterator[None]:
    """Apply the settings of a job's query while it is started, and put back what was there."""
    with _SETTINGS_LOCK:
        yield from _changed_settings(session)


def _changed_settings(session: SparkSession) -> Iterator[None]:
    # Spark's logs of batches are scratch on the driver's disk: the plainer way of writing them saves 60 ms an epoch.
    file_manager = {"spark.sql.streaming.checkpointFileManagerClass": checkpoint_file_manager(session)}
    settings = QUERY_SETTINGS | file_manager
    before = {key: session.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, old)


def cloned_session(session: SparkSession) -> SparkSession:
    """Make a session with the settings that another one has now, and its own from now on."""
    java_session: Any = session._jsparkSession
    return SparkSession(session.sparkContext, java_session.cloneSession())


def use_in_this_thread(session: SparkSession) -> None:
    """Let plans that this thread runs, and their tasks, have the settings of a session."""
    SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(session._jsparkSession)
    for key, value in session.conf.getAll.items():
        if key.startswith("spark.sql."):
            session.sparkContext.setLocalProperty(key, value)


def is_local(session: SparkSession) -> bool:
    """Return whether all of Spark is in one process on this machine."""
    master = str(session.sparkContext.master)
    return master == "local" or master.startswith("local[")
