"""What all tests share: one Spark session for the tests that need it, and a watch over what tests leave behind."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from support.driver import WORKERS, python_path
from support.on_spark import ON_SPARK, TESTS
from support.processes import DRIVER_TAG, tag_this_process
from support.seeds import NAMED, SEED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from support.paced_cluster import PacedCluster

# No deadline: how long an example takes on a busy machine says nothing. What failed is printed, to be run again.
settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True, max_examples=30)
settings.register_profile("named", deadline=None, print_blob=True, database=None)
settings.load_profile("named" if NAMED else "fixed")

MEMORY = "/dev/shm"
GIGABYTE = 1 << 30
NO_SETTINGS = TESTS / "support" / "conf"
CLASSES = Path(sys.prefix, "spark-classes.jsa")


def keep_temporary_files_in_memory() -> None:
    """Spare tests the wait for a disk, where there is room in memory and programs can be run from there."""
    if not os.path.isdir(MEMORY) or not os.access(MEMORY, os.W_OK):
        return
    if shutil.disk_usage(MEMORY).free > GIGABYTE and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        os.environ.setdefault("TMPDIR", MEMORY)
        tempfile.tempdir = None  # what TMPDIR says


def forget_settings_of_this_machine() -> None:
    """Let no test see the settings of who runs it: neither variables nor a file in ``./conf``."""
    for name in [name for name in os.environ if name.startswith("REKINDLE_") and name != DRIVER_TAG]:
        del os.environ[name]
    os.environ["REKINDLE_CONF_DIR"] = str(NO_SETTINGS)
    if os.environ.get("WITHOUT_COLUMNS"):  # all tests must hold without columns, too
        os.environ["REKINDLE_REKINDLE_COLUMNS_ENABLED"] = "false"


def java_options() -> list[str]:
    """Return what lets a JVM start soon: no time for the best code, and the archive of classes where make wrote one."""
    options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    if CLASSES.exists() and CLASSES.stat().st_size:
        options += [f"-XX:SharedArchiveFile={CLASSES}", "-Xlog:disable"]
    return options


# What follows is for all processes that tests start, Spark's Java and Python above all, which live for seconds only.
forget_settings_of_this_machine()
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored, and so would what is started from here
tag_this_process()
keep_temporary_files_in_memory()
os.environ["PYTHONPATH"] = python_path(WORKERS)
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(java_options()))


def pytest_report_header() -> str:
    return f"seed: {SEED}" if NAMED else "seed: fixed (SEED=123 names one, make test SEED=random draws one)"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    if NAMED:
        config.option.hypothesis_seed = str(SEED)
    if version("pyspark") < "4.2":
        # It leaves the sockets of collected results to the garbage collector, and says so where it makes them.
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ask for a session of Spark; those that start processes which need one say so."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        if item.get_closest_marker("spark") and ON_SPARK.isdisjoint(item.path.parents):
            raise pytest.UsageError(f"{item.nodeid} needs Spark: scripts/run_tests.py looks for such tests elsewhere")


@pytest.fixture(scope="session", autouse=True)
def own_state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the jobs of tests out of the user's list of running jobs, and end the server over which they are reached."""
    os.environ["REKINDLE_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    yield
    jobs = sys.modules.get("rekindle.runtime.master.running_jobs")
    if jobs is not None:
        jobs.running_jobs().close()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark once; tests that need settings or endings of their own start it in a process of their own."""
    from rekindle.common import Configuration
    from rekindle.runtime.spark.session import create_session

    session = create_session(Configuration(), parallelism=2)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def standing_still() -> Iterator[None]:
    """Let the modules of the program be looked at once for all tests of a module: for those that change none."""
    from rekindle.columns.program_text import standing_still

    with standing_still():
        yield


@pytest.fixture
def local_cluster() -> Iterator[PacedCluster]:
    """Yield a cluster in this process, and fail the test if a slot is alive after it."""
    from support.paced_cluster import PacedCluster
    from support.processes import wait_until

    yield PacedCluster()
    wait_until(lambda: not slot_threads(), "all slots have ended")


def slot_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("slot ")]


@pytest.fixture
def no_slots_left() -> Iterator[None]:
    """Fail the test if a slot is alive after it."""
    from support.processes import slot_pids, wait_until

    yield
    wait_until(lambda: not slot_pids(), "all slots have ended")
