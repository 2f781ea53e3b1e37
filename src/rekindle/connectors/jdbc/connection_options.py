"""How to reach a database."""

from __future__ import annotations

from rekindle.config.secrets import without_secrets
from rekindle.connectors.jdbc.dialects import dialect_for
from rekindle.exceptions import ConfigurationError

__all__ = ["JdbcConnectionOptions"]


class JdbcConnectionOptions:
    """Where a database is, and who connects. The password is never shown."""

    def __init__(
        self, url: str, driver_name: str | None = None, user_name: str | None = None, password: str | None = None
    ) -> None:
        """Hold the options; programs use :class:`JdbcConnectionOptionsBuilder`.

        Raises:
            ConfigurationError: There is no dialect for the URL, or the driver belongs to another one.
        """
        self._url = url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password
        self._dialect = dialect_for(url, driver_name)

    def get_db_url(self) -> str:
        """Return the URL as it was given."""
        return self._url

    def get_driver_name(self) -> str | None:
        """Return the driver's class in Java, None if none was given."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """Return the user, None if none was given."""
        return self._user_name

    def get_password(self) -> str | None:
        """Return the password, None if none was given."""
        return self._password

    def __repr__(self) -> str:
        user = "" if self._user_name is None else f", user_name={self._user_name!r}"
        return f"JdbcConnectionOptions({without_secrets(self._url)!r}{user})"

    class JdbcConnectionOptionsBuilder:
        """Build :class:`JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the URL: ``jdbc:postgresql://host:port/database`` or ``jdbc:sqlite:/path``."""
            self._url = url
            return self

        def with_driver_name(self, driver_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Name the driver's class in Java; it has to be one for the URL, and is not needed."""
            self._driver_name = driver_name
            return self

        def with_user_name(self, user_name: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the user."""
            self._user_name = user_name
            return self

        def with_password(self, password: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Set the password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """Build the options.

            Raises:
                ConfigurationError: There is no URL, or it cannot be used.
            """
            if self._url is None:
                raise ConfigurationError("JdbcConnectionOptions have no URL: call with_url")
            return JdbcConnectionOptions(self._url, self._driver_name, self._user_name, self._password)
