"""Where state and checkpoints are kept: who wins, program or configuration, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import pytest

from rekindle.checkpoint.storage import LocalCheckpointFiles
from rekindle.common import Configuration, ExecutionConfig
from rekindle.config.configuration_layers import lay_over
from rekindle.config.configuration_origin import COMMAND_LINE, Origin, OriginKind
from rekindle.config.options import RocksDBOptions
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.checkpoint_config import CheckpointConfig
from rekindle.datastream.checkpoint_storage import JobManagerCheckpointStorage
from rekindle.datastream.state_backend import (
    EmbeddedRocksDBStateBackend,
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    PredefinedOptions,
    RocksDBStateBackend,
    StateBackend,
)
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.settings.job_settings import JobSettings, settle
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import DEFAULT_CACHE_ENTRIES, RocksDBSettings

JOB = "0" * 32
FILE = Origin(OriginKind.FILE, "conf/rekindle-conf.yaml", 1)
AROUND = [FILE, Origin(OriginKind.ENVIRONMENT, "REKINDLE_PROPERTIES"), COMMAND_LINE]


class Factory:
    """An options factory that changes nothing."""

    def create_db_options(self, options: Any) -> Any:
        return options

    def create_column_options(self, options: Any) -> Any:
        return options


FACTORY = Factory()


class HalfAFactory:
    def create_db_options(self, options: Any) -> Any:
        return options


def settled(
    backend: StateBackend | None = None,
    storage: JobManagerCheckpointStorage | str | None = None,
    origin: Origin | None = None,
    around: dict[str, str] | None = None,
    **keys: object,
) -> JobSettings:
    """Settle a job; keys are written with two underscores for a dot. ``around`` is what another origin says."""
    configuration = Configuration()
    for key, value in (around or {}).items():
        configuration.put_from(origin or FILE, key, value)
    lay_over(
        configuration, Configuration.from_dict({key.replace("__", "."): str(value) for key, value in keys.items()})
    )
    checkpoint_config = CheckpointConfig(configuration)
    if storage is not None:
        checkpoint_config.set_checkpoint_storage(storage)
    return settle(JOB, "name", configuration, checkpoint_config, ExecutionConfig(), backend)


def directory(settings: JobSettings) -> str | None:
    """Name where checkpoints go; None: the job master's memory."""
    files = settings.checkpoint_files
    assert files is None or isinstance(files, LocalCheckpointFiles)
    return None if files is None else files.root


def rocksdb(backend: StateBackend | None = None, **keys: object) -> RocksDBSettings:
    found = settled(backend, state__backend="rocksdb", **keys).backend.rocksdb
    assert found is not None
    return found


