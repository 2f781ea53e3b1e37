"""The state backend values: defaults, setters, validation."""

from __future__ import annotations

import pytest

from rekindle.datastream.checkpoint_storage import FileSystemCheckpointStorage, JobManagerCheckpointStorage
from rekindle.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
)
from rekindle.exceptions import ConfigurationError, InvalidProgramError


def test_current_backends_leave_the_checkpoint_storage_open() -> None:
    assert HashMapStateBackend().get_checkpoint_storage() is None
    assert EmbeddedRocksDBStateBackend().get_checkpoint_storage() is None


def test_rocksdb_backend_has_flinks_defaults() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_incremental_checkpoints_enabled()
    assert backend.get_db_storage_paths() == []
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert backend.get_options() is None
    assert backend.get_number_of_transfer_threads() == 4
    assert not backend.is_priority_queue_state_type_set()


def test_timers_of_the_rocksdb_backend_are_in_memory_unless_something_else_is_set() -> None:
    kinds = EmbeddedRocksDBStateBackend.PriorityQueueStateType
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_priority_queue_state_type() is kinds.HEAP
    backend.set_priority_queue_state_type(kinds.ROCKSDB)
    assert backend.get_priority_queue_state_type() is kinds.ROCKSDB
    with pytest.raises(TypeError, match="PriorityQueueStateType"):
        backend.set_priority_queue_state_type("HEAP")  # type: ignore[arg-type]


def test_rocksdb_backend_keeps_what_was_set() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_db_storage_paths("/a", "file:///b")
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_options("my.module.Factory")
    backend.set_number_of_transfer_threads(8)
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_db_storage_paths() == ["/a", "/b"]
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_options() == "my.module.Factory"
    assert backend.get_number_of_transfer_threads() == 8


def test_rocksdb_storage_paths_can_be_reset() -> None:
    for nothing in ((), (None,)):
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths("/a")
        backend.set_db_storage_paths(*nothing)
        assert backend.get_db_storage_paths() == []


@pytest.mark.parametrize(("path", "reason"), [("relative/dir", "relative"), ("hdfs:///x", "local")])
def test_rocksdb_storage_paths_must_be_absolute_and_local(path: str, reason: str) -> None:
    backend = EmbeddedRocksDBStateBackend()
    with pytest.raises(ConfigurationError, match=reason):
        backend.set_db_storage_paths(path)


def test_rocksdb_backend_refuses_what_cannot_work() -> None:
    with pytest.raises(TypeError, match="enable_incremental_checkpointing"):
        EmbeddedRocksDBStateBackend("yes")  # type: ignore[arg-type]
    backend = EmbeddedRocksDBStateBackend()
    with pytest.raises(ConfigurationError, match="transfer threads"):
        backend.set_number_of_transfer_threads(0)
    with pytest.raises(TypeError, match="PredefinedOptions"):
        backend.set_predefined_options("DEFAULT")  # type: ignore[arg-type]


def test_memory_backend_brings_the_job_managers_memory() -> None:
    backend = MemoryStateBackend("file:///c", "file:///s", 100, False)
    assert isinstance(backend, HashMapStateBackend)
    assert backend.get_checkpoint_storage() == JobManagerCheckpointStorage("file:///c", 100)
    assert backend.get_checkpoint_path() == "file:///c"
    assert backend.get_savepoint_path() == "file:///s"
    assert backend.get_max_state_size() == 100
    assert not backend.is_using_asynchronous_snapshots()


def test_memory_backend_has_flinks_defaults() -> None:
    backend = MemoryStateBackend()
    assert backend.get_max_state_size() == MemoryStateBackend.DEFAULT_MAX_STATE_SIZE == 5 * 1024 * 1024
    assert backend.is_using_asynchronous_snapshots()


def test_fs_backend_brings_a_file_system() -> None:
    backend = FsStateBackend("file:///c/", "file:///s", 2048, 8192)
    assert isinstance(backend, HashMapStateBackend)
    assert backend.get_checkpoint_storage() == FileSystemCheckpointStorage("file:///c", 2048, 8192)
    assert backend.get_checkpoint_path() == "file:///c"
    assert backend.get_savepoint_path() == "file:///s"
    assert backend.get_min_file_size_threshold() == 2048
    assert backend.get_write_buffer_size() == 8192
    assert backend.is_using_asynchronous_snapshots()


def test_old_rocksdb_backend_brings_a_file_system_or_its_backends_storage() -> None:
    by_path = RocksDBStateBackend("file:///c", True)
    assert isinstance(by_path, EmbeddedRocksDBStateBackend)
    assert by_path.is_incremental_checkpoints_enabled()
    assert by_path.get_checkpoint_storage() == FileSystemCheckpointStorage("file:///c")

    memory = MemoryStateBackend()
    by_backend = RocksDBStateBackend(checkpoint_stream_backend=memory)
    assert by_backend.get_checkpoint_backend() is memory
    assert by_backend.get_checkpoint_storage() == JobManagerCheckpointStorage()

    with pytest.raises(ConfigurationError, match="checkpoint_data_uri"):
        RocksDBStateBackend()


def test_what_a_backend_leaves_open_is_told_apart_from_what_it_refuses() -> None:
    assert HashMapStateBackend().incremental is None
    assert EmbeddedRocksDBStateBackend().incremental is None
    assert EmbeddedRocksDBStateBackend(False).incremental is False
    assert MemoryStateBackend().asynchronous is None
    assert FsStateBackend("file:///c", using_asynchronous_snapshots=False).asynchronous is False
    backend = EmbeddedRocksDBStateBackend()
    assert not backend.is_predefined_options_set()
    assert not backend.is_number_of_transfer_threads_set()
    backend.set_predefined_options(PredefinedOptions.DEFAULT)
    backend.set_number_of_transfer_threads(4)
    assert backend.is_predefined_options_set()
    assert backend.is_number_of_transfer_threads_set()


def test_only_backends_of_flink_1_name_a_directory_for_savepoints() -> None:
    assert HashMapStateBackend().get_savepoint_path() is None
    assert EmbeddedRocksDBStateBackend().get_savepoint_path() is None
    assert RocksDBStateBackend("file:///c").get_savepoint_path() is None
    brought = FsStateBackend("file:///c", "file:///s")
    assert RocksDBStateBackend(checkpoint_stream_backend=brought).get_savepoint_path() == "file:///s"


def test_backends_are_equal_by_kind_and_settings() -> None:
    assert HashMapStateBackend() == HashMapStateBackend()
    assert HashMapStateBackend() != EmbeddedRocksDBStateBackend()
    changed = EmbeddedRocksDBStateBackend()
    changed.set_number_of_transfer_threads(2)
    assert changed != EmbeddedRocksDBStateBackend()


def test_a_java_backend_is_refused() -> None:
    with pytest.raises(InvalidProgramError, match="Java"):
        CustomStateBackend(object())
