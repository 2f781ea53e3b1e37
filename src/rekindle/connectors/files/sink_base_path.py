"""What the base path of a file sink means: a local directory, or a URI of HDFS or an object store."""

from __future__ import annotations

import os
import re

from rekindle.base.local_path import local_path
from rekindle.checkpoint.paths import checked_location, directory
from rekindle.connectors.files.local_sink_files import LocalSinkFiles
from rekindle.connectors.files.remote_sink_files import RemoteSinkFiles
from rekindle.connectors.files.sink_files import SinkFiles
from rekindle.storage.remote_storage import remote_files

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")


def absolute(base_path: str) -> str:
    """Make a local base path absolute and free of its ``file:`` scheme; give every path and URI its one form.

    Raises:
        ConfigurationError: A ``file:`` URI names another machine, or no absolute path; or a URI has a password in it.
    """
    checked_location(base_path, "base path of a file sink")
    local = local_path(base_path)
    return directory(base_path) if _URI.match(local) else os.path.abspath(local)


def sink_files(base_path: str) -> SinkFiles:
    """Open a base path that :func:`absolute` returned."""
    if _URI.match(base_path):
        return RemoteSinkFiles(remote_files(base_path, "base path of a file sink"))
    return LocalSinkFiles(base_path)