class TestBackend:
    def test_the_heap_is_the_default(self) -> None:
        assert settled().backend == BackendSettings()

    @pytest.mark.parametrize("key", ["state__backend", "state__backend__type"])
    def test_the_configuration_chooses_rocksdb(self, key: str) -> None:
        assert settled(**{key: "rocksdb"}).backend.rocksdb == RocksDBSettings()

    @pytest.mark.parametrize("name", ["hashmap", "jobmanager", "memory"])
    def test_the_other_names_are_the_heap(self, name: str) -> None:
        assert settled(state__backend=name).backend.rocksdb is None

    def test_the_program_wins(self) -> None:
        assert settled(HashMapStateBackend(), state__backend="rocksdb").backend.rocksdb is None
        assert settled(EmbeddedRocksDBStateBackend(), state__backend="hashmap").backend.rocksdb is not None

    def test_an_environment_takes_every_backend_and_nothing_else(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        for backend in (EmbeddedRocksDBStateBackend(), FsStateBackend("file:///c"), HashMapStateBackend()):
            assert env.set_state_backend(backend).get_state_backend() is backend
        with pytest.raises(TypeError, match="'rocksdb'"):
            env.set_state_backend("rocksdb")  # type: ignore[arg-type]

    def test_a_backend_does_not_change_the_checkpoint_config(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_state_backend(FsStateBackend("file:///c"))
        assert env.get_checkpoint_config().get_checkpoint_storage() is None


class TestCheckpointStorage:
    def test_the_job_masters_memory_is_the_default(self) -> None:
        assert directory(settled()) is None
        assert directory(settled(EmbeddedRocksDBStateBackend())) is None

    def test_backends_of_flink_1_bring_one_along(self) -> None:
        assert directory(settled(FsStateBackend("file:///c"))) == "/c"
        assert directory(settled(RocksDBStateBackend("file:///c"))) == "/c"
        assert directory(settled(MemoryStateBackend(max_state_size=7))) is None
        assert settled(MemoryStateBackend(max_state_size=7)).memory_limit == 7
        assert settled(FsStateBackend("file:///c", file_state_size_threshold=9)).inline_below == 9

    @pytest.mark.parametrize("backend", [FsStateBackend("file:///c"), MemoryStateBackend(), HashMapStateBackend()])
    def test_what_is_set_on_its_own_wins(self, backend: StateBackend) -> None:
        assert directory(settled(backend, storage="file:///own")) == "/own"
        assert directory(settled(backend, state__checkpoints__dir="file:///own")) == "/own"
        assert directory(settled(backend, storage=JobManagerCheckpointStorage())) is None

    def test_jobmanager_is_memory_unless_one_is_set(self) -> None:
        assert directory(settled(state__backend="jobmanager")) is None
        assert directory(settled(state__backend="jobmanager", state__checkpoints__dir="file:///c")) == "/c"

    def test_filesystem_needs_a_directory(self) -> None:
        assert directory(settled(state__backend="filesystem", state__checkpoints__dir="file:///c")) == "/c"
        with pytest.raises(ConfigurationError, match=r"'filesystem', which needs .* set state\.checkpoints\.dir"):
            settled(state__backend="filesystem")

    def test_the_program_need_not_care_for_what_it_overrides(self) -> None:
        assert directory(settled(HashMapStateBackend(), state__backend="filesystem")) is None


@pytest.mark.parametrize("origin", AROUND, ids=lambda origin: origin.kind.value)
@pytest.mark.parametrize("key", ["state.checkpoints.dir", "execution.checkpointing.dir"])
class TestAroundTheProgram:
    """The program is the highest layer: what is set around it is for what it leaves open."""

    def test_the_directory_of_a_backend_wins_over_one_that_is_set_around_the_program(
        self, origin: Origin, key: str
    ) -> None:
        around = {key: "file:///around", "state.savepoints.dir": "file:///around"}
        for backend in (FsStateBackend("/mine", "/saved"), RocksDBStateBackend("/mine", None, None)):
            assert directory(settled(backend, origin=origin, around=around)) == "/mine"
        other = RocksDBStateBackend(checkpoint_stream_backend=FsStateBackend("/mine", "/saved"))
        assert directory(settled(other, origin=origin, around=around)) == "/mine"
        assert settled(other, origin=origin, around=around).savepoint_directory == "/saved"
        assert settled(FsStateBackend("/mine"), origin=origin, around=around).savepoint_directory == "file:///around"

    def test_backends_that_leave_it_open_take_what_is_set_around_the_program(self, origin: Origin, key: str) -> None:
        for backend in (None, HashMapStateBackend(), EmbeddedRocksDBStateBackend()):
            assert directory(settled(backend, origin=origin, around={key: "file:///around"})) == "/around"

    def test_what_the_program_sets_on_its_own_wins_over_both(self, origin: Origin, key: str) -> None:
        around = {key: "file:///around", "state.savepoints.dir": "file:///around"}
        backend = FsStateBackend("/mine", "/saved")
        assert directory(settled(backend, "/own", origin, around)) == "/own"
        assert directory(settled(backend, None, origin, around, state__checkpoints__dir="/own")) == "/own"
        own = settled(backend, None, origin, around, state__savepoints__dir="file:///own")
        assert own.savepoint_directory == "file:///own"

    def test_memory_keeps_its_state_in_metadata_which_goes_to_the_directory(self, origin: Origin, key: str) -> None:
        for backend, wanted in ((MemoryStateBackend("/mine"), "/mine"), (MemoryStateBackend(), "/around")):
            found = settled(backend, origin=origin, around={key: "file:///around"})
            assert directory(found) == wanted
            assert found.state_files is None
        found = settled(None, JobManagerCheckpointStorage(max_state_size=7), origin, {key: "file:///around"})
        assert (directory(found), found.state_files, found.memory_limit) == ("/around", None, 7)


@pytest.mark.parametrize("retention", ["RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION"])
@pytest.mark.parametrize("where", [None, "file:///c"])
def test_to_retain_checkpoints_that_are_in_memory_warns_at_the_start(
    retention: str, where: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    keys = {} if where is None else {"state__checkpoints__dir": where}
    settled(
        execution__checkpointing__interval="1 s",
        **{"execution__checkpointing__externalized-checkpoint-retention": retention},
        **keys,
    )
    warned = "is RETAIN_ON_CANCELLATION, and checkpoints are kept in the driver's memory" in caplog.text
    assert warned == (where is None and retention == "RETAIN_ON_CANCELLATION")


class TestFlags:
    @pytest.mark.parametrize("key", ["state__backend__incremental", "execution__checkpointing__incremental"])
    def test_incremental_by_configuration_for_every_backend(self, key: str) -> None:
        for backend in (None, HashMapStateBackend(), EmbeddedRocksDBStateBackend()):
            assert settled(backend, **{key: "true"}).backend.incremental
            assert not settled(backend).backend.incremental

    def test_incremental_by_the_backend_wins(self) -> None:
        assert settled(EmbeddedRocksDBStateBackend(True)).backend.incremental
        assert settled(RocksDBStateBackend("file:///c", True)).backend.incremental
        assert not settled(EmbeddedRocksDBStateBackend(False), state__backend__incremental="true").backend.incremental

    def test_asynchronous_snapshots(self) -> None:
        assert settled().asynchronous_snapshots
        assert not settled(state__backend__async="false").asynchronous_snapshots
        assert not settled(MemoryStateBackend(), state__backend__async="false").asynchronous_snapshots
        asynchronous = FsStateBackend("file:///c", using_asynchronous_snapshots=True)
        assert settled(asynchronous, state__backend__async="false").asynchronous_snapshots
        assert not settled(MemoryStateBackend(using_asynchronous_snapshots=False)).asynchronous_snapshots

    def test_local_recovery(self) -> None:
        found = settled(**{"state__backend__local-recovery": "true", "taskmanager__state__local__root-dirs": "/a,/b"})
        assert found.backend == BackendSettings(local_recovery=True, local_directories=("/a", "/b"))

    def test_fallback(self) -> None:
        assert not settled().fallback_to_earlier
        assert settled(**{"execution__state-recovery__fallback-to-earlier": "true"}).fallback_to_earlier

    def test_the_directory_of_savepoints(self) -> None:
        brought = FsStateBackend("file:///c", "file:///s")
        assert settled().savepoint_directory is None
        assert settled(brought).savepoint_directory == "file:///s"
        assert settled(RocksDBStateBackend(checkpoint_stream_backend=brought)).savepoint_directory == "file:///s"
        assert settled(brought, state__savepoints__dir="file:///own").savepoint_directory == "file:///own"
        assert settled(HashMapStateBackend(), state__savepoints__dir="/own").savepoint_directory == "/own"


class TestRocksDB:
    def test_every_setting_can_be_configured(self) -> None:
        prefix = "state__backend__rocksdb__"
        found = rocksdb(
            **{
                f"{prefix}localdir": "/a:/b,file:///c",
                f"{prefix}predefined-options": "flash-ssd-optimized",
                f"{prefix}options-factory": f"{__name__}:Factory",
                f"{prefix}writebuffer__size": "1 mb",
                f"{prefix}writebuffer__count": 3,
                f"{prefix}writebuffer__number-to-merge": 2,
                f"{prefix}block__cache-size": "2 mb",
                f"{prefix}block__blocksize": "3 kb",
                f"{prefix}use-bloom-filter": "true",
                f"{prefix}compression__per__level": "LZ4_COMPRESSION",
                f"{prefix}thread__num": 4,
                f"{prefix}files__open": -1,
                f"{prefix}checkpoint__transfer__thread__num": 6,
                f"{prefix}ttl__compaction__filter__enabled": "false",
                f"{prefix}memory__fixed-per-slot": "64 mb",
                f"{prefix}memory__write-buffer-ratio": 0.25,
                f"{prefix}memory__partitioned-index-filters": "true",
                f"{prefix}timer-service__factory": "rocksdb",
                f"{prefix}timer-service__cache-size": 12,
                "rekindle__rocksdb__cache__entries": 0,
            }
        )
        assert isinstance(found.options_factory, Factory)
        expected = RocksDBSettings(
            directories=("/a", "/b", "/c"),
            predefined="FLASH_SSD_OPTIMIZED",
            options_factory=found.options_factory,
            write_buffer_size=1 << 20,
            write_buffer_count=3,
            write_buffers_to_merge=2,
            block_cache_size=2 << 20,
            block_size=3 << 10,
            bloom_filter=True,
            compression="lz4",
            background_threads=4,
            open_files=-1,
            cache_entries=0,
            ttl_compaction=False,
            transfer_threads=6,
            memory_per_slot=64 << 20,
            write_buffer_ratio=0.25,
            partitioned_index_filters=True,
            timers=True,
            timer_cache_size=12,
        )
        assert found == expected
        unset = [field.name for field in fields(found) if getattr(found, field.name) == field.default]
        assert unset == []

    def test_the_program_wins_setting_by_setting(self) -> None:
        backend = EmbeddedRocksDBStateBackend()
        backend.set_db_storage_paths("/program")
        backend.set_predefined_options(PredefinedOptions.DEFAULT)
        backend.set_number_of_transfer_threads(9)
        prefix = "state__backend__rocksdb__"
        keys = {
            f"{prefix}localdir": "/file",
            f"{prefix}predefined-options": "FLASH_SSD_OPTIMIZED",
            f"{prefix}checkpoint__transfer__thread__num": 6,
            f"{prefix}files__open": 100,
        }
        found = rocksdb(backend, **keys)
        assert (found.directories, found.predefined, found.transfer_threads) == (("/program",), "DEFAULT", 9)
        assert found.open_files == 100
        found = rocksdb(EmbeddedRocksDBStateBackend(), **keys)
        assert (found.directories, found.predefined, found.transfer_threads) == (("/file",), "FLASH_SSD_OPTIMIZED", 6)

    def test_where_timers_are_is_for_the_program_and_then_for_the_configuration(self) -> None:
        key = "state__backend__rocksdb__timer-service__factory"
        kinds = EmbeddedRocksDBStateBackend.PriorityQueueStateType
        assert not rocksdb().timers
        assert rocksdb(EmbeddedRocksDBStateBackend(), **{key: "ROCKSDB"}).timers
        backend = EmbeddedRocksDBStateBackend()
        backend.set_priority_queue_state_type(kinds.ROCKSDB)
        assert rocksdb(backend, **{key: "HEAP"}).timers
        backend.set_priority_queue_state_type(kinds.HEAP)
        assert not rocksdb(backend, **{key: "ROCKSDB"}).timers

    @pytest.mark.parametrize("ratio", [0, 1, -0.5])
    def test_write_buffers_cannot_have_all_of_the_memory_or_nothing(self, ratio: float) -> None:
        with pytest.raises(ConfigurationError, match=r"memory\.write-buffer-ratio is .*between 0 and 1"):
            rocksdb(**{"state__backend__rocksdb__memory__write-buffer-ratio": ratio})

    def test_the_cache_has_one_default(self) -> None:
        assert RocksDBOptions.CACHE_ENTRIES.default == DEFAULT_CACHE_ENTRIES == rocksdb().cache_entries

    @pytest.mark.parametrize(
        ("text", "codec"),
        [
            ("NO_COMPRESSION", "none"),
            ("SNAPPY_COMPRESSION;ZSTD_COMPRESSION", "snappy"),
            ("[ZSTD_COMPRESSION, LZ4_COMPRESSION]", "zstd"),
            ("bzlib2_compression", "bz2"),
            ("none", "none"),
        ],
    )
    def test_compression_is_the_first_of_the_levels(self, text: str, codec: str) -> None:
        assert rocksdb(state__backend__rocksdb__compression__per__level=text).compression == codec

    def test_an_unknown_compression_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match=r"per\.level is 'rar'; 'rar' in it is not one of bz2, lz4"):
            rocksdb(state__backend__rocksdb__compression__per__level="rar")

    @pytest.mark.parametrize("key", ["state__backend__rocksdb__localdir", "taskmanager__state__local__root-dirs"])
    def test_a_relative_directory_is_refused(self, key: str) -> None:
        with pytest.raises(ConfigurationError, match="'here', which is not an absolute path"):
            rocksdb(**{key: "/there,here"})

    def test_settings_of_rocksdb_do_not_matter_on_the_heap(self) -> None:
        assert settled(state__backend__rocksdb__compression__per__level="rar").backend == BackendSettings()

    def test_settings_can_travel(self) -> None:
        found = settled(EmbeddedRocksDBStateBackend(True)).backend
        assert pickle.loads(pickle.dumps(found)) == found


class TestOptionsFactory:
    @pytest.mark.parametrize("given", [FACTORY, Factory, f"{__name__}:FACTORY", f"{__name__}:Factory"])
    def test_an_object_a_class_or_the_name_of_one(self, given: Any) -> None:
        backend = EmbeddedRocksDBStateBackend()
        backend.set_options(given)
        assert isinstance(rocksdb(backend).options_factory, Factory)

    def test_a_class_by_its_dotted_name_as_in_java(self) -> None:
        factory = rocksdb(**{"state__backend__rocksdb__options-factory": f"{__name__}.Factory"}).options_factory
        assert isinstance(factory, Factory)

    def test_the_program_wins(self) -> None:
        backend = EmbeddedRocksDBStateBackend()
        backend.set_options(FACTORY)
        assert rocksdb(backend, **{"state__backend__rocksdb__options-factory": "no.such"}).options_factory is FACTORY

    @pytest.mark.parametrize("name", ["no_such_module:Factory", f"{__name__}:NoSuch", "Factory", ":Factory"])
    def test_one_that_cannot_be_imported_is_named(self, name: str) -> None:
        with pytest.raises(ConfigurationError, match=f"{name!r}, which cannot be imported: .*Write module:name"):
            rocksdb(**{"state__backend__rocksdb__options-factory": name})

    def test_one_that_lacks_a_method_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="has no method create_column_options"):
            rocksdb(**{"state__backend__rocksdb__options-factory": f"{__name__}:HalfAFactory"})
