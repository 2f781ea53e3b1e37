"""How queryable state is served, and whether a program that has some can run at all."""

from __future__ import annotations

from collections.abc import Iterator

from rekindle.base.loopback import is_loopback
from rekindle.config.configuration import Configuration
from rekindle.config.options import QueryableStateOptions as Options
from rekindle.contracts.state import StateDescriptor
from rekindle.exceptions import ConfigurationError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.runtime.queries.settings import QuerySettings
from rekindle.runtime.queries.user_token import user_token
from rekindle.runtime.slot.queries.slot_queries import name_used_twice, queries_are_off


def settle_queries(configuration: Configuration) -> QuerySettings | None:
    """Read the settings of queryable state; None: it is off.

    Raises:
        ConfigurationError: Proxies would listen to everybody, or there is no place for their token.
    """
    if not configuration.get(Options.ENABLE):
        return None
    bind_address, token = configuration.get(Options.BIND_ADDRESS), configuration.get(Options.TOKEN) or ""
    if not token and not is_loopback(bind_address):
        raise ConfigurationError(
            f"{Options.BIND_ADDRESS.key} is {bind_address!r}, where everybody could read the state of the "
            f"job: set {Options.TOKEN.key} to what clients have to show, or listen on 127.0.0.1"
        )
    return QuerySettings(
        bind_address=bind_address,
        token=token or user_token(),
        server_ports=configuration.get(Options.SERVER_PORTS),
        proxy_ports=configuration.get(Options.PROXY_PORTS),
        server_network_threads=configuration.get(Options.SERVER_NETWORK_THREADS),
        server_query_threads=configuration.get(Options.SERVER_QUERY_THREADS),
        proxy_network_threads=configuration.get(Options.PROXY_NETWORK_THREADS),
        proxy_query_threads=configuration.get(Options.PROXY_QUERY_THREADS),
    )


def check_queryable_states(graph: JobGraph, enabled: bool) -> None:
    """Refuse a program whose queryable states cannot be served, as far as that can be known before it runs.

    Descriptors that functions make only in ``open()`` are known only there: the slot refuses them.

    Raises:
        InvalidProgramError: Queryable state is off, or a name is used twice.
    """
    known: dict[str, tuple[str, tuple[str, str]]] = {}
    for node in graph.nodes:
        for descriptor in _descriptors(node):
            name, place = descriptor.get_queryable_state_name(), (node.name, descriptor.get_name())
            assert name is not None
            if not enabled:
                raise queries_are_off(name, place)
            if known.setdefault(name, (node.uid, place)) != (node.uid, place):
                raise name_used_twice(name, known[name][1], place)


def _descriptors(node: JobNode) -> Iterator[StateDescriptor]:
    """Return the queryable descriptors that the function of an operator holds."""
    function = getattr(node.transformation, "function", None)
    for held in vars(function).values() if hasattr(function, "__dict__") else ():
        for each in held if isinstance(held, list | tuple) else (held,):
            if isinstance(each, StateDescriptor) and each.is_queryable():
                yield each
