"""Ends the jobs of this process when it is asked to end: SIGTERM, or SIGHUP when a terminal is closed.

A signal handler may interrupt the main thread anywhere, also while that holds a lock, so it only hands the signal on to
a thread. That tells the jobs what to do, waits until they have ended, and sends the signal once more: then the
handler ends the program. What Ctrl-C does is not decided here: it cancels the job that the program waits for.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from types import FrameType

from rekindle.exceptions import RekindleError
from rekindle.logs.events import log_event
from rekindle.program.forwarded_signals import FORWARDED
from rekindle.runtime.master.observed_job import ObservedJob
from rekindle.runtime.master.running_jobs import RegisteredJob, running_jobs
from rekindle.runtime.master.settings.job_settings import JobSettings
from rekindle.runtime.master.settings.signal_action import SignalAction

log = logging.getLogger(__name__)

WATCHED = (signal.SIGTERM, signal.SIGHUP)
_POLL_SECONDS = 0.05
_SIGNALLED = 128
_COPY_SECONDS = 1.0
_PASSED_ON_SECONDS = 10.0

_Handler = Callable[[int, FrameType | None], object]


class SignalWatch:
    """Wait for signals. The first one ends jobs as configured, the second one cancels them, the third ends the process.

    One request may arrive several times: to the process and to its group, within a moment, and from ``rekindle run``,
    which got it as well and passes it on under another number. What comes the same way within a second of a request, or
    the other way within ten, as a busy machine may need, is a copy of it; what comes later is another request.

    Ctrl-C raises ``KeyboardInterrupt`` as ever, but not once more for what the command passes on.

    Args:
        numbers: The signals.
        forwarded: The numbers under which the command passes signals on.
        clock: Tells the time, in seconds.
    """

    def __init__(
        self,
        numbers: Sequence[signal.Signals] = WATCHED,
        forwarded: Mapping[int, signal.Signals] = FORWARDED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._numbers = numbers
        self._forwarded = forwarded
        self._clock = clock
        self._received: queue.SimpleQueue[signal.Signals] = queue.SimpleQueue()  # which may be used in a handler
        self._requests = _Requests(_COPY_SECONDS, _PASSED_ON_SECONDS)
        self._interrupts = _Requests(0, _PASSED_ON_SECONDS)
        self._interrupted_by: _Handler | None = None  # what Ctrl-C has called before
        self._number: signal.Signals | None = None
        self._over = threading.Event()
        self._leaving = False

    def install(self) -> bool:
        """Watch signals for which the program has no handler; tell whether there are any. For the main thread only."""
        free = [number for number in self._numbers if signal.getsignal(number) is signal.SIG_DFL]
        for number in free:
            signal.signal(number, self._handle)
        for other, meaning in self._forwarded.items():
            if meaning in free:
                signal.signal(other, self._handle)
        if free:
            threading.Thread(target=self._run, name="signals", daemon=True).start()
        return bool(free)

    def watch_interrupts(self) -> None:
        """See to it that Ctrl-C counts once, unless the program has a handler of its own. For the main thread only."""
        current = signal.getsignal(signal.SIGINT)
        numbers = [number for number, meaning in self._forwarded.items() if meaning is signal.SIGINT]
        if current == self._interrupt:
            return
        is_spark = getattr(current, "__module__", "").startswith("pyspark.")  # which cancels its jobs, and raises
        if callable(current) and (current is signal.default_int_handler or is_spark):
            self._interrupted_by = current
            for number in (signal.SIGINT, *numbers):
                signal.signal(number, self._interrupt)
        else:
            for number in numbers:
                signal.signal(number, signal.SIG_DFL)

    def uninstall(self) -> None:
        """Let signals do what they do by themselves."""
        for number in (*self._numbers, *self._forwarded):
            if signal.getsignal(number) in (self._handle, self._interrupt):
                signal.signal(number, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, self._interrupted_by)

    def end_if_signalled(self, first: signal.Signals | None = None) -> None:
        """End the program if it was asked to, once all its jobs have ended. For the main thread only.

        Args:
            first: What the job was ended by before; the exit code names it. None: nothing.

        Raises:
            SystemExit: It was.
        """
        if self._number is not None:
            self._leaving = True  # what is done at the end of the program is not to be interrupted
            self._over.wait()
            raise SystemExit(_SIGNALLED + (self._number if first is None else first))

    def _handle(self, number: int, frame: FrameType | None) -> None:
        meaning = self._forwarded.get(number, signal.Signals(number) if number in self._numbers else None)
        assert meaning is not None
        if self._over.is_set() and not self._leaving:
            self._leaving = True
            raise SystemExit(_SIGNALLED + meaning)
        if not self._requests.count(number in self._forwarded, self._clock()):
            return
        if self._requests.counted > 2:
            signal.signal(meaning, signal.SIG_DFL)
            os.kill(os.getpid(), meaning)
        self._received.put(meaning)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupts.count(number in self._forwarded, self._clock()) and self._interrupted_by is not None:
            self._interrupted_by(signal.SIGINT, frame)

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


class _Requests:
    """Count requests, each of which may arrive several times, by itself and passed on.

    Args:
        same_seconds: How long after a signal what comes in the same way is a copy of it.
        other_seconds: How long after a request what comes in the other way is a copy of it.

    Attributes:
        counted: How many requests there were.
    """

    def __init__(self, same_seconds: float, other_seconds: float) -> None:
        self._same_seconds = same_seconds
        self._other_seconds = other_seconds
        self._times = {False: -math.inf, True: -math.inf}  # of what came by itself, and of what was passed on
        self._without_copy: dict[bool, deque[float]] = {False: deque(), True: deque()}  # in the other way
        self.counted = 0

    def count(self, forwarded: bool, now: float) -> bool:
        """Count a signal; tell whether it is another request."""
        if now - self._times[forwarded] < self._same_seconds:
            return False
        self._times[forwarded] = now
        others = self._without_copy[not forwarded]
        while others:
            if now - others.popleft() < self._other_seconds:
                return False
        self._without_copy[forwarded].append(now)
        self.counted += 1
        return True


def begin_to_end(job: RegisteredJob, number: signal.Signals) -> None:
    """End a job as it is configured to, and say so; what was asked for is under way then."""
    match job.settings.signal_action:
        case SignalAction.CANCEL:
            _say(job, number, "the job is cancelled, and its last checkpoint stays")
            job.cancel(keep_checkpoints=True)
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
        job.cancel(keep_checkpoints=True)
    else:
        _say(job, number, "the job is ending already; once more ends the process at once")


def _cancel_unless_stopped(job: RegisteredJob, done: Future[str]) -> None:
    error = None if done.cancelled() else done.exception()
    if error is not None and not job.ended:
        _cancel_without_savepoint(job, error)


def _cancel_without_savepoint(job: RegisteredJob, error: BaseException) -> None:
    text = f"there is no savepoint, and the job is cancelled: {error}"
    log_event(logging.ERROR, job.settings.job_name, job.job_id, "savepoint_failed", text)
    job.cancel(keep_checkpoints=True)


def say_interrupted(job: ObservedJob) -> signal.Signals | None:
    """Say that Ctrl-C cancels a job; return SIGINT if that is the first request to end it."""
    first = job.history.ask_for_end("SIGINT was received (Ctrl-C)")
    _log(job.settings, signal.SIGINT, "the job is cancelled, and its last checkpoint stays")
    return signal.SIGINT if first else None


def _say(job: RegisteredJob, number: signal.Signals, follows: str) -> None:
    job.history.ask_for_end(f"{number.name} was received")
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
    if _watch is not None and threading.current_thread() is threading.main_thread():
        _watch.watch_interrupts()  # again: Spark puts its own handler there with each session


def end_if_signalled(first: signal.Signals | None = None) -> None:
    """End the program if it was asked to: what comes after the job that it waited for is not to begin.

    Args:
        first: What the job was ended by before; the exit code names it. None: nothing.

    Raises:
        SystemExit: It was.
    """
    if _watch is not None and threading.current_thread() is threading.main_thread():
        _watch.end_if_signalled(first)


_forking = threading.local()


def _hold_signals() -> None:
    """Let signals wait while this thread forks: Python drops those that reach a child before it is one."""
    _forking.mask = None if _watch is None else signal.pthread_sigmask(signal.SIG_BLOCK, (*WATCHED, *FORWARDED))


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
