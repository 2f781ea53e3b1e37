"""The checkpoints that users ask for while a job runs, beside the periodic ones.

A request waits until a checkpoint may begin; what it waits through, a restart for instance, does it no harm. The next
checkpoint that begins serves all that wait. From then on the requests end as that checkpoint ends.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from enum import Enum

from rekindle.exceptions import CheckpointError, ConfigurationError
from rekindle.runtime.master.settings.job_settings import JobSettings


class CheckpointKind(Enum):
    """Say what a checkpoint that a user asks for builds on; the names are Flink's."""

    CONFIGURED = "what the job is configured to build on"
    FULL = "nothing"
    INCREMENTAL = "the one before"


def check_kind(settings: JobSettings, kind: CheckpointKind) -> None:
    """Check that a job can take a checkpoint of a kind.

    Raises:
        ConfigurationError: It cannot.
    """
    name = settings.job_name
    if settings.batch:
        raise ConfigurationError(f"job {name!r} runs as a batch, of which there are no checkpoints")
    if not settings.checkpointing:
        raise ConfigurationError(
            f"job {name!r} takes no checkpoints: set execution.checkpointing.interval, or take a savepoint"
        )
    if kind is CheckpointKind.INCREMENTAL and not settings.backend.incremental:
        raise ConfigurationError(
            f"job {name!r} takes no incremental checkpoints: set execution.checkpointing.incremental, or ask for FULL"
        )


class RequestedCheckpoints:
    """Keep the requests of one job, over all its attempts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Future[int], bool]] = []
        self._begun: dict[int, list[Future[int]]] = {}
        self._over: str | None = None

    def request(self, full: bool = False) -> Future[int]:
        """Ask for a checkpoint; the future has its id when it is complete, or the reason why there is none.

        Args:
            full: Whether it is not to build on an earlier one.
        """
        future: Future[int] = Future()
        with self._lock:
            over = self._over
            if over is None:
                self._waiting.append((future, full))
        if over is not None:
            future.set_exception(_too_late(over))
        return future

    @property
    def waiting(self) -> bool:
        """Return whether there is a request that no checkpoint was begun for."""
        return bool(self._waiting)

    def begin(self, checkpoint_id: int) -> bool:
        """Let a checkpoint that begins serve all that wait; say whether it must not build on an earlier one."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        begun = [(future, full) for future, full in waiting if future.set_running_or_notify_cancel()]
        if begun:
            self._begun[checkpoint_id] = [future for future, _ in begun]
        return any(full for _, full in begun)

    def serves(self, checkpoint_id: int) -> bool:
        """Return whether a checkpoint under way was asked for."""
        return checkpoint_id in self._begun

    def completed(self, checkpoint_id: int) -> None:
        """Tell who asked that a checkpoint is complete."""
        for future in self._begun.pop(checkpoint_id, ()):
            future.set_result(checkpoint_id)

    def failed(self, checkpoint_id: int, reason: str) -> None:
        """Tell who asked why there is no checkpoint."""
        for future in self._begun.pop(checkpoint_id, ()):
            future.set_exception(CheckpointError(reason))

    def job_ended(self, how: str) -> None:
        """Turn away who still waits, and who comes later."""
        with self._lock:
            self._over = how
            waiting, self._waiting = self._waiting, []
        for future, _ in waiting:
            if future.set_running_or_notify_cancel():
                future.set_exception(_too_late(how))
        for checkpoint_id in list(self._begun):
            self.failed(checkpoint_id, f"the job ended ({how}) before the checkpoint was complete")


def _too_late(how: str) -> CheckpointError:
    return CheckpointError(f"no checkpoint was taken: the job had ended ({how}) before one could begin")
