"""The path that a location of this machine means, and what every user of one does with a URI of another machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.base.local_path import is_local, local_path
from rekindle.checkpoint.crash_records import read_crash
from rekindle.checkpoint.restoring import check_restore_path
from rekindle.checkpoint.settings.checkpoint_storage import FileSystemCheckpointStorage
from rekindle.checkpoint.settings.state_backend import EmbeddedRocksDBStateBackend
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.common import Encoder
from rekindle.datastream.connectors.file_system import FileSink
from rekindle.exceptions import ConfigurationError
from rekindle.graph.transformations.sources import TextFiles
from rekindle.testing.in_process.text_lines import found_files


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/data/x", "/data/x"),
        ("data/x", "data/x"),
        ("file:/data/x", "/data/x"),
        ("file:///data/x", "/data/x"),
        ("file:////data/x/", "/data/x/"),
        ("file://localhost/data/x", "/data/x"),
        ("FILE://LocalHost/data/x", "/data/x"),
        ("file:///", "/"),
        ("file:///localhost/x", "/localhost/x"),
    ],
)
def test_the_host_of_a_uri_is_no_part_of_the_path(location: str, path: str) -> None:
    assert is_local(location)
    assert local_path(location) == path


@pytest.mark.parametrize(
    ("location", "meant"),
    [("file://data/chk", "file:///data/chk"), ("file://data", "file:///data"), ("file:data/chk", "file:///data/chk")],
)
def test_another_host_or_no_absolute_path_raises_with_what_was_probably_meant(location: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=f"write {meant} for a file of this machine"):
        local_path(location)


def test_other_schemes_are_elsewhere() -> None:
    assert not is_local("hdfs://namenode/data")
    assert is_local("file-system/data")


USERS: dict[str, Callable[[str], Any]] = {
    "checkpoints": lambda uri: checkpoint_files(uri),
    "checkpoint storage": lambda uri: FileSystemCheckpointStorage(uri),
    "RocksDB": lambda uri: EmbeddedRocksDBStateBackend().set_db_storage_paths(uri),
    "restoring": lambda uri: check_restore_path(uri),
    "crash records": lambda uri: read_crash(uri),
    "file sink": lambda uri: FileSink.for_row_format(uri, Encoder.simple_string_encoder()).build(),
    "text files without Spark": lambda uri: found_files(TextFiles((uri,))),
}


@pytest.mark.parametrize("user", USERS)
def test_nobody_takes_a_machine_for_a_directory(user: str) -> None:
    with pytest.raises(ConfigurationError, match="is on the machine 'data'"):
        USERS[user]("file://data/chk")


def test_localhost_is_this_machine(tmp_path: Path) -> None:
    checkpoint_files(f"file://localhost{tmp_path}").create("job", b"x")
    assert (tmp_path / "job").read_bytes() == b"x"
