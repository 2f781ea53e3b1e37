"""``rekindle reproduce``: call a function again with the record at which it raised."""

from __future__ import annotations

import sys
from contextlib import nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rekindle.cli import formats
from rekindle.cli.crashes import at
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, messages, print_json
from rekindle.cli.paths import not_empty

if TYPE_CHECKING:
    from rekindle.checkpoint.crash_records import CrashSummary
    from rekindle.runtime.slot.crash_replay import Reproduction


def reproduce(
    crash: Annotated[
        str, typer.Argument(metavar="CRASH", help="The file of a crash record, on this machine.", show_default=False)
    ],
    pdb: Annotated[bool, typer.Option("--pdb", help="End in the debugger, where the function raised.")] = False,
    json: Json = False,
) -> int:
    """Call a function again with the record at which it raised, in one process.

    Key, state, timers and times are those of the crash. The command succeeds if
    the function raises the same exception: its class, text and line. It runs code
    from the file: open only files that you trust.

    \b
    Examples:
      rekindle reproduce /data/checkpoints/JOB/crashes/CRASH
      rekindle reproduce --pdb CRASH
    """
    from rekindle.checkpoint.crash_records import read_crash
    from rekindle.exceptions import CrashRecordError
    from rekindle.runtime.slot.crash_replay import Outcome
    from rekindle.runtime.slot.crash_replay import reproduce as call_again

    if pdb and json:
        raise CommandError("--pdb talks to people, and --json to programs: give one of them", ExitCode.USAGE)
    summary, contents = read_crash(not_empty(crash, "given as CRASH"))
    if not json:
        _print_summary(summary)
    try:
        # What the function prints is not part of a document.
        with redirect_stdout(sys.stderr) if json else nullcontext():
            result = call_again(summary, contents)
    except CrashRecordError as error:
        raise CommandError(f"{crash}: {error}") from error
    if json:
        print_json(_document(summary, result))
    else:
        _print_result(summary, result)
    if pdb and result.error is not None:
        _debug(result.error)
    return ExitCode.OK if result.outcome is Outcome.SAME else ExitCode.FAILED


def _print_summary(summary: CrashSummary) -> None:
    out = console()
    uid = f" (uid {summary.uid})" if summary.uid else ""
    side = " of the second input" if summary.side else ""
    attempt = summary.attempt + 1  # as the log counts them
    out.print(f"operator {summary.operator!r}{uid}, subtask {summary.subtask}, attempt {attempt}", markup=False)
    out.print(f"at {at(summary)}{side}, {formats.moment(summary.time)}", markup=False)
    for left_out in summary.left_out:
        messages().print(f"warning: not in the record: {left_out}", markup=False, style="yellow")
    if summary.python.split(".")[:2] != sys.version.split(".")[:2]:
        messages().print(f"warning: the job ran on Python {summary.python}", markup=False, style="yellow")


def _print_result(summary: CrashSummary, result: Reproduction) -> None:
    from rekindle.runtime.slot.crash_replay import Outcome
    from rekindle.runtime.slot.failure import user_traceback

    out, same = console(), result.outcome is Outcome.SAME
    if result.error is not None:
        out.print()
        out.print(user_traceback(result.error).rstrip(), markup=False)
        out.print()
    out.print(str(result.outcome), style="green" if same else "red")
    for difference in result.differences:
        out.print(f"  {difference}", markup=False)
    if not same:
        if result.error is None:
            out.print(f"  in the job: {summary.exception}: {summary.message}", markup=False)
        out.print(f"  {_explained(summary)}", markup=False)


def _explained(summary: CrashSummary) -> str:
    """Say why a crash could not be reproduced, as far as that can be known."""
    if summary.left_out:
        return "The record does not hold all that the function had; see the warnings above."
    if summary.state == "after":
        return (
            "The state is from after the function raised, which may have changed it before. When the job fails there "
            "again, it is kept from before; with rekindle.crash-records.copy-state: always, at the first failure."
        )
    return (
        "It depends on something that is not in the record: the time, other systems, or what the function keeps in "
        "attributes of its own."
    )


def _document(summary: CrashSummary, result: Reproduction) -> dict[str, Any]:
    from rekindle.runtime.slot.failure import raised_in, user_traceback

    error = result.error
    kind, message, lines = (None, None, ()) if error is None else raised_in(error)
    return {
        "outcome": result.outcome.name.lower(),
        "differences": list(result.differences),
        "exception": kind,
        "message": message,
        "lines": list(lines),
        "traceback": None if error is None else user_traceback(error),
        "recorded": {"exception": summary.exception, "message": summary.message, "lines": list(summary.lines)},
        "state": str(summary.state),
        "left_out": list(summary.left_out),
    }


def _debug(error: BaseException) -> None:
    """Open the debugger at the last line of the user's own."""
    import pdb
    import traceback

    from rekindle.runtime.slot.failure import is_users

    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = max((place for place, frame in enumerate(frames) if is_users(frame.f_code.co_filename)), default=None)
    debugger = pdb.Pdb()
    if last is not None and last < len(frames) - 1:
        debugger.cmdqueue.append(f"up {len(frames) - 1 - last}")
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
