"""How a database sink shows each row once."""

from __future__ import annotations

import re

from rekindle.connectors.jdbc.execution_options import at_least
from rekindle.exceptions import ConfigurationError

__all__ = ["JdbcExactlyOnceOptions"]

_TABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")


class JdbcExactlyOnceOptions:
    """How an exactly-once sink keeps rows invisible until their checkpoint is complete.

    Attributes:
        max_commit_attempts: How often a commit is tried while the database cannot be reached.
        lock_timeout_sec: How long a statement waits for rows that another transaction has locked.
        rows_in_checkpoint: Keep rows in the checkpoint, instead of in a prepared transaction of the database.
        commit_table: The table in which the sink notes what was committed or is kept for a savepoint.
    """

    def __init__(
        self,
        max_commit_attempts: int = 3,
        lock_timeout_sec: int = 60,
        rows_in_checkpoint: bool = False,
        commit_table: str = "rekindle_commits",
    ) -> None:
        """Hold the options; programs use :meth:`builder`.

        Raises:
            ConfigurationError: A number is too small, or the table's name is not a plain one.
        """
        self.max_commit_attempts = at_least(1, max_commit_attempts, "number of commit attempts")
        self.lock_timeout_sec = at_least(1, lock_timeout_sec, "lock timeout")
        self.rows_in_checkpoint = rows_in_checkpoint
        if not _TABLE.fullmatch(commit_table):
            raise ConfigurationError(
                f"commit table {commit_table!r} of a database sink: write table or schema.table, "
                "in letters, digits and underscores"
            )
        self.commit_table = commit_table

    @staticmethod
    def defaults() -> JdbcExactlyOnceOptions:
        """Return the defaults."""
        return JdbcExactlyOnceOptions()

    @staticmethod
    def builder() -> JdbcExactlyOnceOptions.Builder:
        """Begin with the defaults."""
        return JdbcExactlyOnceOptions.Builder()

    class Builder:
        """Build :class:`JdbcExactlyOnceOptions`."""

        def __init__(self) -> None:
            self._max_commit_attempts, self._lock_timeout_sec = 3, 60
            self._rows_in_checkpoint, self._commit_table = False, "rekindle_commits"

        def with_max_commit_attempts(self, max_commit_attempts: int) -> JdbcExactlyOnceOptions.Builder:
            """Set how often a commit is tried while the database cannot be reached; 3 by default."""
            self._max_commit_attempts = max_commit_attempts
            return self

        def with_lock_timeout_sec(self, seconds: int) -> JdbcExactlyOnceOptions.Builder:
            """Set how long a statement waits for rows that another transaction has locked; 60 by default."""
            self._lock_timeout_sec = seconds
            return self

        def with_rows_in_checkpoint(self, rows_in_checkpoint: bool = True) -> JdbcExactlyOnceOptions.Builder:
            """Keep rows in the checkpoint and write them when it is complete: no locks in between."""
            self._rows_in_checkpoint = rows_in_checkpoint
            return self

        def with_commit_table(self, commit_table: str) -> JdbcExactlyOnceOptions.Builder:
            """Name the table of commits; ``rekindle_commits`` by default."""
            self._commit_table = commit_table
            return self

        def with_transaction_per_connection(self, transaction_per_connection: bool) -> JdbcExactlyOnceOptions.Builder:
            """Accept Flink's setting, which changes nothing: PostgreSQL's prepared transactions need no connection."""
            return self

        def build(self) -> JdbcExactlyOnceOptions:
            """Build the options."""
            return JdbcExactlyOnceOptions(
                self._max_commit_attempts, self._lock_timeout_sec, self._rows_in_checkpoint, self._commit_table
            )
