"""How programs on this machine find the REST interfaces of drivers: a file for each driver, in a directory of the user.

The file holds the token, if there is one, and another beside it holds the header to send, for ``curl -H @FILE``: a
token on a command line can be seen by everybody. They can be read by their owner only, and so can their directory. What
a driver that was killed leaves behind, the next reader removes.
"""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from rekindle.base.private_directory import make_own, named_directory
from rekindle.base.process_identity import process_runs

VERSION = 1
_HEADER = ".header"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Say where a driver on this machine listens.

    Attributes:
        version: The version of this format.
        pid: The driver's process.
        start_ticks: When that process started, as the kernel counts; None where it does not tell. With it another
            process that got the same number is not taken for the driver.
        url: Where the REST interface is.
        token: What it wants to see; None: nothing.
        started: When the server was started, in milliseconds.
    """

    version: int = VERSION
    pid: int
    start_ticks: int | None
    url: str
    token: str | None
    started: int

    @property
    def dashboard(self) -> str:
        """Return the address to open in a browser, which proves who opens it."""
        return dashboard_address(self.url, self.token)


def dashboard_address(url: str, token: str | None) -> str:
    """Return the address to open in a browser, with the token where one is needed."""
    return url if token is None else f"{url}/?token={quote(token, safe='')}"


def header_file(endpoint: Endpoint) -> Path | None:
    """Return the file with the header that a driver wants to see; None: it wants none."""
    return None if endpoint.token is None else discovery_directory() / f"{endpoint.pid}{_HEADER}"


def discovery_directory() -> Path:
    """Return the directory of this user's files, and make it if it is not there.

    Raises:
        ConfigurationError: It is not a directory, or belongs to another user.
    """
    return make_own(_directory_path(), "running jobs cannot be listed there")


def _directory_path() -> Path:
    named = named_directory()
    if named is not None:
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        with suppress(OSError):
            found = os.stat(runtime)
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                return Path(runtime) / "rekindle"
    return Path(tempfile.gettempdir()) / f"rekindle-{os.getuid()}"


def publish(endpoint: Endpoint) -> Path:
    """Write the files of a driver, each whole or not at all; return the one by which it is found."""
    path = discovery_directory() / f"{endpoint.pid}.json"
    header = header_file(endpoint)
    if header is not None:
        _write(header, f"Authorization: Bearer {endpoint.token}\n".encode())
    _write(path, msgspec.json.encode(endpoint))
    return path


def withdraw(path: Path) -> None:
    """Remove the files of a driver, given the one by which it is found."""
    for each in (path, path.with_suffix(_HEADER)):
        with suppress(OSError):
            each.unlink()


def _write(path: Path, data: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)  # with mode 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def discovered() -> list[Endpoint]:
    """Return the drivers of this user that run on this machine, the oldest first; forget those that are gone."""
    directory = discovery_directory()
    found = []
    for path in sorted(directory.glob("*.json")):
        endpoint = _read(path)
        if endpoint is None:
            continue
        if process_runs(endpoint.pid, endpoint.start_ticks):
            found.append(endpoint)
        else:
            withdraw(path)
    return sorted(found, key=lambda endpoint: (endpoint.started, endpoint.pid))


def _read(path: Path) -> Endpoint | None:
    """Read a file; None if it is not one of ours, or of a version that another Rekindle wrote."""
    try:
        if path.lstat().st_uid != os.getuid():
            return None
        endpoint = msgspec.json.decode(path.read_bytes(), type=Endpoint)
    except (OSError, msgspec.MsgspecError):
        return None
    return endpoint if endpoint.version == VERSION and path.name == f"{endpoint.pid}.json" else None
