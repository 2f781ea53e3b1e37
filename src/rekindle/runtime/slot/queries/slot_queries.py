"""All that a slot has for queries of its state: reads, a state server, and a proxy for clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph
from rekindle.metrics import MetricGroup
from rekindle.runtime.queries.client_proxy import ClientProxy
from rekindle.runtime.queries.query_metrics import QueryMetrics
from rekindle.runtime.queries.query_port import QueryPort, listening_socket
from rekindle.runtime.queries.router import Locations, Router
from rekindle.runtime.queries.settings import QuerySettings
from rekindle.runtime.slot.queries.checkpointed_reads import CheckpointedReads
from rekindle.runtime.slot.queries.live_reads import LiveReads
from rekindle.runtime.slot.queries.state_server import ServedState, StateServer
from rekindle.runtime.wire import messages as m
from rekindle.runtime.wire.state_locations import ServerAddress, StateLocation
from rekindle.serialization.encodings.pickle_serializer import PickleSerializer
from rekindle.serialization.serializer_of import serializer_of
from rekindle.state.queryable_state import QueryableState
from rekindle.types.type_serializer import TypeSerializer


class SlotQueries:
    """Answer queries in one slot.

    Attributes:
        reads: What is to be read between two chunks.
        checkpoints: Reads out of the last completed checkpoint.

    Args:
        job_id: The job.
        graph: Its operators.
        slot: The slot.
        settings: How queries are served.
        reads: Reads between two chunks.
        checkpoints: Reads out of the last completed checkpoint.
        metrics: Where metrics are listed.
        send: Tells the job master something.
    """

    def __init__(
        self,
        job_id: str,
        graph: JobGraph,
        slot: int,
        settings: QuerySettings,
        reads: LiveReads,
        checkpoints: CheckpointedReads,
        metrics: MetricGroup,
        send: Callable[[m.ToMaster], None],
    ) -> None:
        self.reads = reads
        self.checkpoints = checkpoints
        self._slot = slot
        self._settings = settings
        self._send = send
        self._published: dict[str, QueryableState] = {}
        self._parallelism = {node.uid: node.parallelism for node in graph.nodes}
        self._server = StateServer(job_id, reads, checkpoints, QueryMetrics(metrics.add_group("stateServer")))
        self._router = Router(settings.secret, key_serializers(graph), slot, self._server.handle)
        self._proxy = ClientProxy(job_id, self._router, QueryMetrics(metrics.add_group("proxy")))
        self._ports: list[QueryPort] = []

    def publish(self, state: QueryableState) -> None:
        """Let a state of this slot be queried.

        Raises:
            InvalidProgramError: Another state goes by that name.
        """
        known = self._published.get(state.name)
        if known is not None and (known.uid, known.descriptor.get_name()) != (state.uid, state.descriptor.get_name()):
            raise name_used_twice(
                state.name, (known.operator, known.descriptor.get_name()), (state.operator, state.descriptor.get_name())
            )
        self._published[state.name] = state
        served = ServedState.of(state)
        self._server.serve(served)
        self._send(
            m.StatePublished(
                StateLocation(
                    state.name,
                    state.uid,
                    state.operator,
                    state.descriptor.get_name(),
                    state.kind.name,
                    self._parallelism[state.uid],
                    state.max_parallelism,
                    served.types.key.description,
                    served.types.described,
                )
            )
        )

    def listen(self, host: str | None, proxy_port: int = 0) -> ServerAddress:
        """Begin to listen, and return where.

        Args:
            host: The address by which other slots reach this one; None: all are on this machine.
            proxy_port: The port that clients know; 0: they know none.
        """
        settings, name = self._settings, f"of slot {self._slot}"
        server_host = host or "127.0.0.1"
        server = QueryPort(
            listening_socket(server_host, settings.server_ports),
            settings.secret,
            f"Queryable State Server {name}",
            self._server.handle,
            settings.server_network_threads,
            settings.server_query_threads,
        )
        self._ports.append(server)
        proxy = QueryPort(
            listening_socket(
                settings.bind_address, (proxy_port, *settings.proxy_ports) if proxy_port else settings.proxy_ports
            ),
            settings.token.encode(),
            f"Queryable State Proxy Server {name}",
            self._proxy.handle,
            settings.proxy_network_threads,
            settings.proxy_query_threads,
        )
        self._ports.append(proxy)
        return ServerAddress(server_host, server.port, _reached(settings.bind_address, server_host), proxy.port)

    def locate(self, order: m.StateLocations) -> None:
        """Learn which slots own which states."""
        self._router.locate(Locations(tuple(order.servers), {state.name: state for state in order.states}))

    def close(self) -> None:
        """Answer nobody any more."""
        for port in self._ports:
            port.close()
        self._router.close()
        self._server.close()
        self.reads.close()
        self.checkpoints.close()


def refuse_queries(state: QueryableState) -> None:
    """Refuse to let a state be queried.

    Raises:
        InvalidProgramError: Always.
    """
    raise queries_are_off(state.name, (state.operator, state.descriptor.get_name()))


def key_serializers(graph: JobGraph) -> Callable[[str], TypeSerializer[Any]]:
    """Return what gives the serializer of an operator's keys, given its uid."""
    types = {node.uid: node.transformation.key_type for node in graph.nodes}

    def find(uid: str) -> TypeSerializer[Any]:
        key_type = types.get(uid)
        return PickleSerializer() if key_type is None else serializer_of(key_type)

    return find


def queries_are_off(name: str, place: tuple[str, str]) -> InvalidProgramError:
    """Refuse a queryable state, given by its operator and its own name, in a job without queryable state."""
    return InvalidProgramError(
        f"state {place[1]!r} of operator {place[0]!r} is to be queried as {name!r}, but queryable state is off: set "
        "queryable-state.enable to true, or make the state one that is not queryable"
    )


def name_used_twice(name: str, first: tuple[str, str], second: tuple[str, str]) -> InvalidProgramError:
    """Refuse a name that two states, each given by its operator and its own name, are to be queried by."""
    return InvalidProgramError(
        f"two states of the job are to be queried as {name!r}: state {first[1]!r} of operator {first[0]!r} and state "
        f"{second[1]!r} of operator {second[0]!r}. Give one of them another name"
    )


def _reached(bind_address: str, host: str) -> str:
    """Return the address by which clients reach a proxy."""
    return host if bind_address in ("0.0.0.0", "::") else bind_address
