"""Starts the REST interface for the jobs of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rekindle.rest.server import RestServer
from rekindle.rest.settings import RestSettings
from rekindle.runtime.master.running_jobs import RunningJobs

if TYPE_CHECKING:
    from rekindle.rest.api import RestApi


def rest_interface(
    settings: RestSettings, tell: Callable[[str], None] | None = None
) -> Callable[[RunningJobs], RestServer] | None:
    """Return what starts the server over some jobs; None if there is to be no server.

    Args:
        settings: Where to listen, and who may ask.
        tell: Is told the address to open in a browser, once, when the server listens.
    """

    def serve(jobs: RunningJobs) -> RestServer:
        def make_api() -> RestApi:
            from rekindle.rest.api import RestApi  # in the server's thread: the program need not wait for it

            return RestApi(jobs)

        server = RestServer(settings, make_api, tell)
        server.start()
        return server

    return serve if settings.enabled else None
