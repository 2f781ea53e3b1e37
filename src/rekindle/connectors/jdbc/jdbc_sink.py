"""The database sink: what a program says about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rekindle.connectors.jdbc.batch_writer import BatchWriter
from rekindle.connectors.jdbc.checkpointed_rows_writer import CheckpointedRowsWriter
from rekindle.connectors.jdbc.connection_options import JdbcConnectionOptions
from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.exactly_once_options import JdbcExactlyOnceOptions
from rekindle.connectors.jdbc.execution_options import JdbcExecutionOptions
from rekindle.connectors.jdbc.prepared_transaction_writer import PreparedTransactionWriter
from rekindle.connectors.jdbc.statements import Parameters, StatementPlan, statement_plan
from rekindle.contracts.connectors import Sink, SinkWriter, SinkWriterContext
from rekindle.contracts.functions import SinkFunction
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.types.typeinfo import RowTypeInfo

__all__ = ["JdbcSink"]


@dataclass(frozen=True, slots=True)
class JdbcSinkSettings:
    """What a program said about a database sink.

    Attributes:
        statements: What to execute.
        connection_options: Where.
        execution_options: In which batches.
        exactly_once_options: How each row is shown once; None for at least once.
    """

    statements: StatementPlan
    connection_options: JdbcConnectionOptions
    execution_options: JdbcExecutionOptions
    exactly_once_options: JdbcExactlyOnceOptions | None


class JdbcSink(SinkFunction, Sink):
    """Execute a statement for each record, for ``stream.sink_to`` or ``stream.add_sink``.

    Example::

        sink = JdbcSink.sink(
            "INSERT INTO visits (person, pages) VALUES (?, ?)",
            Types.ROW([Types.STRING(), Types.INT()]),
            JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            .with_url("jdbc:postgresql://localhost:5432/shop")
            .with_user_name("shop")
            .build(),
        )
        stream.add_sink(sink)
    """

    def __init__(self, settings: JdbcSinkSettings) -> None:
        """Hold the settings; programs call :meth:`sink`, :meth:`exactly_once_sink` or :meth:`builder`."""
        self._settings = settings

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        """Create the writer of one subtask."""
        settings = self._settings
        connection_options, once = settings.connection_options, settings.exactly_once_options
        statements = settings.statements.bind(connection_options._dialect)
        if once is None:
            return BatchWriter(Database(connection_options), statements, settings.execution_options, context)
        if once.rows_in_checkpoint or not connection_options._dialect.prepares_transactions:
            return CheckpointedRowsWriter(Database(connection_options), statements, once, context)
        return PreparedTransactionWriter(connection_options, statements, settings.execution_options, once, context)

    def invoke(self, value: Any, context: SinkFunction.Context) -> NoReturn:
        """Raise: chunks of records go to the writer."""
        raise NotImplementedError("a JdbcSink writes through its writer; give it to add_sink or sink_to")

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that writes each record at least once.

        A record may be written again after a failure, unless the statement does the same when it is repeated.

        Args:
            sql: A statement with a ``?`` for each field: INSERT, UPDATE, an upsert, …
            type_info: The type of the records.
            jdbc_connection_options: Where the database is.
            jdbc_execution_options: Batches and retries.

        Raises:
            ConfigurationError: Statement and type do not fit each other, or the database's types.
        """
        builder = JdbcSink.builder().with_query_statement(sql, type_info)
        if jdbc_execution_options is not None:
            builder.with_execution_options(jdbc_execution_options)
        return builder.build_at_least_once(jdbc_connection_options)

    @staticmethod
    def exactly_once_sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
        jdbc_exactly_once_options: JdbcExactlyOnceOptions | None = None,
    ) -> JdbcSink:
        """Return a sink that shows each record once, when its checkpoint is complete.

        Args:
            sql: A statement with a ``?`` for each field.
            type_info: The type of the records.
            jdbc_connection_options: Where the database is.
            jdbc_execution_options: Batches, and retries of connecting.
            jdbc_exactly_once_options: How rows stay invisible until then.

        Raises:
            ConfigurationError: Statement and type do not fit each other, or the database's types.
        """
        builder = JdbcSink.builder().with_query_statement(sql, type_info)
        if jdbc_execution_options is not None:
            builder.with_execution_options(jdbc_execution_options)
        return builder.build_exactly_once(jdbc_connection_options, jdbc_exactly_once_options)

    @staticmethod
    def builder() -> JdbcSink.Builder:
        """Begin a sink."""
        return JdbcSink.Builder()

    class Builder:
        """Build a :class:`JdbcSink`."""

        def __init__(self) -> None:
            self._query: tuple[str, RowTypeInfo | Callable[[Any], Parameters]] | None = None
            self._delete: tuple[str, Sequence[str]] | None = None
            self._execution_options = JdbcExecutionOptions.defaults()

        def with_query_statement(
            self, query: str, parameters: RowTypeInfo | Callable[[Any], Parameters]
        ) -> JdbcSink.Builder:
            """Set the statement for each record.

            Args:
                query: A statement with a ``?`` for each parameter.
                parameters: The type of the records, whose fields are the parameters; or a function that returns the
                    parameters of a record, as the driver takes them.
            """
            self._query = (query, parameters)
            return self

        def with_delete_statement(self, statement: str, key_fields: Sequence[str]) -> JdbcSink.Builder:
            """Let the sink apply a changelog: delete for ``-D``, the query for ``+I`` and ``+U``, nothing for ``-U``.

            Args:
                statement: A statement with a ``?`` for each key field.
                key_fields: The names of the fields that are its parameters.
            """
            self._delete = (statement, tuple(key_fields))
            return self

        def with_execution_options(self, execution_options: JdbcExecutionOptions) -> JdbcSink.Builder:
            """Set batches and retries."""
            self._execution_options = execution_options
            return self

        def build_at_least_once(self, connection_options: JdbcConnectionOptions) -> JdbcSink:
            """Build a sink that may write a record again after a failure."""
            return self._build(connection_options, None)

        def build_exactly_once(
            self,
            connection_options: JdbcConnectionOptions,
            exactly_once_options: JdbcExactlyOnceOptions | None = None,
        ) -> JdbcSink:
            """Build a sink that shows each record once, when its checkpoint is complete."""
            return self._build(connection_options, exactly_once_options or JdbcExactlyOnceOptions.defaults())

        def _build(
            self, connection_options: JdbcConnectionOptions, exactly_once_options: JdbcExactlyOnceOptions | None
        ) -> JdbcSink:
            if self._query is None:
                raise InvalidProgramError("a JdbcSink has no statement: call with_query_statement")
            if not isinstance(connection_options, JdbcConnectionOptions):
                raise ConfigurationError(f"a JdbcSink takes JdbcConnectionOptions, got {connection_options!r}")
            delete, key_fields = self._delete or (None, ())
            statements = statement_plan(*self._query, delete, key_fields)
            statements.bind(connection_options._dialect)  # refuses at once what no column takes
            return JdbcSink(
                JdbcSinkSettings(statements, connection_options, self._execution_options, exactly_once_options)
            )
