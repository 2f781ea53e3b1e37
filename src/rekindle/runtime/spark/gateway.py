"""The JVM in which Spark runs for this program, and what it was told before the program was asked.

spark-submit starts it before the program; else it is started here, with ``spark-defaults.conf`` and
``PYSPARK_SUBMIT_ARGS``, as PySpark would.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from rekindle.runtime.spark.file_names import letters_in_file_names
from rekindle.runtime.spark.submitted_settings import for_the_start

_LOGGING = os.path.join(os.path.dirname(__file__), "log4j2.properties")
_LOG_SETTINGS = "LOG4J_CONFIGURATION_FILE"  # what Log4j reads unless a system property says otherwise
_ANY_NUMBER_OF_CORES = "local[*]"
# What spark-submit fills in where nobody said anything, and what belongs to it alone.
_FILLED_IN = {"spark.master": _ANY_NUMBER_OF_CORES, "spark.app.name": "pyspark-shell"}
_OF_SHELLS = ("spark.ui.showConsoleProgress",)

_given: dict[str, str] = {}  # by an environment of this program, to the JVM; the next one may want something else


def has_jvm() -> bool:
    """Return whether there is a JVM for this program: of spark-submit, or of an earlier session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None


def start_jvm(settings: Mapping[str, str]) -> None:
    """Start a JVM that logs errors only, or connect to that of spark-submit.

    Args:
        settings: What it must know from the beginning; of secrets it hears with the session.
    """
    configuration = SparkConf(loadDefaults=False)
    first = not has_jvm()
    for key, value in (for_the_start(settings) if first else settings).items():
        configuration.set(key, value)
    with _quiet_from_the_beginning(), letters_in_file_names():
        # A signal to the group of the program is the program's to handle: its last checkpoint needs the JVM. That ends
        # with the program in any case, when its standard input does.
        launch: Callable[[SparkConf, dict[str, bool]], object] = launch_gateway
        gateway = launch(configuration, {"start_new_session": True}) if first else None
        SparkContext._ensure_initialized(gateway=gateway, conf=configuration)
    if first:
        _given.clear()
        _given.update(settings)


def said() -> dict[str, str]:
    """Return the settings that the JVM has been given, by whoever: not those that Spark has filled in by itself."""
    ours = _FILLED_IN | _given
    return {key: value for key, value in SparkConf().getAll() if key not in _OF_SHELLS and ours.get(key) != value}


@contextmanager
def _quiet_from_the_beginning() -> Iterator[None]:
    if _LOG_SETTINGS in os.environ:
        yield
        return
    os.environ[_LOG_SETTINGS] = f"file:{_LOGGING}"
    try:
        yield
    finally:
        del os.environ[_LOG_SETTINGS]
