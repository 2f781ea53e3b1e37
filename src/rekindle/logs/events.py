"""The events of jobs as log records: one record each, with the job and the kind of the event as fields of their own."""

from __future__ import annotations

import logging
from typing import Any

from rekindle.base.printable import printable

LOGGER = "rekindle.job"
SHOWN = "shown_elsewhere"
"""The attribute of a record that a view has shown, or keeps, itself: Rekindle's own handler passes it over."""

_log = logging.getLogger(LOGGER)


def log_event(
    level: int, job_name: str, job_id: str | None, event: str, text: str, *, shown: bool = False, **fields: Any
) -> None:
    """Log an event of a job.

    Args:
        level: The level, one of those of ``logging``.
        job_name: The name of the job.
        job_id: Its id; None while it has none.
        event: What kind of event this is.
        text: What happened, for people.
        shown: Whether a view shows it: applications' handlers get it in any case.
        fields: What else programs may want to know. They are attributes of the record, and keys in JSON.
    """
    extra = {"job_name": job_name, "job_id": job_id, "event": event, **fields, SHOWN: shown}
    _log.log(level, "[%s] %s", printable(job_name), printable(text), extra=extra)
