"""Failures: what one of a slot is for people, and which ones no restart can cure, whatever the strategy."""

from __future__ import annotations

from dataclasses import dataclass

from rekindle.exceptions import (
    CheckpointCorruptError,
    JobExecutionError,
    RekindleError,
    StateRestoreError,
    UserCodeError,
    kind_named,
)
from rekindle.runtime.master.cluster import Cluster
from rekindle.runtime.master.restarts.restart_strategies import GiveUp
from rekindle.runtime.slot.failure import is_curable
from rekindle.runtime.wire import messages as m


def slot_error(message: m.SlotFailed) -> RekindleError:
    """Return the error that a slot reported."""
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


# What Python raises where one piece of code does not fit another. On the driver none of it is the user's.
_MISFITS = (AttributeError, ImportError, NameError, NotImplementedError, TypeError)


@dataclass(frozen=True, slots=True)
class Hopeless(GiveUp):
    """Decide to let the job fail at once. Its checkpoints stay, for the program that is put right."""


def hopeless(failure: BaseException, has_run: bool, cluster: Cluster) -> Hopeless | None:
    """Decide that no restart can cure a failure; None where one may.

    A plan that has worked once is not wrong: an error of planning is hopeless only before the first epoch has ended.

    Args:
        failure: What an attempt has failed by.
        has_run: Whether an epoch of the job has ended, in any attempt.
        cluster: What the job runs on.
    """
    if isinstance(failure, StateRestoreError):
        return Hopeless("the state does not fit the program, and would not after a restart")
    if isinstance(failure, RekindleError) and not failure.curable:
        return Hopeless("a restart would not cure this")
    why = None if has_run else _why_not_planned(_cause(failure), cluster)
    return None if why is None else Hopeless(why)


def _why_not_planned(error: BaseException, cluster: Cluster) -> str | None:
    if isinstance(error, _MISFITS) and not isinstance(error, RekindleError):
        return (
            f"Rekindle and {cluster.name} do not fit together, or this is a bug of Rekindle's; "
            "a restart would not cure it"
        )
    return cluster.refusal(error)


def _cause(error: BaseException) -> BaseException:
    """Return what an error of the cluster was before it was made readable."""
    return error.__cause__ if isinstance(error, JobExecutionError) and error.__cause__ is not None else error
