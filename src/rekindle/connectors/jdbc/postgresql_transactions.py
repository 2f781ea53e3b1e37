"""Prepared transactions of PostgreSQL, and the connections that make them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from enum import Enum

from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError, database_message
from rekindle.connectors.jdbc.postgresql_dialect import psycopg
from rekindle.exceptions import ConfigurationError

log = logging.getLogger(__name__)

_END_SECONDS = 30.0
_POLL_SECONDS = 0.01


class Outcome(Enum):
    """What has become of a transaction that is not prepared any more."""

    COMMITTED = "it is committed"
    ABORTED = "it was rolled back"
    UNKNOWN = "it is so old that PostgreSQL has forgotten"
    OTHER_SERVER = "it was prepared on another server"


class PreparedTransactions:
    """Look at, commit and roll back prepared transactions, on a connection without open transaction."""

    def __init__(self, database: Database, sleep: Callable[[float], None] = time.sleep) -> None:
        self._database = database
        self._sleep = sleep

    def require(self) -> None:
        """Check that the server prepares transactions.

        Raises:
            ConfigurationError: It does not.
        """
        settings = dict(
            self._database.query(
                "SELECT name, setting FROM pg_settings "
                "WHERE name IN ('max_prepared_transactions', 'server_version_num')"
            )
        )
        if int(settings["server_version_num"]) < 130_000:
            raise ConfigurationError(f"{self._database.url}: exactly once needs PostgreSQL 13 or newer")
        if int(settings["max_prepared_transactions"]) == 0:
            raise ConfigurationError(
                f"{self._database.url} does not prepare transactions: set max_prepared_transactions in postgresql.conf "
                "to at least twice the parallelism of all exactly-once sinks, and restart the server; or let the sink "
                "keep rows in the checkpoint with JdbcExactlyOnceOptions.builder().with_rows_in_checkpoint()"
            )

    def server(self) -> str:
        """Return what identifies the server's data, and that of its standbys."""
        return str(self._database.query("SELECT system_identifier FROM pg_control_system()")[0][0])

    def commit(self, name: str) -> bool:
        """Commit a prepared transaction; return False if there is none."""
        return self._end("COMMIT PREPARED", name)

    def roll_back(self, name: str) -> bool:
        """Roll a prepared transaction back; return False if there is none."""
        return self._end("ROLLBACK PREPARED", name)

    def _end(self, command: str, name: str) -> bool:
        try:
            self._database.query(f"{command} '{name}'")
        except psycopg().errors.UndefinedObject:
            return False
        return True

    def outcome(self, server: str, transaction_id: str) -> Outcome:
        """Return what has become of a transaction that is not prepared any more.

        PostgreSQL keeps the outcome of each transaction in its commit log, until the rows of its time are frozen.

        Args:
            server: What :meth:`server` returned when it was prepared.
            transaction_id: Its 64-bit id.
        """
        if server != self.server():
            return Outcome.OTHER_SERVER
        until = time.monotonic() + _END_SECONDS
        while True:
            try:
                [(status,)] = self._database.query("SELECT pg_xact_status(?::xid8)", [transaction_id])
            except psycopg().errors.InvalidParameterValue:  # it is yet to come: the server was set back in time
                return Outcome.ABORTED
            match status:
                case "committed":
                    return Outcome.COMMITTED
                case "aborted":
                    return Outcome.ABORTED
                case None:
                    return Outcome.UNKNOWN
            if time.monotonic() > until:
                raise JdbcSinkError(
                    f"transaction {transaction_id} of {self._database.url} is neither prepared nor ended after "
                    f"{_END_SECONDS:.0f} s: look for it in pg_stat_activity"
                )
            self._sleep(_POLL_SECONDS)  # somebody commits it just now

    def names(self, prefix: str) -> list[str]:
        """Return the names of prepared transactions of this database that begin with a prefix."""
        rows = self._database.query(
            "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, ?)", [prefix]
        )
        return [name for (name,) in rows]

    def end_connections(self, prefix: str, is_old: Callable[[str], bool]) -> None:
        """End connections with certain names, and wait until they are gone with their open transactions.

        Args:
            prefix: What the names begin with.
            is_old: Returns whether a connection with a name is to end.

        Raises:
            JdbcSinkError: One is still there after 30 seconds.
        """
        until = time.monotonic() + _END_SECONDS
        while True:
            rows = self._database.query(
                "SELECT pid, application_name FROM pg_stat_activity "
                "WHERE datname = current_database() AND starts_with(application_name, ?)",
                [prefix],
            )
            old = [pid for pid, name in rows if is_old(name)]
            if not old:
                return
            if time.monotonic() > until:
                raise JdbcSinkError(
                    f"connections {old} of an earlier attempt are still open on {self._database.url} after "
                    f"{_END_SECONDS:.0f} s: end them with pg_terminate_backend"
                )
            for pid in old:
                try:
                    self._database.query("SELECT pg_terminate_backend(?)", [pid])
                except psycopg().errors.InsufficientPrivilege as error:
                    log.warning("cannot end connection %s of an earlier attempt: %s", pid, database_message(error))
                    return
            self._sleep(_POLL_SECONDS)
