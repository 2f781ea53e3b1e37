"""A connection to a database that is opened when it is needed, and again when it broke."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from rekindle.config.secrets import without_secrets
from rekindle.connectors.jdbc.connection_options import JdbcConnectionOptions
from rekindle.connectors.jdbc.dialect import Connection
from rekindle.connectors.jdbc.errors import JdbcSinkError, database_message
from rekindle.connectors.jdbc.jdbc_url import split_url
from rekindle.connectors.jdbc.statements import BoundStatements, Parameters, Run
from rekindle.exceptions import RekindleError
from rekindle.serialization.encodings.msgpack_serializer import shown

T = TypeVar("T")

_BACK_OFF_SECONDS = 1.0  # times the number of failures, as in Flink


class Database:
    """One connection at a time to a database.

    Attributes:
        dialect: The kind of database.
        url: The URL, as it may be shown.
    """

    def __init__(
        self,
        options: JdbcConnectionOptions,
        application: str | None = None,
        prepare: Callable[[Any], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect later.

        Args:
            options: Where the database is.
            application: A name for the connection, for databases that have such names.
            prepare: Called with each new connection of the driver.
            sleep: Waits some seconds.
        """
        self._options = options
        self._application = application
        self._prepare = prepare
        self._sleep = sleep
        self._connection: Connection | None = None
        self.dialect = options._dialect
        self.url = without_secrets(options.get_db_url())

    def connection(self) -> Connection:
        """Return the open connection; connect if there is none."""
        if self._connection is None:
            options = self._options
            _, rest = split_url(options.get_db_url())
            self._connection = self.dialect.connect(
                rest, options.get_user_name(), options.get_password(), self._application
            )
            if self._prepare is not None:
                self._prepare(self._connection)
        return self._connection

    def close(self) -> None:
        """Close the connection, if there is one; what it was doing is rolled back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be broken, and is of no use any more
                connection.close()

    def execute(self, statements: BoundStatements, runs: list[Run]) -> None:
        """Execute runs of rows in the open transaction."""
        self.dialect.execute(self.connection(), [(statements.sql[index], rows) for index, rows in runs])

    def query(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Execute a statement with ``?`` as its placeholder, and return its rows, if it has any."""
        cursor = self.connection().cursor()
        try:
            cursor.execute(sql.replace("?", self.dialect.marker), parameters)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def change(self, sql: str, parameters: Parameters) -> int:
        """Execute a statement with ``?`` as its placeholder, and return how many rows it has changed."""
        cursor = self.connection().cursor()
        try:
            cursor.execute(sql.replace("?", self.dialect.marker), parameters)
            return int(cursor.rowcount)
        finally:
            cursor.close()

    def transaction(self, operation: Callable[[], T], attempts: int, doing: str) -> T:
        """Do something in a transaction of its own, and commit; again if that failed, and may help.

        Args:
            operation: What to do with this database; it may be done more than once.
            attempts: How often to try.
            doing: What it is, for errors.

        Raises:
            JdbcSinkError: It failed for good. The error of the database is its cause.
        """
        failures = 0
        while True:
            try:
                result = operation()
                self.connection().commit()
                return result
            except RekindleError:
                self.close()
                raise
            except Exception as error:
                transient = self.dialect.is_transient(error)
                self.close()
                failures += 1
                if not transient or failures >= attempts:
                    tried = f" (tried {failures} times)" if failures > 1 else ""
                    raise JdbcSinkError(f"cannot {doing} {self.url}{tried}: {database_message(error)}") from error
                self._sleep(_BACK_OFF_SECONDS * (failures - 1))

    def first_failing(self, statements: BoundStatements, runs: list[Run]) -> str:
        """Return the row that makes a batch fail, and the statement, for an error; nothing is written by it."""
        described = "\n  " + "\n  ".join(statements.given)
        try:
            cursor = self.connection().cursor()
            for index, rows in runs:
                for row in rows:
                    try:
                        cursor.execute(statements.sql[index], row)
                    except Exception as error:
                        if self.dialect.is_transient(error):
                            return described
                        return f"\n  {statements.given[index]}\n  with {shown(tuple(row))}: {database_message(error)}"
        except Exception:  # this is only for a better message
            return described
        finally:
            self.close()
        return described
