"""The files of a file sink in any file system that pyarrow reaches.

pyarrow is imported where it is used: it takes 0.3 s, and a sink is described without it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, BinaryIO, cast

from rekindle.connectors.files.file_sink_paths import directory_of, join, name_of
from rekindle.connectors.files.sink_files import WRITE_BUFFER_BYTES, SinkFiles, first_line
from rekindle.exceptions import ConfigurationError

_OBJECT_STORES = ("s3", "gcs", "abfs")


class ArrowSinkFiles(SinkFiles):
    """Keep files in a file system of pyarrow: hdfs, s3, gs, …

    A closed file counts as durable there. On an object store a rename is a copy followed by a removal; a
    commit that broke off in between is completed when it is repeated. What is written there appears when it is closed:
    it is written under its pending name, which saves a copy.
    """

    def __init__(self, filesystem: Any, root: str, base: str) -> None:
        self._filesystem = filesystem
        self._root = root.rstrip("/")
        self.base = base.partition("?")[0]  # without the options of a URI: a path follows
        self.whole_at_once = filesystem.type_name in _OBJECT_STORES

    @classmethod
    def from_uri(cls, uri: str) -> ArrowSinkFiles:
        """Open the file system of a URI.

        Raises:
            ConfigurationError: pyarrow does not know it, or cannot reach it.
        """
        from pyarrow.fs import FileSystem

        try:
            filesystem, root = FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"base path {uri!r} of a file sink cannot be used: {first_line(error)}. Give a local path, "
                "or a URI that pyarrow.fs.FileSystem.from_uri understands, such as s3://bucket/directory"
            ) from error
        return cls(filesystem, root, uri)

    def create_base(self) -> None:
        """Create the base directory unless it is there."""
        with self._explaining("create its base directory", ""):
            self._filesystem.create_dir(self._root, recursive=True)

    def create(self, path: str) -> BinaryIO:
        """Create a file for writing, and its directory."""
        with self._explaining("create", path):
            full = self._full(path)
            self._filesystem.create_dir(directory_of(full), recursive=True)
            return cast(BinaryIO, self._filesystem.open_output_stream(full, buffer_size=WRITE_BUFFER_BYTES))

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading, with seek."""
        with self._explaining("read", path):
            return cast(BinaryIO, self._filesystem.open_input_file(self._full(path)))

    def seal(self, path: str, stream: BinaryIO) -> None:
        """Close a file that was created here, with all its bytes on the storage."""
        with self._explaining("write to", path):
            stream.close()

    def rename(self, source: str, target: str) -> None:
        """Move a file within its directory; the target does not exist."""
        with self._explaining(f"rename to {name_of(target)!r} the file", source):
            self._filesystem.move(self._full(source), self._full(target))

    def sync_directories(self, directories: Iterable[str]) -> None:
        """Do nothing: these file systems keep a finished move by themselves."""

    def size(self, path: str) -> int | None:
        """Return the size of a file in bytes; None where there is none."""
        with self._explaining("look at", path):
            from pyarrow.fs import FileType

            info = self._filesystem.get_file_info(self._full(path))
            return None if info.type == FileType.NotFound else int(info.size)

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens where there is none."""
        if self.size(path) is not None:
            with self._explaining("remove", path):
                self._filesystem.delete_file(self._full(path))

    def walk(self) -> list[str]:
        """List all files below the base path, in all buckets."""
        with self._explaining("list the files below", ""):
            from pyarrow.fs import FileSelector, FileType

            selector = FileSelector(self._root, allow_not_found=True, recursive=True)
            infos = self._filesystem.get_file_info(selector)
            return [info.path[len(self._root) :].lstrip("/") for info in infos if info.type == FileType.File]

    def _full(self, path: str) -> str:
        return join(self._root, path)
