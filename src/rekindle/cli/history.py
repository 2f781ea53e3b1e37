"""``rekindle history``."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from rekindle.cli.exit_codes import CommandError, ExitCode
from rekindle.cli.output import Json, console, print_json
from rekindle.cli.paths import not_empty


def history(
    directory: Annotated[str, typer.Argument(metavar="DIR", help="The directory of checkpoints of the jobs.")],
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="PORT", min=0, max=65535, help="The port to listen on. Default: any that is free."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Show in a browser what jobs have left behind, also those whose process was killed.

    Serves the pages of the dashboard on this machine, from the records in a
    directory of checkpoints, until Ctrl-C. Nothing is changed.

    \b
    Examples:
      rekindle history /data/checkpoints
      rekindle history s3://bucket/checkpoints --port 8082
    """
    from rekindle.checkpoint.settings.checkpoint_storage import checked_directory
    from rekindle.checkpoint.storage import checkpoint_files
    from rekindle.rest.history_api import HistoryApi
    from rekindle.rest.server import RestServer
    from rekindle.rest.settings import RestSettings, new_token

    files = checkpoint_files(checked_directory(not_empty(directory, "given as DIR"), "directory of checkpoints"))
    api = HistoryApi(files)
    records = api.records()
    if not records:
        raise CommandError(
            f"no job has left a record in {directory}: name the directory that execution.checkpointing.dir named",
            ExitCode.NOT_FOUND,
        )
    out = console()

    def tell(url: str) -> None:
        if json:
            found = {"url": server.url, "dashboard": url, "token": token}
            print_json({**found, "jobs": [record.entry.job_id for record in records]})
            sys.stdout.flush()
            return
        jobs = "1 job" if len(records) == 1 else f"{len(records)} jobs"
        out.print(f"{jobs} in {directory}: {url} (Ctrl-C ends this)", markup=False, highlight=False, soft_wrap=True)
        sys.stdout.flush()

    token = new_token()
    server = RestServer(RestSettings(ports=(port,), token=token, made_up=True), lambda: api, tell, found=False)
    server.start()
    with suppress(KeyboardInterrupt):  # which is how it is meant to end
        server.wait()
    server.stop()
