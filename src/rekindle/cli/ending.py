"""The end of a job, as a command that brought it about sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rekindle.exceptions import RestError, UnreachableError

if TYPE_CHECKING:
    from rekindle.client.remote_job import RemoteJob


def wait_for_end(job: RemoteJob) -> str | None:
    """Wait until a job has ended; give its state, None if its process ended with it before it could be asked."""
    from rekindle.client.polling import poll

    def end() -> str | None:
        status = job.status()
        return status.name if status.is_terminal_state() else None

    try:
        return poll(end)
    except UnreachableError as error:
        if isinstance(error.__cause__, ConnectionError):
            return None
        raise


def retained_checkpoint(job: RemoteJob) -> str | None:
    """Return the path of the last checkpoint that a cancelled job kept; None if it kept none, or cannot be asked."""
    try:
        kept = job.checkpoint_config()["externalization"]
        latest = job.checkpoints()["latest"]["completed"]
    except RestError:
        return None
    if latest is None or latest["discarded"] or not kept["enabled"] or kept["delete_on_cancellation"]:
        return None
    path = str(latest.get("external_path") or "<")
    return None if path.startswith("<") else path  # Flink's "<checkpoint-not-externally-addressable>"
