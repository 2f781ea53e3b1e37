"""A server with S3's interface in a process of its own: the Versity gateway over a directory, or moto in memory.

``go install`` builds the gateway, once, into the cache that all checkouts share; without it moto, which is a Python
package, takes its place.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import wait_until
from support.services.server_process import HOST, free_ports, start_server

GATEWAY = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
KEYS = {"AWS_ACCESS_KEY_ID": "rekindle", "AWS_SECRET_ACCESS_KEY": "rekindle-secret", "AWS_DEFAULT_REGION": "us-east-1"}


class S3Server:
    """A server on the loopback; clients find it by the environment variables of :attr:`environment`.

    Attributes:
        kind: Which program it is.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (self._port,) = free_ports(1)
        self._process: subprocess.Popen[bytes] | None = None
        gateway = found_gateway()
        self.kind = "moto" if gateway is None else "versitygw"
        (directory / "data").mkdir()
        address, port = f"{HOST}:{self._port}", str(self._port)
        if gateway is not None:
            self._command = [gateway, "--port", address, "--quiet", "posix", str(directory / "data")]
        else:
            self._command = [str(Path(sys.executable).with_name("moto_server")), "-H", HOST, "-p", port]

    @property
    def environment(self) -> dict[str, str]:
        """Return what tells clients where the server is, and who they are."""
        return {**KEYS, "AWS_ENDPOINT_URL": f"http://{HOST}:{self._port}"}

    def start(self) -> None:
        """Start it with the objects that it has, and wait until it answers."""
        own = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
        self._process = start_server(self._command, self._directory / "server.log", env={**os.environ, **own})
        wait_until(self._answers, f"{self.kind} answers", timeout=60)

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)
            self._process = None

    def _answers(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise AssertionError(f"{self.kind} ended:\n{(self._directory / 'server.log').read_text()[-2000:]}")
        try:
            socket.create_connection((HOST, self._port), 1).close()
        except OSError:
            return False
        return True


def found_gateway() -> str | None:
    """Return the gateway, if it is on this machine."""
    return shutil.which("versitygw") or shutil.which("versitygw", path=str(binaries()))


def binaries() -> Path:
    """Return where ``go install`` puts it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "rekindle", "bin")


def build_gateway() -> str | None:
    """Build the gateway; return why that failed, None if it did not."""
    go = shutil.which("go")
    if go is None:
        return "there is no Go"
    built = subprocess.run(
        [go, "install", GATEWAY],
        env={**os.environ, "GOBIN": str(binaries())},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    return None if built.returncode == 0 else f"go install {GATEWAY} failed: {built.stdout[-500:]}"


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """Start one server for all tests of the run, which are its clients."""
    if found_gateway() is None and not Path(sys.executable).with_name("moto_server").exists():
        pytest.skip('there is no S3 server: pip install "moto[s3,server]", or install Go and run make test')
    directory = Path(tempfile.mkdtemp(prefix="rekindle-s3-"))
    server = S3Server(directory)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(directory)


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Return the URI of a bucket of the test's own."""
    from pyarrow.fs import FileSystem

    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"test-{abs(hash(request.node.nodeid)):x}"
    filesystem, path = FileSystem.from_uri(f"s3://{bucket}?allow_bucket_creation=true")
    filesystem.create_dir(path)
    return f"s3://{bucket}"
