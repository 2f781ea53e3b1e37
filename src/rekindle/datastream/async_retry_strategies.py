"""The counterpart of ``pyflink.datastream.async_retry_strategies``."""

from __future__ import annotations

from rekindle.contracts.functions.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from rekindle.contracts.functions.async_retry_strategies import AsyncRetryPredicate as AsyncRetryPredicate
from rekindle.contracts.functions.async_retry_strategies import AsyncRetryStrategy as AsyncRetryStrategy

__all__ = [
    "NO_RETRY_STRATEGY",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]
