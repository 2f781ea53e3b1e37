"""What differs from one database to the next: a driver, its placeholders, its types, its errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

from rekindle.types.type_information import TypeInformation

__all__ = ["Connection", "Convert", "JdbcDialect"]

Convert = Callable[[Any], Any]


class Connection(Protocol):
    """A connection of a DB-API driver, which begins a transaction with the first statement after a commit."""

    def cursor(self) -> Any:
        """Return an object that executes statements."""

    def commit(self) -> None:
        """Commit the open transaction."""

    def rollback(self) -> None:
        """Roll the open transaction back."""

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""


class JdbcDialect(ABC):
    """One kind of database, reached by a DB-API driver. Subclass it for another one, and call :func:`register_dialect`.

    A dialect is made where the program runs, and pickled for the slots: import the driver in :meth:`connect`.

    Attributes:
        marker: The driver's placeholder, ``?`` or ``%s``.
        driver_names: The classes in Java that a program may name for this database.
        prepares_transactions: Whether it is PostgreSQL, or understands its ``PREPARE TRANSACTION``.
    """

    marker: ClassVar[str] = "%s"
    driver_names: ClassVar[tuple[str, ...]] = ()
    prepares_transactions: ClassVar[bool] = False

    def check_url(self, rest: str) -> None:  # noqa: B027
        """Look at a URL where the program is written, without connecting.

        Args:
            rest: What follows ``jdbc:<scheme>:``.

        Raises:
            ConfigurationError: It cannot be right.
        """

    @abstractmethod
    def connect(self, rest: str, user: str | None, password: str | None, application: str | None) -> Connection:
        """Connect, in a slot.

        Args:
            rest: What follows ``jdbc:<scheme>:``.
            user: The user, if the program gave one.
            password: The password, if the program gave one.
            application: A name by which the database can tell whose connection it is, where it has such names.
        """

    def is_transient(self, error: Exception) -> bool:
        """Return whether it may help to connect again and repeat a transaction that failed with an error."""
        return False

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """Return what turns a value of a type into what the driver takes; None if it takes it as it is.

        It is not called for None.

        Raises:
            ConfigurationError: No column can hold values of the type.
        """
        return None

    def execute(self, connection: Connection, batches: Iterable[tuple[str, Sequence[Any]]]) -> None:
        """Execute statements with many rows each, in order, in the open transaction.

        Args:
            connection: An open connection.
            batches: Statements with the driver's placeholders, and the parameters of their rows.
        """
        cursor = connection.cursor()
        try:
            for sql, rows in batches:
                cursor.executemany(sql, rows)
        finally:
            cursor.close()
