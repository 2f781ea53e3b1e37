"""What the base path of a file sink means: a local directory, or a URI for pyarrow."""

from __future__ import annotations

import os
import re

from rekindle.checkpoint.paths import checked_location, directory
from rekindle.connectors.files.arrow_sink_files import ArrowSinkFiles
from rekindle.connectors.files.local_sink_files import LocalSinkFiles
from rekindle.connectors.files.sink_files import SinkFiles
from rekindle.exceptions import ConfigurationError

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")


def absolute(base_path: str) -> str:
    """Make a local base path absolute and free of its ``file:`` scheme; give every path and URI its one form.

    Raises:
        ConfigurationError: A ``file:`` URI names another machine, or no absolute path; or a URI has a password in it.
    """
    checked_location(base_path, "base path of a file sink")
    if base_path.startswith("file:"):
        authority, slash, path = base_path.removeprefix("file:").removeprefix("//").partition("/")
        if authority not in ("", "localhost") or not slash:
            raise ConfigurationError(
                f"base path {base_path!r} of a file sink names no absolute path of this machine; "
                "write it as file:///directory"
            )
        return os.path.abspath(slash + path)
    return directory(base_path) if _URI.match(base_path) else os.path.abspath(base_path)


def sink_files(base_path: str) -> SinkFiles:
    """Open a base path that :func:`absolute` returned."""
    if _URI.match(base_path):
        return ArrowSinkFiles.from_uri(base_path)
    return LocalSinkFiles(base_path)
