"""How an error in a slot is described to people: operator, subtask, and the user's own part of the traceback."""

from __future__ import annotations

import os
import pickle
import re
import struct
import sysconfig
import traceback
from pathlib import Path

import msgspec

from rekindle.config.secrets import without_secrets
from rekindle.exceptions import (
    CheckpointCorruptError,
    RekindleError,
    SerializationError,
    StateRestoreError,
    UserCodeError,
    kind_name,
    kind_named,
)
from rekindle.graph.job_graph import JobNode
from rekindle.graph.vertex_ids import given_uid
from rekindle.runtime.slot.failed_record import FailedRecord, digest, failed_record
from rekindle.runtime.slot.short_text import cut
from rekindle.runtime.wire.messages import SlotFailed

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
_OPERATORS = os.path.join(_PACKAGE, "runtime", "operators") + os.sep
_OWN_ERROR = re.compile(r"\Arekindle\.exceptions\.\w+: ")
_NO_EXIT = ": a function cannot end its process; raise an error that says what is wrong, or cancel the job"
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

# In characters, and in errors that led to one another.
_NAME = 500
_SUMMARY = 2_000
_TRACEBACK = 20_000
_CAUSES = 20
_MESSAGE = 10_000
_FRAMES = 100


class OperatorError(Exception):
    """Wrap whatever an operator raised, ``sys.exit()`` included; ``__cause__`` is that.

    Attributes:
        node: The operator.
        record: What it was at, if that is known.
    """

    def __init__(self, node: JobNode, record: FailedRecord | None = None) -> None:
        super().__init__(node.name)
        self.node = node
        self.record = record


class blaming:  # noqa: N801 - reads as a statement
    """Say which operator raised, and at which record. User code runs inside, and no generator waits there."""

    __slots__ = ("_node",)

    def __init__(self, node: JobNode) -> None:
        self._node = node

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, OperatorError):
            raise OperatorError(self._node, failed_record(error)) from error


def describe_failure(error: BaseException, slot: int, show_records: bool = True) -> SlotFailed:
    """Turn an error into the message for the job master. Whatever the error is, the message can be sent, and is short.

    Args:
        error: What was raised.
        slot: The slot.
        show_records: Whether people may see the record at which user code raised.
    """
    operator, uid, record = "", "", None
    if isinstance(error, OperatorError):
        operator, uid, record = error.node.name, given_uid(error.node.uid), error.record
        error = error if error.__cause__ is None else error.__cause__  # which may be falsy
    if isinstance(error, CheckpointCorruptError | StateRestoreError):
        operator, uid, record = "", "", None
    at = "" if record is None else record.digest
    return SlotFailed(
        operator=cut(operator, _NAME),
        subtask=slot,
        summary=_summary(error),
        traceback=user_traceback(error),
        kind=_kind(error),
        uid=cut(uid, _NAME),
        record=record.text if record is not None and show_records else "",
        identity=digest(operator, uid, type(error).__qualname__, *_lines(error), at),
    )


def raised_in(error: BaseException) -> tuple[str, str, tuple[str, ...]]:
    """Return the class of an error, what it says, and the lines in which it was raised, from the outside in."""
    kind = type(error)
    try:
        message = str(error)
    except BaseException as problem:
        message = f"(it cannot be described: that raises {type(problem).__name__})"
    return (
        f"{kind.__module__}.{kind.__qualname__}",
        _shown(message, _MESSAGE),
        tuple(_lines(error)[-_FRAMES:]),
    )


def is_curable(failure: SlotFailed) -> bool:
    """Return whether a restart may cure a failure: those of user code, unless it misuses what Rekindle offers."""
    return not failure.kind or kind_named(failure.kind).curable


def explain(failure: SlotFailed) -> str:
    """Put a failure into words, with the traceback where user code raised it.

    Errors of Rekindle's own go without their class: what they say is enough.
    """
    summary = _OWN_ERROR.sub("", failure.summary)
    if not failure.operator:
        return summary
    return str(
        UserCodeError(
            failure.operator, failure.subtask, summary, failure.traceback, failure.uid, failure.record, failure.identity
        )
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
    try:
        text = "".join(traceback.format_exception_only(error)).strip()
        if isinstance(error, SystemExit):
            text += _NO_EXIT
        elif _is_no_iterable(error):
            text += _NO_RESULTS
    except BaseException as problem:
        text = f"{type(error).__name__}, which cannot be described: that raises {type(problem).__name__}"
    return _shown(text, _SUMMARY)


def _is_no_iterable(error: BaseException) -> bool:
    """Return whether an operator could not walk through what a function had returned."""
    if not isinstance(error, TypeError) or not str(error).endswith("object is not iterable"):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.abspath(frames[-1].filename).startswith(_OPERATORS)


def user_traceback(error: BaseException) -> str:
    """Format the traceback without Rekindle's own frames, unless there are no others; cut what is too long."""
    try:
        _shorten_chain(error)
        formatted = traceback.TracebackException.from_exception(error)
        user = [frame for frame in formatted.stack if not os.path.abspath(frame.filename).startswith(_PACKAGE)]
        if user:
            formatted.stack = traceback.StackSummary.from_list(user)
        lines = "".join(formatted.format()).split("\n")
    except BaseException as problem:
        lines = [f"(the traceback cannot be shown: that raises {type(problem).__name__})\n"]
    return _shown("\n".join(cut(line, _SUMMARY) for line in lines), _TRACEBACK)


def _lines(error: BaseException) -> list[str]:
    """Name the lines in which an error was raised, the user's own if there are any."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    user = [(file, line) for file, line in frames if not os.path.abspath(file).startswith(_PACKAGE)]
    return [f"{file}:{line}" for file, line in user or frames]


def _shown(text: str, limit: int) -> str:
    """Cut a text and hide the secrets in it; of a very long one only the ends are searched, which are left."""
    if len(text) <= 4 * limit:
        return cut(without_secrets(text), limit)
    head, middle, tail = text[: 2 * limit], text[2 * limit : -2 * limit], text[-2 * limit :]
    return cut(f"{without_secrets(head)}{middle}{without_secrets(tail)}", limit)


def is_users(file: str) -> bool:
    """Return whether a file is of the user's program: neither Rekindle's, nor Python's, nor that of a library."""
    libraries = {sysconfig.get_paths()[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    path = os.path.abspath(file)
    return not path.startswith((_PACKAGE, *libraries)) and not file.startswith("<frozen")


def _shorten_chain(error: BaseException) -> None:
    """Forget causes of causes beyond a number: a chain may be as long as a program has run."""
    seen: set[int] = set()
    last, each = error, _cause(error)
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        if len(seen) == _CAUSES:
            last = each
        each = _cause(each)
    if len(seen) > _CAUSES:
        last.__cause__ = last.__context__ = None
        last.add_note(f"({len(seen) - _CAUSES:,} errors that led to this one were cut)")


def _cause(error: BaseException) -> BaseException | None:
    if error.__cause__ is not None or error.__suppress_context__:
        return error.__cause__
    return error.__context__
