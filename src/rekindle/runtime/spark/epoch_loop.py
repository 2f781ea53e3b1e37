"""The epochs of a job that reads no stream of Spark's: each is a Spark action, run from a thread of its own."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

from pyspark.sql import SparkSession

from rekindle.runtime.spark.errors import ended_error
from rekindle.runtime.spark.spark_loss import spark_loss

_EPOCH = "streaming.sql.batchId"  # where tasks find the number of their epoch, as in a query of Spark's
_CANCEL_EVERY_SECONDS = 0.1


class EpochLoop:
    """Run epochs as they are asked for, see :class:`rekindle.runtime.master.cluster.EpochDriver`.

    Args:
        session: Where the actions run.
        job_name: The name of the job, for Spark's UI.
        run_epoch: Runs an epoch, given its number. They are counted from 1.
    """

    def __init__(self, session: SparkSession, job_name: str, run_epoch: Callable[[int], None]) -> None:
        self._session = session
        self._context = session.sparkContext
        self._job_name = job_name
        self._run_epoch = run_epoch
        self._group = f"rekindle-{uuid.uuid4().hex}"
        self._change = threading.Condition()
        self._asked = False
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="epochs")
        self._thread.start()

    def tick(self) -> None:
        """Ask for an epoch."""
        with self._change:
            self._asked = True
            self._change.notify_all()

    @property
    def active(self) -> bool:
        """Return whether there may be more epochs: not without Spark, though an idle job might not miss it for long."""
        return self._thread.is_alive() and spark_loss(self._session) is None

    @property
    def error(self) -> BaseException:
        """Return why there will be no more."""
        return ended_error(self._error)

    def stop(self) -> None:
        """Cut off the epoch under way, and wait for it."""
        with self._change:
            self._stopped = True
            self._change.notify_all()
        while self._thread.is_alive():
            with suppress(Exception):  # Spark may be gone
                self._context.cancelJobGroup(self._group)  # again: the epoch may have begun its action just now
            self._thread.join(_CANCEL_EVERY_SECONDS)

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, f"{self._job_name}: epochs", interruptOnCancel=True)
            epoch = 0
            while self._is_asked():
                epoch += 1
                self._context.setLocalProperty(_EPOCH, str(epoch))
                self._run_epoch(epoch)
        except BaseException as error:
            self._error = error

    def _is_asked(self) -> bool:
        """Wait for somebody to ask; tell whether the loop goes on."""
        with self._change:
            self._change.wait_for(lambda: self._asked or self._stopped)
            self._asked = False
            return not self._stopped
