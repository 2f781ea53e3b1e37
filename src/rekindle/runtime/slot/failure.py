"""How an error in a slot is described to people: operator, subtask, and the user's own part of the traceback."""

from __future__ import annotations

import os
import pickle
import re
import struct
import traceback

import msgspec

import rekindle
from rekindle.exceptions import (
    CheckpointCorruptError,
    RekindleError,
    SerializationError,
    StateRestoreError,
    kind_name,
    kind_named,
)
from rekindle.graph.job_graph import JobNode
from rekindle.graph.vertex_ids import given_uid
from rekindle.runtime.wire.messages import SlotFailed

_PACKAGE = os.path.dirname(os.path.abspath(rekindle.__file__)) + os.sep
_OPERATORS = os.path.join(_PACKAGE, "runtime", "operators") + os.sep
_OWN_ERROR = re.compile(r"\Arekindle\.exceptions\.\w+: ")
# What code raises that refuses a value because of what it is.
_REFUSALS = (
    RekindleError,
    AttributeError,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    msgspec.MsgspecError,
    pickle.PicklingError,
    struct.error,
)
_NO_RESULTS = ": functions that may give any number of results yield them, or return a list or None"


class OperatorError(Exception):
    """Wrap an exception that an operator raised; ``__cause__`` is the exception."""

    def __init__(self, node: JobNode) -> None:
        super().__init__(node.name)
        self.node = node


class blaming:  # noqa: N801 - reads as a statement
    """Say which operator raised."""

    __slots__ = ("_node",)

    def __init__(self, node: JobNode) -> None:
        self._node = node

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, OperatorError):
            raise OperatorError(self._node) from error


def describe_failure(error: BaseException, slot: int) -> SlotFailed:
    """Turn an error into the message for the job master."""
    operator, uid = "", ""
    if isinstance(error, OperatorError):
        operator, uid = error.node.name, given_uid(error.node.uid)
        error = error.__cause__ or error
    if isinstance(error, CheckpointCorruptError | StateRestoreError):
        operator, uid = "", ""
    return SlotFailed(operator, slot, _summary(error), _trimmed_traceback(error), _kind(error), uid)


def is_curable(failure: SlotFailed) -> bool:
    """Tell whether a restart may cure a failure: those of user code, unless it misuses what Rekindle offers."""
    return not failure.kind or kind_named(failure.kind).curable


def explain(failure: SlotFailed) -> str:
    """Put a failure into words, with the traceback where user code raised it.

    Errors of Rekindle's own go without their class: what they say is enough.
    """
    summary = _OWN_ERROR.sub("", failure.summary)
    if not failure.operator:
        return summary
    uid = f" (uid {failure.uid})" if failure.uid else ""
    return (
        f"{summary}\n  in operator {failure.operator!r}{uid}, subtask {failure.subtask}; "
        f"the traceback there was:\n\n{failure.traceback}"
    )


def _kind(error: BaseException) -> str:
    """Name the class of an error of Rekindle's own, by which the job master knows it.

    A value that cannot be written because the program's own code raised on the way is a failure of that code.
    """
    if not isinstance(error, RekindleError):
        return ""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    if isinstance(error, SerializationError) and not isinstance(root, _REFUSALS):
        return ""
    return kind_name(error)


def _summary(error: BaseException) -> str:
    lines = traceback.format_exception_only(error)
    return "".join(lines).strip() + (_NO_RESULTS if _is_no_iterable(error) else "")


def _is_no_iterable(error: BaseException) -> bool:
    """Tell whether an operator could not walk through what a function had returned."""
    if not isinstance(error, TypeError) or not str(error).endswith("object is not iterable"):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.abspath(frames[-1].filename).startswith(_OPERATORS)


def _trimmed_traceback(error: BaseException) -> str:
    """Format the traceback without Rekindle's own frames, unless there are no others."""
    formatted = traceback.TracebackException.from_exception(error)
    user = [frame for frame in formatted.stack if not os.path.abspath(frame.filename).startswith(_PACKAGE)]
    if user:
        formatted.stack = traceback.StackSummary.from_list(user)
    return "".join(formatted.format())
