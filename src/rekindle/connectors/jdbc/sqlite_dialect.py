"""SQLite, by Python's own driver."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from typing import Any

from rekindle.connectors.jdbc.column_types import (
    element_type,
    inner_type,
    instant_to_datetime,
    is_instant,
    refuse_structures,
)
from rekindle.connectors.jdbc.dialect import Connection, Convert, JdbcDialect
from rekindle.exceptions import ConfigurationError
from rekindle.types.type_information import TypeInformation
from rekindle.types.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)

_LOCK_SECONDS = 60.0


class SqliteDialect(JdbcDialect):
    """A file of SQLite, which all slots must see: for tests, and for jobs on one machine."""

    marker = "?"
    driver_names = ("org.sqlite.JDBC",)

    def check_url(self, rest: str) -> None:
        """Raise if there is no path."""
        if not rest or rest.startswith(":memory:"):
            raise ConfigurationError("a jdbc:sqlite URL needs the path of a file that all slots see: jdbc:sqlite:/path")

    def connect(self, rest: str, user: str | None, password: str | None, application: str | None) -> Connection:
        """Open the file."""
        return sqlite3.connect(rest, timeout=_LOCK_SECONDS, check_same_thread=False)

    def is_transient(self, error: Exception) -> bool:
        """Return whether another connection held its lock for too long."""
        return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)

    def converter(self, type_info: TypeInformation) -> Convert | None:
        """Return a conversion to text for dates, times and decimals: SQLite has no types for them."""
        type_info = inner_type(type_info)
        refuse_structures(type_info)
        if element_type(type_info) is not None:
            raise ConfigurationError(f"no column of SQLite takes a {type_info}: make it text before the sink")
        if is_instant(type_info):
            return lambda value: instant_to_datetime(value).isoformat(" ")
        if isinstance(type_info, TimestampTypeInfo):
            return lambda value: value.isoformat(" ")
        if isinstance(type_info, DateTypeInfo | TimeTypeInfo | LocalTimeTypeInfo):
            return lambda value: value.isoformat()
        if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in (BasicType.BIG_DEC, BasicType.BIG_INT):
            return _exact_number
        return None


def _exact_number(value: Any) -> Any:
    """Return a number as text, unless SQLite's 64 bits hold it."""
    return str(value) if isinstance(value, Decimal) or not -(2**63) <= value < 2**63 else value
