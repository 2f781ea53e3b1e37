"""The small table in which exactly-once sinks take notes."""

from __future__ import annotations

from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError
from rekindle.exceptions import StateRestoreError


class CommitTable:
    """A table of names with a number each.

    A writer's row says how many of its committables are committed; a row with the name of a prepared transaction, that
    a savepoint refers to it. Methods run in the open transaction of the database unless they say otherwise.
    """

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = table

    def create(self) -> None:
        """Create the table unless it is there, in transactions of its own.

        Raises:
            JdbcSinkError: It cannot be created.
        """
        if self.is_there():
            return
        definition = f"{self._table} (name VARCHAR(200) NOT NULL PRIMARY KEY, committed BIGINT NOT NULL)"
        try:
            self._database.transaction(
                lambda: self._database.query(f"CREATE TABLE {definition}"), 1, f"create table {definition} in"
            )
        except JdbcSinkError:
            if not self.is_there():  # else another writer was faster
                raise

    def is_there(self) -> bool:
        """Return whether the table is there, in a transaction of its own."""
        try:
            self._database.transaction(lambda: self._database.query(f"SELECT 1 FROM {self._table} WHERE 1 = 0"), 1, "")
        except JdbcSinkError as error:
            if isinstance(error.__cause__, Exception) and self._database.dialect.is_transient(error.__cause__):
                raise
            return False
        return True

    def add(self, name: str) -> None:
        """Add a row with the number 0, unless it is there."""
        if not self._database.query(f"SELECT committed FROM {self._table} WHERE name = ?", [name]):
            self._database.query(f"INSERT INTO {self._table} VALUES (?, 0)", [name])

    def names(self) -> set[str]:
        """Return all names."""
        return {name for (name,) in self._database.query(f"SELECT name FROM {self._table}")}

    def remove(self, name: str) -> None:
        """Remove a row, if it is there."""
        self._database.query(f"DELETE FROM {self._table} WHERE name = ?", [name])

    def advance(self, name: str, number: int) -> bool:
        """Raise the number of a row; return False, and change nothing, if it was as high before.

        The row is locked from the update on: of two that commit the same, the second waits for the first.

        Raises:
            StateRestoreError: There is no such row, so nobody knows what was committed.
        """
        changed = self._database.change(
            f"UPDATE {self._table} SET committed = ? WHERE name = ? AND committed < ?", [number, name, number]
        )
        if changed:
            return True
        if not self._database.query(f"SELECT committed FROM {self._table} WHERE name = ?", [name]):
            raise StateRestoreError(
                f"table {self._table} of {self._database.url} has no row {name!r}: it was emptied, and nobody can tell "
                "whether rows in the checkpoint are written. Bring it back, or restore from another checkpoint"
            )
        return False
