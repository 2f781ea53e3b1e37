"""The asyncio face of QueryableStateClient."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from rekindle.contracts.job.job_id import JobID
from rekindle.contracts.state import State, StateDescriptor
from rekindle.queryable_state.client import QueryableStateClient
from rekindle.queryable_state.client_metrics import ClientMetrics
from rekindle.runtime.queries.protocol import Consistency

__all__ = ["AsyncQueryableStateClient"]


class AsyncQueryableStateClient:
    """Query the state of running jobs from coroutines; see :class:`QueryableStateClient` for the arguments."""

    def __init__(self, remote_hostname: str, remote_port: int, token: str | None = None, timeout: float = 10.0) -> None:
        """Make a client; it connects with its first query."""
        self._client = QueryableStateClient(remote_hostname, remote_port, token, timeout)

    async def get_kv_state(
        self,
        job_id: JobID | str,
        queryable_state_name: str,
        key: Any,
        key_type_info: Any = None,
        state_descriptor: StateDescriptor | None = None,
        consistency: Consistency | str = Consistency.LIVE,
        timeout: float | None = None,
    ) -> State:
        """Look up what a state holds for a key."""
        return await asyncio.wrap_future(
            self._client.get_kv_state(
                job_id, queryable_state_name, key, key_type_info, state_descriptor, consistency, timeout
            )
        )

    async def get_kv_states(
        self,
        job_id: JobID | str,
        queryable_state_name: str,
        keys: Iterable[Any],
        key_type_info: Any = None,
        state_descriptor: StateDescriptor | None = None,
        consistency: Consistency | str = Consistency.LIVE,
        timeout: float | None = None,
    ) -> dict[Any, State]:
        """Look up what a state holds for many keys, in one query."""
        return await asyncio.wrap_future(
            self._client.get_kv_states(
                job_id, queryable_state_name, keys, key_type_info, state_descriptor, consistency, timeout
            )
        )

    def metrics(self) -> ClientMetrics:
        """Return what this client has counted."""
        return self._client.metrics()

    async def shutdown(self) -> None:
        """Hang up, and wait until nothing is left of the client."""
        await asyncio.wrap_future(self._client.shutdown())

    async def __aenter__(self) -> AsyncQueryableStateClient:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.shutdown()
