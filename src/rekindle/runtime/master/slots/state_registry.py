"""The queryable states of one attempt: which there are, and where slots answer queries of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from rekindle.exceptions import NoStateOwnerError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.queries import protocol as p
from rekindle.runtime.queries.router import Locations, Router
from rekindle.runtime.slot.queries.slot_queries import key_serializers, name_used_twice
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.state_locations import ServerAddress, StateLocation

log = logging.getLogger(__name__)


class StateRegistry:
    """Gather what slots publish, tell it to all of them, and ask them.

    Args:
        graph: The job's operators.
        secret: What state servers want to know.
        broadcast: Tells all slots something.
    """

    def __init__(self, graph: JobGraph, secret: bytes, broadcast: Callable[[m.StateLocations], None]) -> None:
        self._graph = graph
        self._secret = secret
        self._broadcast = broadcast
        self._lock = threading.Lock()
        self._states: dict[str, StateLocation] = {}
        self._servers: tuple[ServerAddress, ...] = ()
        self._router: Router | None = None
        self._closed = False

    def published(self, location: StateLocation) -> None:
        """Learn that a state can be queried.

        Raises:
            InvalidProgramError: Another state goes by that name.
        """
        with self._lock:
            known = self._states.setdefault(location.name, location)
            new = known is location
            servers = self._servers
        if (known.uid, known.state) != (location.uid, location.state):
            first, second = sorted([(known.operator, known.state), (location.operator, location.state)])
            raise name_used_twice(location.name, first, second)
        if new and servers:
            self._tell()

    def served(self, servers: Sequence[ServerAddress | None]) -> None:
        """Learn where slots answer, by their numbers, once all are ready."""
        known = tuple(server for server in servers if server is not None)
        if len(known) < len(servers):
            return  # queryable state is off
        with self._lock:
            self._servers = known
        for slot, server in enumerate(known):
            where = (slot, server.proxy_host, server.proxy_port, server.host, server.server_port)
            log.info("Slot %d: started Queryable State Proxy Server @ %s:%d, Queryable State Server @ %s:%d", *where)
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            order = m.StateLocations(list(self._servers), list(self._states.values()))
            if self._router is not None:
                self._router.locate(self._locations())
        self._broadcast(order)

    def states(self) -> list[StateLocation]:
        """Return the states that can be queried, by name."""
        with self._lock:
            return sorted(self._states.values(), key=lambda state: state.name)

    def proxies(self) -> list[tuple[str, int]]:
        """Return where clients can ask, by slot."""
        with self._lock:
            return [(server.proxy_host, server.proxy_port) for server in self._servers]

    def ask(self, query: p.Query) -> Future[p.Answer]:
        """Query states.

        Raises:
            QueryableStateError: It cannot be asked.
        """
        answer: Future[p.Answer] = Future()
        self._routes().route(query, answer.set_result)
        return answer

    def close(self) -> None:
        """Ask nobody any more."""
        with self._lock:
            self._closed = True
            router, self._router = self._router, None
        if router is not None:
            router.close()

    def _routes(self) -> Router:
        with self._lock:
            if self._closed or not self._servers:
                raise NoStateOwnerError("the job is starting, restarting or ending: its states have no owners")
            if self._router is None:
                self._router = Router(self._secret, key_serializers(self._graph))
                self._router.locate(self._locations())
            return self._router

    def _locations(self) -> Locations:
        return Locations(self._servers, dict(self._states))
