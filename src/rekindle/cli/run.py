"""``rekindle run``."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from dataclasses import asdict, replace
from typing import Annotated

import typer

from rekindle.base.clock import SteadyClock
from rekindle.cli.detached import DETACHED_REPORT, start_detached
from rekindle.cli.output import Json, console, messages, print_json, warn
from rekindle.cli.paths import absolute, not_empty
from rekindle.cli.program import Program, run_to_end
from rekindle.cli.program_end import ProgramEnd, read_end
from rekindle.cli.properties import Parallelism, Properties, properties_of
from rekindle.cli.restarting import run_restarting, taken_over
from rekindle.config.configuration_environment import command_line_in
from rekindle.config.configuration_files import layered_configuration
from rekindle.config.options import StateRecoveryOptions
from rekindle.program.continuing import RESTARTED
from rekindle.program.program_errors import RUN_REPORT

ProgramPath = Annotated[str, typer.Argument(metavar="PROGRAM", help="A Python file, or with --module a module.")]
ProgramArguments = Annotated[
    list[str] | None, typer.Argument(metavar="ARGS", help="The program's own arguments and options.")
]
IsModule = Annotated[bool, typer.Option("--module", help="PROGRAM is the dotted name of a module, as after python -m.")]
_CLAIM_MODES = ("CLAIM", "NO_CLAIM")


def _claim_mode(value: str | None) -> str | None:
    if value is not None and value.upper() not in _CLAIM_MODES:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(_CLAIM_MODES)}")
    return None if value is None else value.upper()


def _as_in_flink(value: str | None) -> str | None:
    if value is not None:
        raise typer.BadParameter(
            "give the program itself, after all options: rekindle run [OPTIONS] FILE [ARGS]..., "
            "or for a module rekindle run [OPTIONS] --module NAME [ARGS]..."
        )
    return value


def run(
    program: ProgramPath,
    arguments: ProgramArguments = None,
    from_savepoint: Annotated[
        str | None,
        typer.Option(
            "--from-savepoint",
            "-s",
            metavar="PATH",
            help="Start from this savepoint or checkpoint; from the newest one below, if PATH is a directory above it.",
        ),
    ] = None,
    allow_non_restored_state: Annotated[
        bool,
        typer.Option(
            "--allow-non-restored-state",
            "-n",
            help="Drop state of the savepoint that no operator of the program claims.",
        ),
    ] = False,
    drop_uncommitted_output: Annotated[
        bool,
        typer.Option(
            "--drop-uncommitted-output",
            help="With -n: drop even output that the savepoint holds for a sink to commit. Its records may be lost.",
        ),
    ] = False,
    claim_mode: Annotated[
        str | None,
        typer.Option(
            "--claim-mode",
            "-cm",
            metavar="MODE",
            callback=_claim_mode,
            help="CLAIM: the job owns what it starts from, and eventually deletes it; NO_CLAIM: it does not.",
        ),
    ] = None,
    parallelism: Parallelism = None,
    detached: Annotated[
        bool, typer.Option("--detached", "-d", help="Return as soon as the job runs, and leave it running.")
    ] = False,
    restart_driver: Annotated[
        bool,
        typer.Option(
            "--restart-driver", help="Restart the program when its process, or its Spark, dies: the job continues."
        ),
    ] = False,
    log: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where the output of a detached program goes.")
    ] = None,
    properties: Properties = None,
    module: IsModule = False,
    as_in_flink: Annotated[
        str | None,
        typer.Option("-py", "--python", "-pym", "--py-module", hidden=True, callback=_as_in_flink),
    ] = None,
    json: Json = False,
) -> None:
    """Run a program, as python PROGRAM ARGS would, with the settings of this command line.

    Options of this command stand before PROGRAM, all that follows is the
    program's own. Settings that the program makes itself win. Exit code: that of
    the program; 1 if its last job failed or it ran none, 5 if that was cancelled,
    6 if Spark died under it, 2 if a setting cannot work, 3 if there is nothing to
    start from at -s.

    \b
    Examples:
      rekindle run orders.py --day monday
      rekindle run -d -s /data/savepoints/savepoint-5f1c2b-0a1b2c3d4e5f orders.py
      rekindle run -p 4 -D execution.checkpointing.interval=10s orders.py
    """
    restore_path = None if from_savepoint is None else absolute(not_empty(from_savepoint, "after -s"))
    settings = properties_of(
        properties, parallelism, restore_path, allow_non_restored_state, drop_uncommitted_output, claim_mode
    )
    started = Program(program, tuple(arguments or ()), module, settings)
    _warn_of_misplaced(started, restore_path)
    _warn_of_another_path(restore_path)
    if detached:
        job = start_detached(started, log, restart_driver)
        if json:
            print_json(asdict(job))
        else:
            out = console()
            out.print(f"Job has been submitted with JobID {job.job_id}", markup=False)
            out.print(f"It runs in process {job.pid}; its log is {job.log}", markup=False)
            if job.dashboard is not None:
                out.print(f"Its dashboard is at {job.dashboard}", markup=False, soft_wrap=True)
        return
    if log is not None:
        raise typer.BadParameter("only the output of a detached program (-d) goes to a file", param_hint="--log")
    if restart_driver:
        also = os.environ.pop(DETACHED_REPORT, None)  # the command that started this one waits for the first job
        if also is not None:
            settings = command_line_in(os.environ).to_dict()  # that command's
        with taken_over(settings) as extended:
            started = replace(started, properties=extended)
            ends_with_this = extended != settings
            end = run_restarting(
                program, lambda: _run_in_foreground(started, json, also, ends_with_this), SteadyClock()
            )
    else:
        end = _run_in_foreground(started, json)
    problem = end.problem(program)
    if json:
        print_json({"jobs": [asdict(job) for job in end.jobs], "error": problem, "exit_code": end.exit_code})
    if problem is not None and end.error is None:  # an error of Rekindle's the program has shown itself
        messages().print(f"error: {problem}", style="red", markup=False)
    raise typer.Exit(end.exit_code)


def _run_in_foreground(
    program: Program, quiet: bool, also: str | None = None, log_ends_with_this: bool = False
) -> ProgramEnd:
    with tempfile.NamedTemporaryFile(prefix="rekindle-run-") as report:
        reports = report.name if also is None else f"{report.name}{os.pathsep}{also}"
        environment = program.environment(**{RUN_REPORT: reports, RESTARTED: "1" if log_ends_with_this else ""})
        code = run_to_end(program.command(), environment, sys.stderr if quiet else None)
        return read_end(code, report.name)


def _warn_of_another_path(restore_path: str | None) -> None:
    """Say that the file or the environment names another place to start from, which does not hold."""
    if restore_path is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program warns of the same keys
        other = layered_configuration().get(StateRecoveryOptions.SAVEPOINT_PATH)
    if other not in (None, restore_path):
        key = StateRecoveryOptions.SAVEPOINT_PATH.key
        warn(f"-s {restore_path} takes precedence over {key}: {other} of the configuration")


def _warn_of_misplaced(program: Program, restore_path: str | None) -> None:
    """Say that a savepoint named after the program is nothing to this command: the job begins anew."""
    if restore_path is None and "-s" in program.arguments:
        warn(
            f"-s comes after {program.name}, so it is an argument of the program: the job does not start from a "
            "savepoint. Put -s before the program"
        )
