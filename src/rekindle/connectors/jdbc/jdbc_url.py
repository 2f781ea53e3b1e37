"""JDBC URLs: ``jdbc:<scheme>:<rest>``, and what PostgreSQL's driver understands in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qsl, unquote

from rekindle.config.secrets import without_secrets
from rekindle.exceptions import ConfigurationError

_URL = re.compile(r"jdbc:(?P<scheme>[a-z][a-z0-9+]*):(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:]*))(?::(?P<port>\d+))?")


def split_url(url: str) -> tuple[str, str]:
    """Return the scheme of a JDBC URL and what follows it.

    Raises:
        ConfigurationError: It is not a JDBC URL.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise ConfigurationError(
            f"{without_secrets(url)!r} is not a JDBC URL such as jdbc:postgresql://host:5432/database"
        )
    return match["scheme"], match["rest"]


def postgresql_parameters(rest: str) -> dict[str, str]:
    """Return libpq's connection parameters for what follows ``jdbc:postgresql:``.

    Properties of PostgreSQL's JDBC driver are translated, those that only tune it are ignored, and libpq's own names
    are taken as they are.

    Raises:
        ConfigurationError: The URL or a property is not understood.
    """
    address, _, query = rest.partition("?")
    parameters = {}
    if address.startswith("//"):
        authority, _, database = address[2:].partition("/")
        if "@" in address:  # a password may have slashes
            raise ConfigurationError(
                "a JDBC URL has no user before its host: set it with with_user_name and with_password"
            )
        parameters = _hosts(authority)
    else:
        database = address.lstrip("/")
    if database:
        parameters["dbname"] = unquote(database)
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name in _LIBPQ:
            parameters[name] = value
        elif name in _TRANSLATED:
            parameters.update(_TRANSLATED[name](value))
        elif name not in _IGNORED:
            raise ConfigurationError(
                f"unknown property {name!r} in a jdbc:postgresql URL; it takes "
                f"{', '.join(sorted(_LIBPQ | _TRANSLATED.keys()))}"
            )
    return parameters


def _hosts(authority: str) -> dict[str, str]:
    if not authority:
        return {}
    hosts, ports = [], []
    for part in authority.split(","):
        match = _HOST.fullmatch(part)
        if match is None:
            raise ConfigurationError(f"{part!r} is not a host in a jdbc:postgresql URL; write host or host:port")
        hosts.append(match["v6"] or match["host"] or "localhost")
        ports.append(match["port"] or "5432")
    return {"host": ",".join(hosts), "port": ",".join(ports)}


_LIBPQ = frozenset(
    """
    user password host port dbname options sslmode sslcert sslkey sslrootcert sslpassword sslcrl connect_timeout
    application_name target_session_attrs keepalives keepalives_idle keepalives_interval keepalives_count
    tcp_user_timeout channel_binding gssencmode krbsrvname passfile service require_auth load_balance_hosts
    """.split()  # noqa: SIM905 - as a list it would be 27 lines
)

_SESSIONS = {
    "any": "any",
    "primary": "primary",
    "master": "primary",
    "slave": "standby",
    "secondary": "standby",
    "preferSlave": "prefer-standby",
    "preferSecondary": "prefer-standby",
    "preferPrimary": "any",
}

_TRANSLATED: dict[str, Callable[[str], dict[str, str]]] = {
    "ApplicationName": lambda value: {"application_name": value},
    "connectTimeout": lambda value: {"connect_timeout": value},
    "loginTimeout": lambda value: {"connect_timeout": value},
    "currentSchema": lambda value: {"options": f"-c search_path={value.replace(' ', '')}"},
    "socketTimeout": lambda value: {"tcp_user_timeout": str(int(value) * 1000)},
    "ssl": lambda value: {"sslmode": "prefer" if value == "false" else "verify-full"},
    "targetServerType": lambda value: {"target_session_attrs": _SESSIONS.get(value, value)},
    "tcpKeepAlive": lambda value: {"keepalives": "1" if value == "true" else "0"},
}

_IGNORED = frozenset(
    """
    reWriteBatchedInserts prepareThreshold preparedStatementCacheQueries preparedStatementCacheSizeMiB
    defaultRowFetchSize binaryTransfer stringtype loggerLevel loggerFile logUnclosedConnections autosave
    cleanupSavepoints preferQueryMode assumeMinServerVersion loadBalanceHosts hostRecheckSeconds
    """.split()  # noqa: SIM905
)
