"""``rekindle checkpoints``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rekindle.cli.checkpoint_views import print_checkpoint, print_overview
from rekindle.cli.connection import Job, JobManager, Token, the_job
from rekindle.cli.output import Json, print_json

if TYPE_CHECKING:
    from rekindle.client.remote_job import RemoteJob


def checkpoints(
    job: Job,
    checkpoint_id: Annotated[
        int | None,
        typer.Argument(metavar="ID", help="Show this checkpoint, with all operators and subtasks.", min=0),
    ] = None,
    jobmanager: JobManager = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Show the checkpoints of a job: how many, how long, how large, which failed and why.

    With --json the documents of the REST interface are printed as they are; that
    of one checkpoint has in `tasks` what is known of the subtasks.

    \b
    Examples:
      rekindle checkpoints orders
      rekindle checkpoints orders 42
      rekindle checkpoints 5f1c --json | jq .latest.completed.external_path
    """
    found = the_job(job, jobmanager, token)
    remote = found.remote()
    if checkpoint_id is None:
        overview = remote.checkpoints()
        if json:
            print_json(overview)
        else:
            print_overview(found.name, found.job_id, overview)
        return
    details = _with_subtasks(remote, remote.checkpoint(checkpoint_id))
    if json:
        print_json(details)
    else:
        names = {vertex["id"]: _named(vertex) for vertex in remote.details().get("vertices", ())}
        print_checkpoint(found.name, found.job_id, details, names)


def _named(vertex: dict[str, Any]) -> str:
    """Name an operator, by its uid as well if the program gave it one."""
    from rekindle.graph.vertex_ids import given_uid

    uid = given_uid(vertex.get("uid") or "")
    return f"{vertex['name']} ({uid})" if uid else str(vertex["name"])


def _with_subtasks(remote: RemoteJob, details: dict[str, Any]) -> dict[str, Any]:
    """Put the documents of the subtasks where the details have a summary of each operator."""
    tasks = {vertex: remote.checkpoint_subtasks(details["id"], vertex) for vertex in details.get("tasks", {})}
    return {**details, "tasks": tasks}
