"""The files of a file sink in HDFS or an object store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from rekindle.connectors.files.file_sink_paths import name_of
from rekindle.connectors.files.sink_files import SinkFiles
from rekindle.storage.remote_files import RemoteFiles


class RemoteSinkFiles(SinkFiles):
    """Keep files in HDFS, or in an object store: s3, gs, az, …

    A closed file counts as durable there. On an object store a rename is a copy followed by a removal; a
    commit that broke off in between is completed when it is repeated. What is written there appears when it is closed:
    it is written under its pending name, which saves a copy.
    """

    def __init__(self, files: RemoteFiles) -> None:
        self._files = files
        self.base = files.root
        self.whole_at_once = files.whole_at_once

    def create_base(self) -> None:
        """Create the base directory unless it is there."""
        with self._explaining("create its base directory", ""):
            self._files.make_directory("")

    def create(self, path: str) -> BinaryIO:
        """Create a file for writing, and its directory."""
        with self._explaining("create", path):
            return self._files.output(path)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""
        with self._explaining("read", path):
            return self._files.open(path)

    def seal(self, path: str, stream: BinaryIO) -> None:
        """Close a file that was created here, with all its bytes on the storage."""
        with self._explaining("write to", path):
            stream.close()

    def rename(self, source: str, target: str) -> None:
        """Move a file within its directory; the target does not exist."""
        with self._explaining(f"rename to {name_of(target)!r} the file", source):
            self._files.rename(source, target)

    def sync_directories(self, directories: Iterable[str]) -> None:
        """Do nothing: these storages keep a finished move by themselves."""

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""
        with self._explaining("look at", path):
            return self._files.size(path)

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        with self._explaining("remove", path):
            self._files.delete(path)

    def walk(self) -> list[str]:
        """List all files below the base path, in all buckets."""
        with self._explaining("list the files below", ""):
            return self._files.walk()
