"""A PostgreSQL server of the test run's own, which can be killed and started again with the same data."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.processes import wait_until
from support.services.server_process import HOST, free_ports, start_server

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
USER = "rekindle"
PASSWORD = "a secret of the test"


class PostgresServer:
    """A server on a port of this machine.

    Attributes:
        port: The port.
    """

    def __init__(self, programs: Path, directory: Path, account: pwd.struct_passwd | None) -> None:
        self._programs = programs
        self._directory = directory
        self._as_account = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid}
        self._process: subprocess.Popen[bytes] | None = None
        (self.port,) = free_ports(1)

    def initialize(self) -> None:
        """Create the data of the server."""
        password = self._directory / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        command = [self._programs / "initdb", "-D", self._directory / "data", "-U", USER, "--pwfile", password]
        options = ["-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, cwd="/", timeout=120, **self._as())
        assert done.returncode == 0, done.stderr

    def start(self, **settings: Any) -> None:
        """Start the server, and wait until it answers."""
        merged = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "max_prepared_transactions": 64,
            "autovacuum": "off",
            "shared_buffers": "16MB",
            **settings,
        }
        options = [word for name, value in merged.items() for word in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._directory / "data", *options]
        self._process = start_server(command, self._directory / "log", cwd="/", **self._as())
        wait_until(self._answers, f"PostgreSQL answers on port {self.port}: {self._directory / 'log'}")

    def kill(self) -> None:
        """End the server as a crash would: nothing is shut down, all connections break."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)  # "immediate": its children end at once, as after a crash
        self._process.wait(60)
        self._process = None

    def stop(self) -> None:
        """End the server, if it runs."""
        if self._process is not None:
            self.kill()

    def url(self, database: str) -> str:
        """Return the JDBC URL of a database."""
        return f"jdbc:postgresql://{HOST}:{self.port}/{database}"

    @contextmanager
    def connected(self, database: str = "postgres") -> Iterator[psycopg.Connection[Any]]:
        """Connect, without transactions."""
        connection = psycopg.connect(
            host=HOST, port=self.port, user=USER, password=PASSWORD, dbname=database, autocommit=True
        )
        try:
            yield connection
        finally:
            connection.close()

    def query(self, database: str, sql: str) -> list[tuple[Any, ...]]:
        """Execute a statement in a database, and return its rows."""
        with self.connected(database) as connection:
            cursor = connection.execute(sql)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def _as(self) -> dict[str, Any]:
        return {**self._as_account, "extra_groups": []} if self._as_account else {}

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
        try:
            with self.connected():
                return True
        except psycopg.OperationalError:
            return False


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start one PostgreSQL server for all tests of the run; a test that kills it starts it again."""
    if not PROGRAMS:
        pytest.skip("PostgreSQL is not installed: there is no /usr/lib/postgresql/*/bin (apt-get install postgresql)")
    with running_postgres() as server:
        yield server


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """Start a server with data of its own, and remove both in the end."""
    directory = Path(tempfile.mkdtemp(prefix="rekindle-postgres-"))
    account = _unprivileged_account()
    if account is not None:
        os.chown(directory, account.pw_uid, account.pw_gid)
    server = PostgresServer(PROGRAMS[0], directory, account)
    try:
        server.initialize()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def _unprivileged_account() -> pwd.struct_passwd | None:
    """Return who runs the server where the tests run as root, which PostgreSQL refuses; None: the same user."""
    if os.geteuid() != 0:
        return None
    names = {account.pw_name: account for account in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]
