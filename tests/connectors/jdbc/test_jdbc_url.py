"""What a JDBC URL says, and what it never shows."""

from __future__ import annotations

import pytest

from rekindle.connectors.jdbc.jdbc_url import postgresql_parameters, split_url, without_secrets
from rekindle.exceptions import ConfigurationError


@pytest.mark.parametrize(
    ("rest", "parameters"),
    [
        ("//db.example:5433/shop", {"host": "db.example", "port": "5433", "dbname": "shop"}),
        ("//db.example/shop", {"host": "db.example", "port": "5432", "dbname": "shop"}),
        ("//[::1]:5433/shop", {"host": "::1", "port": "5433", "dbname": "shop"}),
        ("//a:1,b/shop", {"host": "a,b", "port": "1,5432", "dbname": "shop"}),
        ("//db/", {"host": "db", "port": "5432"}),
        ("shop", {"dbname": "shop"}),
        ("///shop", {"dbname": "shop"}),
        ("//db/my%20shop", {"host": "db", "port": "5432", "dbname": "my shop"}),
        ("shop?user=a%26b&password=p%3Dw", {"dbname": "shop", "user": "a&b", "password": "p=w"}),
        ("shop?ssl=true", {"dbname": "shop", "sslmode": "verify-full"}),
        ("shop?ssl", {"dbname": "shop", "sslmode": "verify-full"}),
        ("shop?sslmode=require&sslcert=/a.pem", {"dbname": "shop", "sslmode": "require", "sslcert": "/a.pem"}),
        ("shop?currentSchema=a, b", {"dbname": "shop", "options": "-c search_path=a,b"}),
        ("shop?ApplicationName=x&loginTimeout=5", {"dbname": "shop", "application_name": "x", "connect_timeout": "5"}),
        ("shop?targetServerType=primary", {"dbname": "shop", "target_session_attrs": "primary"}),
        ("shop?reWriteBatchedInserts=true&prepareThreshold=0", {"dbname": "shop"}),
        ("shop?host=/run/postgresql", {"dbname": "shop", "host": "/run/postgresql"}),
    ],
)
def test_a_url_of_postgresql_gives_the_parameters_of_libpq(rest: str, parameters: dict[str, str]) -> None:
    assert postgresql_parameters(rest) == parameters


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("//db/shop?pasword=secret", "unknown property 'pasword'"),
        ("//user:secret@db/shop", "with_user_name"),
        ("//user:secret/with/slashes@db/shop", "with_user_name"),
        ("//db:x/shop", "'db:x' is not a host"),
    ],
)
def test_a_wrong_url_is_refused_without_its_secrets(rest: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as raised:
        postgresql_parameters(rest)
    assert "secret" not in str(raised.value)


def test_what_is_not_a_jdbc_url_is_refused_without_its_secrets() -> None:
    assert split_url("jdbc:postgresql://db/shop") == ("postgresql", "//db/shop")
    with pytest.raises(ConfigurationError, match="is not a JDBC URL") as raised:
        split_url("postgresql://user:secret@db/shop")
    assert "secret" not in str(raised.value)


def test_a_shown_url_has_no_password() -> None:
    assert without_secrets("jdbc:postgresql://db/shop?user=ann&password=secret&ssl=true") == (
        "jdbc:postgresql://db/shop?user=ann&password=******&ssl=true"
    )
    assert without_secrets("jdbc:mysql://ann:secret@db/shop") == "jdbc:mysql://ann:******@db/shop"
    assert (
        without_secrets("jdbc:mysql://ann:sec/ret@db/shop?user=a&pwd=secret")
        == "jdbc:mysql://ann:******@db/shop?user=a&pwd=******"
    )
    assert without_secrets("jdbc:oracle:thin:ann/secret@db:1521:shop") == "jdbc:oracle:thin:ann/******@db:1521:shop"
    assert without_secrets("jdbc:sqlite:/a/b.db") == "jdbc:sqlite:/a/b.db"
