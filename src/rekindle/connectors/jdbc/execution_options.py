"""How a database sink batches rows, and repeats what failed."""

from __future__ import annotations

from rekindle.exceptions import ConfigurationError

__all__ = ["JdbcExecutionOptions"]


class JdbcExecutionOptions:
    """How a sink batches rows and repeats what failed."""

    def __init__(self, batch_interval_ms: int = 0, batch_size: int = 5000, max_retries: int = 3) -> None:
        """Hold the options; programs use :meth:`builder`.

        Raises:
            ConfigurationError: A number is too small.
        """
        self._batch_interval_ms = at_least(0, batch_interval_ms, "batch interval")
        self._batch_size = at_least(1, batch_size, "batch size")
        self._max_retries = at_least(0, max_retries, "number of retries")

    def get_batch_interval_ms(self) -> int:
        """Return how long a row may wait for its batch to fill up; 0: until the next checkpoint."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """Return the number of rows in a batch."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """Return how often something that failed is tried again."""
        return self._max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """Return the defaults: 5000 rows a batch, no interval, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begin with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Build :class:`JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._interval_ms, self._size, self._max_retries = 0, 5000, 3

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Set the number of rows in a batch; 5000 by default."""
            self._size = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Set how long rows may wait for their batch to fill up; checked when records arrive."""
            self._interval_ms = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Set how often something that failed is tried again; 3 by default."""
            self._max_retries = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """Build the options."""
            return JdbcExecutionOptions(self._interval_ms, self._size, self._max_retries)


def at_least(least: int, number: int, what: str) -> int:
    """Return a number of a database sink's settings.

    Raises:
        ConfigurationError: It is too small, or not a number.
    """
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise ConfigurationError(f"the {what} of a database sink is {number!r}: it has to be {least} or more")
    return number
