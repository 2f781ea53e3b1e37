"""What a failure of a slot is for people: one error that names the cause."""

from __future__ import annotations

from rekindle.exceptions import (
    CheckpointCorruptError,
    JobExecutionError,
    RekindleError,
    UserCodeError,
    kind_named,
)
from rekindle.runtime.slot.failure import is_curable
from rekindle.runtime.wire import messages as m


def slot_error(message: m.SlotFailed) -> RekindleError:
    """Give the error that a slot reported."""
    curable = is_curable(message)
    if message.operator:
        return UserCodeError(
            message.operator,
            message.subtask,
            message.summary,
            message.traceback,
            message.uid,
            message.record,
            message.identity,
            curable,
        )
    kind = kind_named(message.kind) if message.kind else JobExecutionError
    if kind is CheckpointCorruptError or not curable:
        return kind(message.summary.removeprefix(f"{kind.__module__}.{kind.__qualname__}: "))
    return JobExecutionError(f"slot {message.subtask} failed: {message.summary}\n\n{message.traceback}")
