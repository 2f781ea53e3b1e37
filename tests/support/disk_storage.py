"""Storages in a directory of the disk, for tests that need no server: one as HDFS is, one as an object store is."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from obstore.store import LocalStore

from rekindle.storage.object_files import ObjectFiles
from rekindle.storage.remote_files import RemoteFiles


class DiskObjects(ObjectFiles):
    """Keep objects as files, by the product's code for object stores on a store of its client's."""

    def __init__(self, path: Path | str) -> None:
        super().__init__("s3://bucket/objects?region=none", "test")
        self._path = Path(path)
        self.root = "test://out"

    def __reduce__(self) -> tuple[Any, ...]:
        return DiskObjects, (self._path,)

    def _opened(self, retries: dict[str, int | timedelta]) -> LocalStore:
        return LocalStore(self._path, mkdir=True)

    def _remove(self, names: list[str]) -> None:
        super()._remove([name for name in names if not (self._path / name).is_dir()])
        for directory, _, _ in os.walk(self._path, topdown=False):  # object stores have no empty directories
            if directory != str(self._path):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)


class DiskFiles(RemoteFiles):
    """Keep files in directories, which are seen while they are written."""

    whole_at_once = False

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self.root = "test://out"

    def create(self, path: str, data: bytes) -> None:
        with self._new(path, "xb") as stream:
            stream.write(data)

    def write(self, path: str, source: BinaryIO) -> int:
        with self._new(path, "wb") as stream:
            shutil.copyfileobj(source, stream)
            return stream.tell()

    def output(self, path: str) -> BinaryIO:
        return self._new(path, "wb")

    def _new(self, path: str, mode: str) -> Any:
        self.make_directory(os.path.dirname(path))
        return open(self._path / path, mode)

    def open(self, path: str) -> BinaryIO:
        return open(self._path / path, "rb")

    def read(self, path: str) -> bytes:
        return (self._path / path).read_bytes()

    def size(self, path: str) -> int | None:
        try:
            return (self._path / path).stat().st_size
        except FileNotFoundError:
            return None

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(os.listdir(self._path / directory))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def walk(self) -> list[str]:
        return [str(path.relative_to(self._path)) for path in self._path.rglob("*") if path.is_file()]

    def rename(self, source: str, target: str) -> None:
        if (self._path / target).exists():
            raise FileExistsError(errno.EEXIST, "it exists already")
        os.rename(self._path / source, self._path / target)

    def delete(self, path: str) -> None:
        place = self._path / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    def delete_empty(self, directory: str) -> None:
        if not self.names(directory):
            self.delete(directory)

    def make_directory(self, directory: str) -> None:
        os.makedirs(self._path / directory, exist_ok=True)
