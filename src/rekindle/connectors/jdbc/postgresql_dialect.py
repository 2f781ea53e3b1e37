"""PostgreSQL, by psycopg 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from types import ModuleType
from typing import Any, cast

from rekindle.connectors.jdbc.column_types import (
    element_type,
    inner_type,
    instant_to_datetime,
    is_instant,
    of_elements,
    refuse_structures,
)
from rekindle.connectors.jdbc.dialect import Connection, Convert, JdbcDialect
from rekindle.connectors.jdbc.jdbc_url import postgresql_parameters
from rekindle.exceptions import ConfigurationError
from rekindle.types.type_information import TypeInformation

_TRANSIENT_CLASSES = ("08", "53")  # connection exceptions, insufficient resources
_TRANSIENT = frozenset({"40001", "40P01", "57P01", "57P02", "57P03", "57P04", "25006"})
# serialization failure, deadlock, shutdown, crash, starting up, database dropped; read-only after a failover
_CONNECT_TIMEOUT = "30"


class PostgresqlDialect(JdbcDialect):
    """PostgreSQL 13 or newer."""

    driver_names = ("org.postgresql.Driver",)
    prepares_transactions = True

    def check_url(self, rest: str) -> None:
        """Raise if the URL has a property that is not known."""
        postgresql_parameters(rest)

    def connect(self, rest: str, user: str | None, password: str | None, application: str | None) -> Connection:
        """Connect, with a time limit of 30 seconds unless the URL has one."""
        parameters: dict[str, Any] = {"connect_timeout": _CONNECT_TIMEOUT, **postgresql_parameters(rest)}
        if user is not None:
            parameters["user"] = user
        if password is not None:
            parameters["password"] = password
        if application is not None:
            parameters["application_name"] = application
        return cast(Connection, psycopg().connect(**parameters))

    def is_transient(self, error: Exception) -> bool:
        """Return whether the connection broke, or the database was busy, starting or shutting down."""
        driver = psycopg()
        if isinstance(error, driver.InterfaceError):
            return True
        if not isinstance(error, driver.Error):
            return False
        state = error.sqlstate
        if state is None:
            return isinstance(error, driver.OperationalError)
        return state in _TRANSIENT or state.startswith(_TRANSIENT_CLASSES)

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """Return a conversion for instants and arrays; psycopg takes everything else as it is."""
        type_info = inner_type(type_info)
        refuse_structures(type_info)
        if is_instant(type_info):
            return instant_to_datetime
        elements = element_type(type_info)
        return None if elements is None else of_elements(self.converter(elements))

    def execute(self, connection: Connection, batches: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Send all batches before the first answer is awaited, where libpq can."""
        driver = psycopg()
        pipeline = cast(Any, connection).pipeline() if driver.Pipeline.is_supported() else nullcontext()
        with pipeline:
            super().execute(connection, batches)


def psycopg() -> ModuleType:
    """Import the driver.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        raise ConfigurationError(
            "jdbc:postgresql needs psycopg 3 on every machine of the cluster: "
            f'pip install "psycopg[binary]>=3.2,<4" ({error})'
        ) from error
    return psycopg
