"""The guard between a job and what observes it: whatever an observer raises cannot touch the job."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable

from rekindle.logs.standard_streams import write_output

log = logging.getLogger(__name__)


class ObserverGuard:
    """Call observers of a job; what one raises is said once, and then it is called no less than before.

    Args:
        job_name: The job's name.
    """

    def __init__(self, job_name: str) -> None:
        self._job_name = job_name
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def call(self, name: str, tell: Callable[[], object]) -> None:
        """Tell an observer something.

        Args:
            name: What the observer is, for people.
            tell: Does it.
        """
        try:
            tell()
        except (Exception, SystemExit) as error:  # a console may want to end the program because its reader has
            self._say(name, error)

    def _say(self, name: str, error: BaseException) -> None:
        with self._lock:
            if name in self._said:
                return
            self._said.add(name)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        text = f"{name} of job {self._job_name!r} raised {what}. The job goes on; this is said once"
        try:
            log.warning("%s", text, exc_info=error)
        except Exception:  # the log itself is what is broken
            write_output(sys.stderr, f"WARNING {text}\n")
