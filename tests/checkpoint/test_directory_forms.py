"""A directory is the same with a slash at its end and without, wherever it is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.checkpoint import paths
from rekindle.common import Configuration
from rekindle.connectors.files.sink_base_path import absolute
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from rekindle.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    MemoryStateBackend,
    RocksDBStateBackend,
)
from rekindle.runtime.master.settings.ha_settings import settle_high_availability
from rekindle.runtime.master.settings.state_settings import settle_backend


def db_storage_paths(path: str) -> Any:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths(path)
    return backend.get_db_storage_paths()


def savepoint_directory(path: str) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.set_default_savepoint_directory(path).get_default_savepoint_directory()


def configured(key: str) -> Callable[[str], Any]:
    def settings(path: str) -> Any:
        return settle_backend(EmbeddedRocksDBStateBackend(), Configuration.from_dict({key: path}))

    return settings


def checkpoints_dir(path: str) -> Any:
    configuration = Configuration.from_dict({"execution.checkpointing.dir": path})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    storage = env.get_checkpoint_config().get_checkpoint_storage()
    assert isinstance(storage, FileSystemCheckpointStorage)
    return storage.get_checkpoint_path()


def savepoints_dir(path: str) -> Any:
    configuration = Configuration.from_dict({"state.savepoints.dir": path})
    return StreamExecutionEnvironment.get_execution_environment(configuration).get_default_savepoint_directory()


def high_availability(path: str) -> Any:
    keys = {"high-availability.type": "filesystem", "high-availability.storageDir": path}
    settings = settle_high_availability(Configuration.from_dict(keys), "job", False)
    assert settings is not None
    return settings.files.describe(settings.directory)


NAMED_IN: dict[str, Callable[[str], Any]] = {
    "FileSystemCheckpointStorage": lambda path: FileSystemCheckpointStorage(path).get_checkpoint_path(),
    "JobManagerCheckpointStorage": lambda path: JobManagerCheckpointStorage(path).get_checkpoint_path(),
    "FsStateBackend": lambda path: FsStateBackend(path, path).get_checkpoint_path(),
    "FsStateBackend, savepoints": lambda path: FsStateBackend("file:///x", path).get_savepoint_path(),
    "MemoryStateBackend, savepoints": lambda path: MemoryStateBackend(None, path).get_savepoint_path(),
    "RocksDBStateBackend": lambda path: RocksDBStateBackend(path).get_checkpoint_storage().__dict__,
    "set_db_storage_paths": db_storage_paths,
    "set_default_savepoint_directory": savepoint_directory,
    "FileSink": absolute,
    "execution.checkpointing.dir": checkpoints_dir,
    "state.savepoints.dir": savepoints_dir,
    "state.backend.rocksdb.localdir": configured("state.backend.rocksdb.localdir"),
    "taskmanager.state.local.root-dirs": configured("taskmanager.state.local.root-dirs"),
    "high-availability.storageDir": high_availability,
}


@pytest.mark.parametrize("place", NAMED_IN)
@pytest.mark.parametrize("path", ["/var/state", "file:///var/state"])
def test_a_slash_at_the_end_makes_no_difference(place: str, path: str) -> None:
    named = NAMED_IN[place]
    assert named(f"{path}/") == named(f"{path}//") == named(path)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/a/", "/a"),
        ("a//", "a"),
        ("s3://bucket/", "s3://bucket"),
        ("s3://bucket/a b/", "s3://bucket/a b"),
        ("/", "/"),
        ("file:///", "file:///"),
        ("", ""),
    ],
)
def test_the_root_stays_the_root(path: str, form: str) -> None:
    assert paths.directory(path) == form
