"""Query the state of running jobs from outside: clients of the proxies that run in their slots."""

from __future__ import annotations

from rekindle.exceptions import (
    ImmutableStateError,
    NoCheckpointError,
    NoStateOwnerError,
    QueryableStateError,
    QueryRefusedError,
    QueryTimeoutError,
    StateServerGoneError,
    UnknownJobError,
    UnknownKeyError,
    UnknownStateNameError,
    WrongStateTypeError,
)
from rekindle.queryable_state.async_client import AsyncQueryableStateClient
from rekindle.queryable_state.client import QueryableStateClient
from rekindle.queryable_state.client_metrics import ClientMetrics
from rekindle.runtime.queries.protocol import Consistency

__all__ = [
    "AsyncQueryableStateClient",
    "ClientMetrics",
    "Consistency",
    "ImmutableStateError",
    "NoCheckpointError",
    "NoStateOwnerError",
    "QueryRefusedError",
    "QueryTimeoutError",
    "QueryableStateClient",
    "QueryableStateError",
    "StateServerGoneError",
    "UnknownJobError",
    "UnknownKeyError",
    "UnknownStateNameError",
    "WrongStateTypeError",
]
