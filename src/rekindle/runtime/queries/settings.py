"""How the queryable state of a job is served, settled before it starts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Hold the settings of the state servers and proxies of a job.

    Attributes:
        bind_address: The address on which proxies listen.
        token: What clients have to know.
        server_ports: Which ports state servers try, in this order, before any free one.
        proxy_ports: Those of proxies.
        server_network_threads: How many threads of a state server read requests; 0: as many as there are slots.
        server_query_threads: How many see to them.
        proxy_network_threads: How many threads of a proxy read requests.
        proxy_query_threads: How many see to them.
        secret: What slots prove to each other.
    """

    bind_address: str = "127.0.0.1"
    token: str = field(default="", repr=False)
    server_ports: tuple[int, ...] = (0,)
    proxy_ports: tuple[int, ...] = (0,)
    server_network_threads: int = 0
    server_query_threads: int = 0
    proxy_network_threads: int = 0
    proxy_query_threads: int = 0
    secret: bytes = field(default=b"", repr=False)

    def for_slots(self, slots: int, secret: bytes) -> QuerySettings:
        """Return the settings of the slots of a job: where no number of threads is set, there are as many as slots.

        Args:
            slots: The number of slots.
            secret: What they prove to each other.
        """
        return replace(
            self,
            server_network_threads=self.server_network_threads or slots,
            server_query_threads=self.server_query_threads or slots,
            proxy_network_threads=self.proxy_network_threads or slots,
            proxy_query_threads=self.proxy_query_threads or slots,
            secret=secret,
        )
