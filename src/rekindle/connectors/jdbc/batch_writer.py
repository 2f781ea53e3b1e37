"""At least once: rows are written in batches as they come, and all of them before a checkpoint."""

from __future__ import annotations

from typing import Any

from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError
from rekindle.connectors.jdbc.execution_options import JdbcExecutionOptions
from rekindle.connectors.jdbc.row_buffer import RowBuffer
from rekindle.connectors.jdbc.statements import BoundStatements
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext


class BatchWriter(SinkWriter):
    """Write batches, each in a transaction; what came after the last checkpoint is written again after a failure."""

    def __init__(
        self,
        database: Database,
        statements: BoundStatements,
        options: JdbcExecutionOptions,
        context: SinkWriterContext,
    ) -> None:
        self._database = database
        self._statements = statements
        self._attempts = options.get_max_retries() + 1
        self._interval = options.get_batch_interval_ms()
        self._clock = context.clock
        self._last_flush = self._clock.now()
        self._buffer = RowBuffer(statements, options.get_batch_size())

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Add rows to the batch, and write the batches that are full or have waited long enough."""
        for _ in self._buffer.fill(values):
            self._flush()
        if self._interval and self._clock.now() - self._last_flush >= self._interval:
            self._flush()

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Write what is left of the batch: the checkpoint says that these records are done."""
        self._flush()
        return []

    def commit(self, committables: list[bytes]) -> None:
        """Do nothing: everything is visible already."""

    def abort_leftovers(self) -> None:
        """Do nothing: nothing is invisible."""

    def close(self) -> None:
        """Close the connection; rows that are not written are those that come again."""
        self._database.close()

    def _flush(self) -> None:
        """Write the batch; if that fails it is still there, for the next call."""
        self._last_flush = self._clock.now()
        runs = self._buffer.runs
        if not runs:
            return
        try:
            self._database.transaction(
                lambda: self._database.execute(self._statements, runs), self._attempts, "write rows to"
            )
        except JdbcSinkError as error:
            cause = error.__cause__
            if isinstance(cause, Exception) and self._database.dialect.is_transient(cause):
                raise
            raise JdbcSinkError(f"{error}{self._database.first_failing(self._statements, runs)}") from error
        self._buffer.clear()
