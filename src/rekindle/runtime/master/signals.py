"""Ends the jobs of this process when it is asked to end: SIGTERM, or SIGHUP when a terminal is closed.

A signal handler may interrupt the main thread anywhere, also while that holds a lock, so it only hands the signal on to
a thread. That tells the jobs what to do, waits until they have ended, and sends the signal once more: then the
handler ends the program. Ctrl-C is not handled here: it cancels the job that the program waits for.
"""

from __future__ import annotations

import logging
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from types import FrameType

from rekindle.exceptions import RekindleError
from rekindle.logs.events import log_event
from rekindle.runtime.master.observed_job import ObservedJob
from rekindle.runtime.master.running_jobs import RegisteredJob, running_jobs
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.settings.signal_action import SignalAction

log = logging.getLogger(__name__)

WATCHED = (signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 0.05
_SIGNALLED = 128


class SignalWatch:
    """Wait for signals. The first one ends jobs as configured, the second one cancels them, the third ends the process.

    Args:
        numbers: The signals.
    """

    def __init__(self, numbers: Sequence[signal.Signals] = WATCHED) -> None:
        self._numbers = numbers
        self._received: queue.SimpleQueue[signal.Signals] = queue.SimpleQueue()  # which may be used in a handler
        self._count = 0
        self._number: signal.Signals | None = None
        self._over = threading.Event()
        self._leaving = False

    def install(self) -> bool:
        """Watch signals for which the program has no handler; tell whether there are any. For the main thread only."""
        free = [number for number in self._numbers if signal.getsignal(number) is signal.SIG_DFL]
        for number in free:
            signal.signal(number, self._handle)
        if free:
            threading.Thread(target=self._run, name="signals", daemon=True).start()
        return bool(free)

    def uninstall(self) -> None:
        """Let signals do what they do by themselves."""
        for number in self._numbers:
            if signal.getsignal(number) == self._handle:
                signal.signal(number, signal.SIG_DFL)

    def end_if_signalled(self) -> None:
        """End the program if it was asked to, once all its jobs have ended. For the main thread only.

        Raises:
            SystemExit: It was.
        """
        if self._number is not None:
            self._leaving = True  # what is done at the end of the program is not to be interrupted
            self._over.wait()
            raise SystemExit(_SIGNALLED + self._number)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._over.is_set() and not self._leaving:
            self._leaving = True
            raise SystemExit(_SIGNALLED + number)
        self._count += 1
        if self._count > 2:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._received.put(signal.Signals(number))

    def _run(self) -> None:
        number = self._received.get()
        self._number = number
        jobs = [job for job in running_jobs().all() if not job.ended]
        try:
            if not jobs:
                log.warning("%s was received: no job runs, and the program ends", number.name)
            for job in jobs:
                begin_to_end(job, number)
            self._wait_for(jobs)
        except Exception:
            log.exception("the jobs could not be ended after %s; the program ends", number.name)
        self._over.set()
        main = threading.main_thread()
        while main.ident is not None and main.is_alive() and not self._leaving:
            # Again and again: a system call that begins right after a signal is not interrupted by it.
            signal.pthread_kill(main.ident, number)
            time.sleep(_POLL_SECONDS)

    def _wait_for(self, jobs: Sequence[RegisteredJob]) -> None:
        while not all(job.settled for job in jobs):
            try:
                number = self._received.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            for job in jobs:
                if not job.settled:
                    hurry(job, number)


def begin_to_end(job: RegisteredJob, number: signal.Signals) -> None:
    """End a job as it is configured to, and say so; what was asked for is under way then."""
    match job.settings.signal_action:
        case SignalAction.CANCEL:
            _say(job, number, "the job is cancelled")
            job.cancel()
        case SignalAction.SUSPEND:
            _say(job, number, "the job is suspended: its checkpoints stay, and another driver may go on with it")
            job.suspend()
        case SignalAction.STOP_WITH_SAVEPOINT:
            _say(job, number, "the job is stopped with a savepoint; once more cancels it")
            try:
                job.stop_with_savepoint(None, False).add_done_callback(lambda done: _cancel_unless_stopped(job, done))
            except RekindleError as error:
                _cancel_without_savepoint(job, error)


def hurry(job: RegisteredJob, number: signal.Signals) -> None:
    """Cancel a job that is being stopped with a savepoint; others end as fast as they can already."""
    if job.settings.signal_action is SignalAction.STOP_WITH_SAVEPOINT:
        _say(job, number, "the job is cancelled at once, without waiting for its savepoint")
        job.cancel()
    else:
        _say(job, number, "the job is ending already; once more ends the process at once")


def _cancel_unless_stopped(job: RegisteredJob, done: Future[str]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None and not job.ended:
        _cancel_without_savepoint(job, error)


def _cancel_without_savepoint(job: RegisteredJob, error: BaseException) -> None:
    text = f"there is no savepoint, and the job is cancelled: {error}"
    log_event(logging.ERROR, job.settings.job_name, job.job_id, "savepoint_failed", text)
    job.cancel()


def say_interrupted(job: ObservedJob) -> None:
    """Say that Ctrl-C cancels a job."""
    job.history.end_request = "SIGINT was received (Ctrl-C)"
    _log(job.settings, signal.SIGINT, "the job is cancelled")


def _say(job: RegisteredJob, number: signal.Signals, follows: str) -> None:
    job.history.end_request = f"{number.name} was received"
    _log(job.settings, number, follows)


def _log(settings: JobSettings, number: signal.Signals, follows: str) -> None:
    text = f"{number.name} was received: {follows}"
    log_event(logging.WARNING, settings.job_name, settings.job_id, "signal", text, signal=number.name)


_watch: SignalWatch | None = None


def watch_signals() -> None:
    """Let requests to end this process end its jobs first, if the program has no handlers of its own for them.

    Nothing happens in other threads than the main one, and in notebooks, whose server ends their process.
    """
    global _watch
    if _watch is None and threading.current_thread() is threading.main_thread() and "IPython" not in sys.modules:
        watch = SignalWatch()
        _watch = watch if watch.install() else None


def end_if_signalled() -> None:
    """End the program if it was asked to: what comes after the job that it waited for is not to begin.

    Raises:
        SystemExit: It was.
    """
    if _watch is not None and threading.current_thread() is threading.main_thread():
        _watch.end_if_signalled()


_forking = threading.local()


def _hold_signals() -> None:
    """Let signals wait while this thread forks: Python drops those that reach a child before it is one."""
    _forking.mask = None if _watch is None else signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)


def _release_signals() -> None:
    if _forking.mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _forking.mask)


def _forget_after_fork() -> None:
    """Let a child end by signals, as a process does that a program starts with ``multiprocessing``."""
    global _watch
    if _watch is not None:
        _watch.uninstall()
        _watch = None
    _release_signals()


os.register_at_fork(before=_hold_signals, after_in_parent=_release_signals, after_in_child=_forget_after_fork)
