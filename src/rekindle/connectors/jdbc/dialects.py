"""Which dialect a URL is for."""

from __future__ import annotations

from rekindle.config.secrets import without_secrets
from rekindle.connectors.jdbc.dialect import JdbcDialect
from rekindle.connectors.jdbc.jdbc_url import split_url
from rekindle.connectors.jdbc.postgresql_dialect import PostgresqlDialect
from rekindle.connectors.jdbc.sqlite_dialect import SqliteDialect
from rekindle.exceptions import ConfigurationError

__all__ = ["dialect_for", "register_dialect"]

_DIALECTS: dict[str, JdbcDialect] = {"postgresql": PostgresqlDialect(), "sqlite": SqliteDialect()}


def register_dialect(scheme: str, dialect: JdbcDialect) -> None:
    """Let URLs that begin with ``jdbc:<scheme>:`` be for a dialect.

    Args:
        scheme: The scheme, such as ``mysql``; a dialect that is there for it is replaced.
        dialect: The dialect, which can be pickled.

    Raises:
        TypeError: It is not a dialect.
    """
    if not isinstance(dialect, JdbcDialect):
        raise TypeError(f"register_dialect takes a JdbcDialect, and was given {dialect!r}")
    _DIALECTS[scheme] = dialect


def dialect_for(url: str, driver_name: str | None = None) -> JdbcDialect:
    """Return the dialect of a URL.

    Raises:
        ConfigurationError: There is none, the URL is wrong, or the driver is for another database.
    """
    scheme, rest = split_url(url)
    dialect = _DIALECTS.get(scheme)
    if dialect is None:
        raise ConfigurationError(
            f"no dialect for {without_secrets(url)!r}: there is one for {', '.join(sorted(_DIALECTS))}; add your own "
            "with rekindle.datastream.connectors.jdbc.register_dialect"
        )
    dialect.check_url(rest)
    if driver_name is not None and dialect.driver_names and driver_name not in dialect.driver_names:
        raise ConfigurationError(
            f"driver {driver_name!r} is not for {without_secrets(url)!r}, which takes "
            f"{' or '.join(dialect.driver_names)}; omit with_driver_name, the URL is enough"
        )
    return dialect
