"""What is secret by its key or in its value, and what only looks like it."""

from __future__ import annotations

import pytest

from rekindle.config.secrets import HIDDEN, arguments_shown, is_secret, shown, without_secrets


@pytest.mark.parametrize(
    "key",
    [
        "rest.token",
        "db.password",
        "dbPassword",
        "DB_PWD",
        "db.pass",
        "db.pw",
        "REDIS_AUTH",
        "ssl.passphrase",
        "sasl.jaas.config",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "fs.azure.account.key.shop.dfs.core.windows.net",
        "x.apiKey",
        "api_key",
        "a.credentials",
        "ssl.keystore.key",
        "ssl.key.pem",
        "http-headers",
        "encryptionKey",
        "x.signingKey",
        "masterKey",
        "spark.hadoop.my.sessionkey",
        "passkey",
        "tls.APIKeyPEM",
        "dbPass",
        "userpass",
        "app.jwt",
        "appJwt",
        "http.authorization",
        "http.authorization-header",
        "x.bearer",
        "login.otp",
        "sentry.dsn",
    ],
)
def test_a_key_says_that_its_value_is_secret(key: str) -> None:
    assert is_secret(key)
    assert shown(key, "hush") == HIDDEN


@pytest.mark.parametrize(
    "key",
    [
        "key.serializer",
        "partition.keys",
        "monkey",
        "app.turnkey",
        "bypass.mode",
        "spark.kerberos.keytab",
        "keystone",
        "sasl.oauthbearer.scope",
        "security.authorization.enabled",
        "keyGroups",
        "authority",
    ],
)
def test_a_key_that_only_looks_like_it(key: str) -> None:
    assert not is_secret(key)
    assert shown(key, "plain") == "plain"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "jdbc:postgresql://h/db?user=a&password=hush&ssl=true",
            "jdbc:postgresql://h/db?user=a&password=******&ssl=true",
        ),
        ("jdbc:sqlserver://h;user=sa;password=hush;x=1", "jdbc:sqlserver://h;user=sa;password=******;x=1"),
        ("jdbc:oracle:thin:scott/hush@//h:1521/x", "jdbc:oracle:thin:scott/******@//h:1521/x"),
        ("postgres://ann:hu/sh@db:5432/x", "postgres://ann:******@db:5432/x"),
        ("redis://:hush@h:1/0", "redis://:******@h:1/0"),
        ("git+https://hush@github.com/x", "git+https://******@github.com/x"),
        (
            'PlainLoginModule required username="a" password="hu\\"sh";',
            'PlainLoginModule required username="a" password=******;',
        ),
        ("-Djavax.net.ssl.trustStorePassword=hush -Xmx1g", "-Djavax.net.ssl.trustStorePassword=****** -Xmx1g"),
        ("{'password': 'hush', 'a': 1}", "{'password': ******, 'a': 1}"),
        ('{"apiKey": "hush"}', '{"apiKey": ******}'),
        ("AccountName=a;AccountKey=hush==;E=1", "AccountName=a;AccountKey=******;E=1"),
        ("jdbc:sqlserver://h;password={a;b};x=1", "jdbc:sqlserver://h;password=******;x=1"),
        ("Authorization: Bearer hu.sh sent", "Authorization: Bearer ****** sent"),
        ("{'Authorization': 'Basic aHVzaA=='}", "{'Authorization': 'Basic ******'}"),
        ("user: a\npassword: hush\nhost: b", "user: a\npassword: ******\nhost: b"),
        ("login --db-password hush --host b", "login --db-password ****** --host b"),
        ("s3://b/k?X-Amz-Signature=hush&x=1", "s3://b/k?X-Amz-Signature=******&x=1"),
        ("a: 1\ntoken: hush\nb: 2", "a: 1\ntoken: ******\nb: 2"),
        ("secret: hush", "secret: ******"),
        ("pwd: hush", "pwd: ******"),
        ("api_key: hush, b: 2", "api_key: ******, b: 2"),
        ("clientSecret: hush", "clientSecret: ******"),
        ('password: "hu sh"\nhost: b', "password: ******\nhost: b"),
        ("X-Api-Key: hush", "X-Api-Key: ******"),
        ("token: strong", "token: ******"),
        ("login --api-key hush --host b", "login --api-key ****** --host b"),
        ("login --pass hush --host b", "login --pass ****** --host b"),
        ("login --token 'hu sh' --host b", "login --token ****** --host b"),
        ("dbPass=hush x", "dbPass=****** x"),
        ("encryptionKey=hush x", "encryptionKey=****** x"),
        ("sent Bearer hush to b", "sent Bearer ****** to b"),
        ("{'token': b'hush', 'a': 1}", "{'token': ******, 'a': 1}"),
        ("login(token=r'hush', a=1)", "login(token=******, a=1)"),
        (f"{{'token': '{'hush' * 300}', 'a': 1}}", "{'token': ******, 'a': 1}"),
        ("cut off: {'token': 'hush", "cut off: {'token': ******"),
        ("password=&hush x", "password=****** x"),
        ("password=;hush x", "password=****** x"),
        ("ann:hush@db.example.org/x", "ann:******@db.example.org/x"),
    ],
)
def test_a_secret_inside_a_value_is_hidden_and_the_rest_is_not(text: str, left: str) -> None:
    assert without_secrets(text) == left
    assert without_secrets(left) == left
    assert shown("a.setting", text) == left


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "a.",
        "://a:",
        "password=",
        'password="',
        "password",
        "token'",
        "pass ",
        "http://",
        "jdbc:oracle:x:/",
        "password: ",
        "--token ",
        "password={",
        "authorization: ",
        "password=b'",
        "token: b'",
        "token: \"'",
        "password=&",
        "--",
        "Bearer ",
        "a:b",
        "a+",
    ],
)
def test_no_text_takes_long(part: str) -> None:
    """With time that grows as the square of the length, this would not end."""
    without_secrets(part * (100_000 // len(part)))


@pytest.mark.parametrize(
    "text",
    [
        "hdfs://user@namenode:8020/a",
        "abfss://container@account.dfs.core.windows.net/x",
        "http://one:1/x http://two:2/y@z",
        "s3://bucket/a=b",
        "a token is needed: send it",
        "the password is wrong: try again",
        "authorization of the user failed",
        "use --token-file or a token",
        "monkey=banana",
        "host:9092,other:9092",
        "jdbc:postgresql://h/db?password=&ssl=true",
        "def login(user: str, token: str) -> None:",
        "Bearer authentication is needed",
        'WWW-Authenticate: Bearer realm="x"',
        "a bearer of news",
        "--bypass x",
        "orders:3@worker-1",
        "image:1.2@sha256:ab",
        "mailto:ann@example.org",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--password", "hush", "--day", "monday"], ["--password", "******", "--day", "monday"]),
        (["--api-key=hush", "x=1"], ["--api-key=******", "x=1"]),
        (["--dbPass", "-hush"], ["--dbPass", "******"]),
        (["token=hu sh"], ["token=******"]),
        (["sig=hush"], ["sig=******"]),
        (["-Djwt=hush", "-D", "a.secret=hush", "-Da.b=c"], ["-Djwt=******", "-D", "a.secret=******", "-Da.b=c"]),
        (["--db", "postgresql://u:hush@h/x"], ["--db", "postgresql://u:******@h/x"]),
        (["--db=postgresql://u:hush@h/x?a=b"], ["--db=postgresql://u:******@h/x?a=b"]),
        (["--header", "Authorization: Bearer hush"], ["--header", "Authorization: Bearer ******"]),
        (["--conf", '{"jwt": "hush", "a": 1}'], ["--conf", '{"jwt": ******, "a": 1}']),
        (["--token", "--day", "monday"], ["--token", "--day", "monday"]),
        (["--day", "it's", "-", "--", ""], ["--day", "it's", "-", "--", ""]),
        ([], []),
    ],
)
def test_of_arguments_what_is_secret_is_hidden_and_the_rest_is_not(arguments: list[str], left: list[str]) -> None:
    assert arguments_shown(arguments) == tuple(left)
    assert arguments_shown(left) == tuple(left)
