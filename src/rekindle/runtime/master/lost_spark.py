"""What follows when Spark is gone under a job: the job gets a new one, or ends here as if its driver had died."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from rekindle.exceptions import SparkLostError
from rekindle.graph.job_graph import SparkSource
from rekindle.runtime.master.job_settings import JobSettings
from rekindle.runtime.master.remains import Remains
from rekindle.runtime.restart import GiveUp, Restart, RestartStrategy
from rekindle.runtime.spark.spark_loss import SparkLoss

log = logging.getLogger(__name__)

Renew = Callable[[], tuple[SparkSession, tuple[SparkSource, ...]]]
"""Starts Spark anew, and makes the sources of a job on it."""


@dataclass(frozen=True, slots=True)
class NewSpark:
    """Decide to start Spark anew, and the job with it."""

    delay_ms: int


class LostSpark:
    """Decide what follows each time that Spark is lost.

    With high availability the driver takes over its own job, with a new Spark. It ends if the program has stopped Spark
    itself, or has made the session or DataFrames, which are gone with the JVM: only the program can make them again.

    Args:
        settings: The job's.
        restarts: How often in a row Spark may be lost, and how long to wait before each new one.
        renew: Starts Spark anew; None: the program itself would have to.
    """

    def __init__(self, settings: JobSettings, restarts: RestartStrategy, renew: Renew | None) -> None:
        self._settings = settings
        self._restarts = restarts
        self._renew = renew if settings.high_availability is not None else None

    def decide(self, loss: SparkLoss, now: int) -> NewSpark | GiveUp:
        """Decide whether there is to be a new Spark."""
        if loss.wanted or self._renew is None:
            return GiveUp(loss.what)
        decision = self._restarts.on_failure(now)
        return NewSpark(decision.delay_ms) if isinstance(decision, Restart) else GiveUp(loss.what)

    def renew(
        self, now: Callable[[], int], wait: Callable[[float], bool]
    ) -> tuple[SparkSession, tuple[SparkSource, ...]]:
        """Start Spark anew; as often as it may be lost in a row, if it dies on the way.

        Args:
            now: Tells the time, in milliseconds.
            wait: Waits for so many seconds; tells whether the job was cancelled meanwhile.

        Raises:
            SparkLostError: If that fails.
        """
        assert self._renew is not None
        while True:
            try:
                return self._renew()
            except Exception as error:
                decision = self._restarts.on_failure(now())
                if isinstance(decision, GiveUp) or wait(decision.delay_ms / 1000):
                    raise SparkLostError(
                        f"job {self._settings.job_name!r} is suspended: Spark was lost, and could not be started "
                        f"anew: {error}"
                    ) from error
                log.warning("Spark could not be restarted, and is tried again: %s", error)


def lost_error(loss: SparkLoss, remains: Remains) -> SparkLostError:
    """Put into one error what has died, and how to go on."""
    return SparkLostError(
        f"job {remains.settings.job_name!r} is suspended, because {loss.what}. {_how_to_go_on(remains)}"
    )


def _how_to_go_on(remains: Remains) -> str:
    if remains.settings.high_availability is None:
        return remains.describe()
    start = f"checkpoint {remains.completed[-1].checkpoint_id}" if remains.completed else "its beginning"
    return f"Start the program again: the job goes on from {start} (rekindle run --restart-driver does so by itself)"
