"""Programs that are started again when their driver dies, or loses its Spark.

The next driver takes over the job at its last completed checkpoint, by high availability: where the configuration says
it is on, there; else with a log of its own, which lasts as long as the command.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rekindle.base.clock import Clock
from rekindle.cli.output import messages
from rekindle.cli.program_end import ProgramEnd
from rekindle.config.configuration_files import layered_configuration
from rekindle.config.options import HighAvailabilityOptions
from rekindle.contracts.job.job_status import JobStatus
from rekindle.program.run_report import JobReport
from rekindle.runtime.master.restarts.restart_strategies import GiveUp, driver_restarts


@contextmanager
def taken_over(properties: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Return the settings with which drivers of a program take over from each other."""
    mode = HighAvailabilityOptions.HA_MODE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program itself warns
        configured = layered_configuration(properties).get(mode) != "NONE"
    if configured:
        yield dict(properties)
        return
    with tempfile.TemporaryDirectory(prefix="rekindle-run-") as directory:
        yield {**properties, mode.key: "filesystem", HighAvailabilityOptions.HA_STORAGE_PATH.key: directory}


def wait_for_restart(seconds: float) -> None:
    """Wait; a request to end ends the command as it would end the program, unless that signal is ignored."""
    before = {
        number: signal.signal(number, lambda number, frame: sys.exit(128 + number))
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup has it
    }
    try:
        time.sleep(seconds)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_restarting(
    name: str, run: Callable[[], ProgramEnd], clock: Clock, wait: Callable[[float], None] = wait_for_restart
) -> ProgramEnd:
    """Run a program until its driver does not die, or has died too often.

    Args:
        name: The name of the program.
        run: Runs it once.
        clock: Tells the time.
        wait: Waits this many seconds.
    """
    restarts = driver_restarts(random.random)
    while True:
        end = run()
        if not end.driver_lost:
            return end
        what = "" if end.error is not None else f"{end.problem(name)}\n"  # an error the program has shown itself
        obstacle = next(filter(None, map(_obstacle, end.jobs)), None)
        if obstacle is not None:
            _say(f"{what}{name} is not restarted: {obstacle}")
            return end
        decision = restarts.on_failure(clock.now())
        if isinstance(decision, GiveUp):
            _say(f"{what}{name} is not restarted: it was restarted too often in a row")
            return end
        seconds = decision.delay_ms / 1000
        _say(f"{what}{name} is restarted in {seconds:.0f} s")
        wait(seconds)


def _obstacle(job: JobReport) -> str | None:
    """Return why a program cannot be started again without doing something twice, if a job of it is the reason."""
    if JobStatus[job.status].is_globally_terminal_state():
        return f"job {job.job_name!r} is {job.status}, and would run again"
    if not job.recoverable:
        return f"job {job.job_name!r} would start from scratch, because the program switches high availability off"
    return None


def _say(text: str) -> None:
    messages().print(text, style="yellow", markup=False)
