"""Exactly once on PostgreSQL: rows wait in the database, in a transaction that is prepared at the barrier.

A prepared transaction survives its connection and crashes of the server. It is committed when its checkpoint is
complete, or rolled back by the writer of the next attempt if its checkpoint never was.

A writer opens the connection that writes once. If that breaks, or the writer of a later attempt ends it, the writer can
prepare nothing any more: so nobody of an earlier attempt can, once :meth:`abort_leftovers` has looked.
"""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from rekindle.connectors.jdbc.commit_table import CommitTable
from rekindle.connectors.jdbc.connection_options import JdbcConnectionOptions
from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError, database_message
from rekindle.connectors.jdbc.exactly_once_options import JdbcExactlyOnceOptions
from rekindle.connectors.jdbc.execution_options import JdbcExecutionOptions
from rekindle.connectors.jdbc.postgresql_transactions import Outcome, PreparedTransactions
from rekindle.connectors.jdbc.row_buffer import RowBuffer
from rekindle.connectors.jdbc.statements import BoundStatements
from rekindle.connectors.jdbc.transaction_names import WriterName, parse_name
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.exceptions import OutputLostError, StateRestoreError

log = logging.getLogger(__name__)

_LOCK_NOT_AVAILABLE = "55P03"


class TransactionCommittable(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-jdbc-transaction-1"):
    """Keep the name of a prepared transaction in the checkpoint, and how to find out what has become of it."""

    name: str
    transaction_id: str
    server: str


class PreparedTransactionWriter(SinkWriter):
    """Write rows in a transaction for each checkpoint."""

    def __init__(
        self,
        connection_options: JdbcConnectionOptions,
        statements: BoundStatements,
        execution_options: JdbcExecutionOptions,
        options: JdbcExactlyOnceOptions,
        context: SinkWriterContext,
    ) -> None:
        """Connect.

        Raises:
            ConfigurationError: The server does not prepare transactions.
            JdbcSinkError: It cannot be reached.
        """
        self._parallelism = context.parallelism
        self._statements = statements
        self._attempts = options.max_commit_attempts
        self._lock_timeout = options.lock_timeout_sec
        self._name = WriterName.new(context.lineage, context.subtask)
        self._buffer = RowBuffer(statements, execution_options.get_batch_size())
        self._in_transaction = False
        self._writing = Database(connection_options, str(self._name), self._limit_waits)
        self._control = Database(connection_options, str(self._name), _autocommit)
        self._looking = Database(connection_options)
        self._transactions = PreparedTransactions(self._control)
        self._kept = CommitTable(self._control, options.commit_table)
        attempts = execution_options.get_max_retries() + 1
        try:
            self._control.transaction(self._transactions.require, attempts, "connect to")
            self._server = self._control.transaction(self._transactions.server, attempts, "connect to")
            self._writing.transaction(lambda: self._writing.query("SELECT 1"), attempts, "connect to")
        except BaseException:
            self.close()
            raise

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Write rows in the open transaction, a batch at a time."""
        for _ in self._buffer.fill(values):
            self._flush()

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Prepare the open transaction; its name is the committable. Nothing if nothing was written."""
        try:
            self._flush()
            if not self._in_transaction:
                return []
            name = self._name.transaction(checkpoint_id)
            try:
                [(transaction_id,)] = self._writing.query("SELECT pg_current_xact_id()::text")
                self._writing.query(f"PREPARE TRANSACTION '{name}'")
            except Exception as error:
                raise JdbcSinkError(
                    f"cannot prepare transaction {name!r} on {self._writing.url}: {database_message(error)}"
                ) from error
        except JdbcSinkError as error:  # the rows are gone with the transaction
            raise OutputLostError(str(error)) from error
        self._in_transaction = False
        return [msgspec.msgpack.encode(TransactionCommittable(name, transaction_id, self._server))]

    def commit(self, committables: list[bytes]) -> None:
        """Commit prepared transactions; those that are committed stay as they are."""
        for committable in map(_decode, committables):

            def commit(committable: TransactionCommittable = committable) -> None:
                if not self._transactions.commit(committable.name):
                    self._require_committed(committable)

            self._control.transaction(commit, self._attempts, f"commit transaction {committable.name!r} on")

    def keep(self, committables: list[bytes]) -> None:
        """Note that a savepoint refers to prepared transactions, so that the next attempt leaves them."""
        self._kept.create()
        names = [_decode(committable).name for committable in committables]

        def keep() -> None:
            for name in names:
                self._kept.add(name)

        self._control.transaction(keep, self._attempts, "keep transactions on")

    def abort_leftovers(self) -> None:
        """End connections of earlier attempts, then roll back what they have prepared and no savepoint refers to."""
        prefix = f"rekindle-{self._name.lineage}-"
        self._control.transaction(
            lambda: self._transactions.end_connections(prefix, self._is_replaced), self._attempts, "look for writers on"
        )
        kept = self._names_kept()

        def roll_back() -> None:
            for name in self._transactions.names(prefix):
                if name not in kept and self._is_replaced(name):
                    self._transactions.roll_back(name)

        self._control.transaction(roll_back, self._attempts, "roll back transactions on")

    def close(self) -> None:
        """Close the connections: the open transaction is rolled back, prepared ones belong to their checkpoints."""
        self._writing.close()
        self._control.close()

    def _flush(self) -> None:
        runs = self._buffer.runs
        if not runs:
            return
        self._in_transaction = True
        try:
            self._writing.execute(self._statements, runs)
        except Exception as error:
            raise JdbcSinkError(self._explain(error)) from error
        self._buffer.clear()

    def _explain(self, error: Exception) -> str:
        message = f"cannot write rows to {self._writing.url}: {database_message(error)}"
        if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            return (
                f"{message} within {self._lock_timeout} s. Rows are locked from the first statement that changes them "
                "until the checkpoint is complete. A statement that changes the same rows again, such as INSERT … ON "
                "CONFLICT DO UPDATE, works without these locks with build_at_least_once, which repeats it after a "
                "failure, or with JdbcExactlyOnceOptions.builder().with_rows_in_checkpoint()"
            )
        if self._writing.dialect.is_transient(error):
            return message
        return f"{message}{self._looking.first_failing(self._statements, self._buffer.runs)}"

    def _require_committed(self, committable: TransactionCommittable) -> None:
        outcome = self._transactions.outcome(committable.server, committable.transaction_id)
        if outcome is Outcome.UNKNOWN:
            log.warning("transaction %r is not prepared, and %s; taken as committed", committable.name, outcome.value)
        elif outcome is not Outcome.COMMITTED:
            raise StateRestoreError(
                f"the checkpoint holds transaction {committable.name!r}, and {self._control.url} has no such prepared "
                f"transaction: {outcome.value}. Its rows are lost. Restore from an older checkpoint, and leave "
                "prepared transactions of running jobs alone"
            )

    def _names_kept(self) -> set[str]:
        """Return the transactions that savepoints refer to, and forget those that have ended."""
        if not self._kept.is_there():
            return set()

        def names() -> set[str]:
            prepared = set(self._transactions.names("rekindle-"))
            kept = self._kept.names()
            for name in kept - prepared:
                if self._is_replaced(name):
                    self._kept.remove(name)
            return kept & prepared

        return self._control.transaction(names, self._attempts, "look for kept transactions on")

    def _is_replaced(self, name: str) -> bool:
        other = parse_name(name)
        return other is not None and self._name.replaces(other, self._parallelism)

    def _limit_waits(self, connection: Any) -> None:
        connection.execute(f"SET lock_timeout = '{self._lock_timeout}s'")
        connection.execute("SET idle_in_transaction_session_timeout = 0")  # it waits for records, and for the barrier
        connection.commit()


def _autocommit(connection: Any) -> None:
    connection.autocommit = True


def _decode(committable: bytes) -> TransactionCommittable:
    try:
        return msgspec.msgpack.decode(committable, type=TransactionCommittable)
    except msgspec.DecodeError as error:
        raise StateRestoreError(
            f"the checkpoint holds a commit that is not of a JdbcSink with prepared transactions ({error}). Let the "
            "sink commit as the one before it did, or give it another uid"
        ) from error
