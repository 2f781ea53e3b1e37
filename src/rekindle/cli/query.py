"""``rekindle query``: look up what a running job keeps for a key."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rekindle.cli.connection import Job, JobManager, Token, the_job
from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.tables import print_table
from rekindle.exceptions import NotFoundError, RestError

if TYPE_CHECKING:
    from rekindle.client.remote_job import RemoteJob

_PASSING = (409, 503, 504)  # the job restarts, or has no checkpoint yet


def query(
    job: Job,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The name of the state; none: list those there are.", show_default=False),
    ] = None,
    key: Annotated[
        str | None,
        typer.Argument(metavar="KEY", help="The key. Write a tuple as JSON: [1, 2].", show_default=False),
    ] = None,
    consistency: Annotated[
        str,
        typer.Option(
            metavar="WHICH",
            help="live: what the operator sees now; checkpointed: what the last completed checkpoint holds.",
        ),
    ] = "live",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Print the value again whenever it changes.")] = False,
    interval: Annotated[
        float, typer.Option(metavar="SECONDS", help="With --watch: how often to look.", min=0.05)
    ] = 1.0,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Look up what a running job keeps for a key, in a state that is queryable.

    \b
    Examples:
      rekindle query orders
      rekindle query orders totals ann
      rekindle query orders totals ann --consistency checkpointed --json
      rekindle query orders totals '["ann", 7]' --watch
    """
    if (name is None) != (key is None):
        raise CommandError("give the name of a state and a key, or neither", ExitCode.USAGE)
    remote = the_job(job, jobmanager, token).remote()
    if name is None or key is None:
        _list(remote.queryable_states(), json)
    elif watch:
        _watch(remote, name, key, consistency, interval, json)
    else:
        _show(remote.query_state(name, key, consistency), json)


def _list(found: dict[str, Any], json: bool) -> None:
    if json:
        print_json(found)
    elif not found["enabled"]:
        console().print("Queryable state is off in this job: set queryable-state.enable to true.")
    else:
        columns = ("name", "kind", "key-type", "type", "operator")
        print_table(
            [column.replace("-", " ").upper() for column in columns],
            [[str(state[column]) for column in columns] for state in found["states"]],
        )
        console().print(f"Clients can ask at {', '.join(found['proxies']) or 'no proxy yet'}.")


def _show(found: dict[str, Any], json: bool) -> None:
    if json:
        print_json(found)
    else:
        from json import dumps

        console().print(dumps(found["value"], ensure_ascii=False), markup=False)


def _watch(remote: RemoteJob, name: str, key: str, consistency: str, interval: float, json: bool) -> None:
    """Show a value whenever it changes, until the job ends or somebody presses Ctrl-C."""
    shown: Any = object()
    for look in itertools.count():
        if look:
            time.sleep(interval)
        found: dict[str, Any] = {"name": name, "key": key, "consistency": consistency, "value": None}
        try:
            found = remote.query_state(name, key, consistency)
        except NotFoundError:
            if not any(state["name"] == name for state in remote.queryable_states()["states"]):
                raise
        except RestError as error:
            if error.status not in _PASSING or remote.status().is_terminal_state():
                raise
            continue
        if found["value"] != shown:
            shown = found["value"]
            _show(found, json)
