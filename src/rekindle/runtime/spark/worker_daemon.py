"""PySpark's daemon, the parent of Spark's Python workers, as Rekindle runs it on this machine.

It differs in five things. Workers import the installed pyspark, not the same code from the zip that Spark puts before
it, which has no bytecode: each of them would compile it anew. What the tasks of every job need is imported before
workers are forked: after a failure all of them are new, and each would take half a second for it. Python's garbage
collector passes over them: PySpark has it collect after every task, and the next one has to wait for that. Slots are
forked as well, by a fork server. And nothing is said of tasks that were stopped: Spark closes the connection of their
worker, which finds that out when it writes the rest of its answer. PySpark prints a traceback of that, which looks like
a crash of a job that ended as it should.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
import traceback
from functools import cache

from rekindle.runtime.spark.slot_fork_server import start_fork_server

_IMPORTED_BEFORE = (
    "pandas",  # pyarrow imports it with its first array
    "pyspark.worker",
    "rekindle.runtime.spark.forwarder",
    "rekindle.runtime.spark.slot_starter",
)


class _QuietTraceback:
    """Stand in for the module ``traceback`` in PySpark's daemon."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        if not isinstance(sys.exc_info()[1], BrokenPipeError):
            traceback.print_exc()


@cache
def prepare_this_worker() -> None:
    """Do in a worker, before its first task, what its daemon has not done: in other sessions that is PySpark's own."""
    quieten_this_worker()
    leave_to_collector_what_follows()


def leave_to_collector_what_follows() -> None:
    """Let the garbage collector pass over all that exists by now, which is modules for the most part.

    PySpark's daemon collects after every task, which would take 40 ms with them, and 1 ms without.
    """
    gc.collect()
    gc.freeze()


def quieten_this_worker() -> None:
    """Pass over stopped tasks in a worker of PySpark's own daemon, too, which a session of the program's has."""
    daemon = sys.modules["__main__"]
    if getattr(daemon.__spec__, "name", None) == "pyspark.daemon":
        daemon.traceback = _QuietTraceback  # type: ignore[attr-defined]


def prefer_installed(package: str, archive: str) -> None:
    """Take an archive off the path of modules, if its package is installed as well."""
    with_archive = list(sys.path)
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(archive)]
    if importlib.util.find_spec(package) is None:
        sys.path[:] = with_archive


def main() -> None:
    """Be the daemon."""
    prefer_installed("pyspark", "pyspark.zip")
    daemon = importlib.import_module("pyspark.daemon")
    for module in _IMPORTED_BEFORE:
        importlib.import_module(module)
    daemon.traceback = _QuietTraceback  # type: ignore[attr-defined]
    start_fork_server()
    leave_to_collector_what_follows()
    daemon.manager()


if __name__ == "__main__":
    main()
