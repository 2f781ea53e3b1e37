"""The checkpoint storage values: defaults, normalization, validation."""

from __future__ import annotations

import pytest

from rekindle.config.options import CheckpointingOptions
from rekindle.datastream.checkpoint_storage import (
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError


def test_job_manager_storage_takes_five_mebibytes_by_default() -> None:
    storage = JobManagerCheckpointStorage()
    assert storage.get_max_state_size() == 5 * 1024 * 1024
    assert JobManagerCheckpointStorage.DEFAULT_MAX_STATE_SIZE == 5 * 1024 * 1024
    assert storage.get_checkpoint_path() is None
    assert storage.get_savepoint_path() is None


def test_job_manager_storage_keeps_what_it_was_given() -> None:
    storage = JobManagerCheckpointStorage("file:///checkpoints/", 100)
    assert storage.get_checkpoint_path() == "file:///checkpoints"
    assert storage.get_max_state_size() == 100


@pytest.mark.parametrize("size", [0, -1])
def test_job_manager_storage_without_room_raises(size: int) -> None:
    with pytest.raises(ConfigurationError, match="max_state_size"):
        JobManagerCheckpointStorage(max_state_size=size)


def test_file_system_storage_reports_the_options_defaults_for_what_it_leaves_open() -> None:
    storage = FileSystemCheckpointStorage("file:///checkpoints")
    assert storage.get_min_file_size_threshold() == CheckpointingOptions.MEMORY_THRESHOLD.default
    assert storage.get_write_buffer_size() == 4096
    assert storage.get_savepoint_path() is None
    assert not storage.is_min_file_size_threshold_set()
    assert not storage.is_write_buffer_size_set()


def test_file_system_storage_keeps_what_it_was_given() -> None:
    storage = FileSystemCheckpointStorage("s3://bucket/dir", 0, 1)
    assert storage.get_checkpoint_path() == "s3://bucket/dir"
    assert storage.get_min_file_size_threshold() == 0
    assert storage.get_write_buffer_size() == 1
    assert storage.is_min_file_size_threshold_set()
    assert storage.is_write_buffer_size_set()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("file://localhost/var/checkpoints/", "file://localhost/var/checkpoints"),
        ("file:///var/checkpoints//", "file:///var/checkpoints"),
        ("hdfs://namenode:40010/flink/checkpoints", "hdfs://namenode:40010/flink/checkpoints"),
        ("/var/checkpoints/", "/var/checkpoints"),
    ],
)
def test_file_system_storage_drops_trailing_slashes(given: str, kept: str) -> None:
    assert FileSystemCheckpointStorage(given).get_checkpoint_path() == kept


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("  ", "empty"),
        ("checkpoints", "relative"),
        ("./checkpoints", "relative"),
        ("/", "root directory"),
        ("file:///", "root directory"),
        ("s3://bucket", "root directory"),
        ("s3://bucket/", "root directory"),
        (None, "string"),
    ],
)
def test_a_directory_that_cannot_work_raises_and_says_why(path: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        FileSystemCheckpointStorage(path)


def test_thresholds_out_of_range_raise() -> None:
    for threshold in (-2, FileSystemCheckpointStorage.MAX_FILE_STATE_THRESHOLD + 1):
        with pytest.raises(ConfigurationError, match="file_state_size_threshold"):
            FileSystemCheckpointStorage("file:///checkpoints", threshold)
    largest = FileSystemCheckpointStorage("file:///checkpoints", 1024 * 1024)
    assert largest.get_min_file_size_threshold() == 1024 * 1024
    with pytest.raises(ConfigurationError, match="write_buffer_size"):
        FileSystemCheckpointStorage("file:///checkpoints", write_buffer_size=-2)


def test_storages_are_equal_by_kind_and_settings() -> None:
    assert FileSystemCheckpointStorage("/a/") == FileSystemCheckpointStorage("/a")
    assert hash(FileSystemCheckpointStorage("/a/")) == hash(FileSystemCheckpointStorage("/a"))
    assert FileSystemCheckpointStorage("/a") != FileSystemCheckpointStorage("/b")
    assert FileSystemCheckpointStorage("/a") != JobManagerCheckpointStorage("/a")
    assert "checkpoint_path='/a'" in repr(FileSystemCheckpointStorage("/a"))


def test_a_java_storage_is_refused() -> None:
    with pytest.raises(InvalidProgramError, match="Java"):
        CustomCheckpointStorage(object())
