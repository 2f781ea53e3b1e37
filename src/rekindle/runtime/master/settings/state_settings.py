"""Where state and checkpoints are kept, settled from program and configuration.

Who wins, from the first to the last:

- **The backend**: ``set_state_backend``, then ``state.backend.type``, then the heap. Of a backend's settings, those of
  the program win over those of the configuration, one by one.
- **The checkpoint storage**: what the program sets on its own (``set_checkpoint_storage``, the keys of storage and
  directory in its configuration), then what its backend brings along, then what is set around the program (in a file,
  the environment, on the command line), then the job master's memory.
- **The directory of savepoints**: what the program sets on its own, then what its backend brings along, then what is
  set around the program.
"""

from __future__ import annotations

import importlib
import os
import re
from typing import Any, TypeVar

from rekindle.checkpoint import paths
from rekindle.checkpoint.restoring import check_restore_path
from rekindle.checkpoint.settings.checkpoint_config import CheckpointConfig
from rekindle.checkpoint.settings.checkpoint_storage import CheckpointStorage, JobManagerCheckpointStorage
from rekindle.checkpoint.settings.state_backend import EmbeddedRocksDBStateBackend, HashMapStateBackend, StateBackend
from rekindle.config.config_options import ConfigOption
from rekindle.config.configuration import Configuration
from rekindle.config.options import (
    CheckpointingOptions,
    HighAvailabilityOptions,
    RocksDBOptions,
    StateBackendOptions,
    StateRecoveryOptions,
)
from rekindle.exceptions import ConfigurationError
from rekindle.state.backend_settings import BackendSettings
from rekindle.state.rocksdb.settings import RocksDBSettings

T = TypeVar("T")

_STORAGE = (CheckpointingOptions.CHECKPOINT_STORAGE, CheckpointingOptions.CHECKPOINTS_DIRECTORY)
_FACTORY_METHODS = ("create_db_options", "create_column_options")
_CODECS = {
    **{name: name for name in ("none", "snappy", "zlib", "bz2", "lz4", "lz4hc", "zstd")},
    "no": "none",
    "disable_compression_option": "none",
    "bzlib2": "bz2",
}


def settle_backend(program: StateBackend | None, configuration: Configuration) -> BackendSettings:
    """Choose and set up the state backend."""
    backend = _backend(program, configuration)
    return BackendSettings(
        rocksdb=_rocksdb(backend, configuration) if isinstance(backend, EmbeddedRocksDBStateBackend) else None,
        incremental=_first(backend.incremental, configuration.get(CheckpointingOptions.INCREMENTAL)),
        local_recovery=configuration.get(StateRecoveryOptions.LOCAL_RECOVERY),
        local_directories=_directories(configuration, CheckpointingOptions.LOCAL_BACKUP_DIRS),
    )


def settle_storage(
    program: StateBackend | None, configuration: Configuration, checkpoint_config: CheckpointConfig
) -> CheckpointStorage:
    """Choose where checkpoints go."""
    storage = None if program is None else program.get_checkpoint_storage()
    if storage is None or _set_by_program(configuration, *_STORAGE):
        storage = checkpoint_config.get_checkpoint_storage() or storage
    if storage is None and program is None and configuration.get(StateBackendOptions.STATE_BACKEND) == "filesystem":
        raise ConfigurationError(
            "state.backend is 'filesystem', which needs a directory for checkpoints: set state.checkpoints.dir"
        )
    directory = configuration.get(CheckpointingOptions.CHECKPOINTS_DIRECTORY)
    if storage is None:
        return JobManagerCheckpointStorage()
    if isinstance(storage, JobManagerCheckpointStorage) and storage.get_checkpoint_path() is None:
        return JobManagerCheckpointStorage(directory, storage.get_max_state_size())
    return storage


def settle_asynchronous(program: StateBackend | None, configuration: Configuration) -> bool:
    """Choose whether snapshots are written while the job goes on."""
    asynchronous = None if program is None else program.asynchronous
    return _first(asynchronous, configuration.get(StateBackendOptions.ASYNC_SNAPSHOTS))


def settle_savepoint_directory(program: StateBackend | None, configuration: Configuration) -> str | None:
    """Choose where savepoints go that name no directory."""
    own = None if program is None else program.get_savepoint_path()
    if own is None or _set_by_program(configuration, CheckpointingOptions.SAVEPOINT_DIRECTORY):
        return configuration.get(CheckpointingOptions.SAVEPOINT_DIRECTORY) or own
    return own


def _set_by_program(configuration: Configuration, *options: ConfigOption[Any]) -> bool:
    """Return whether the program itself has set one of these, rather than what it runs in."""
    keys = [key for option in options for key in option.all_keys() if configuration.contains_key(key)]
    return any(configuration.origin_of(key) is None for key in keys)


def _backend(program: StateBackend | None, configuration: Configuration) -> StateBackend:
    if program is not None:
        return program
    if configuration.get(StateBackendOptions.STATE_BACKEND) == "rocksdb":
        return EmbeddedRocksDBStateBackend()
    return HashMapStateBackend()


def _rocksdb(backend: EmbeddedRocksDBStateBackend, configuration: Configuration) -> RocksDBSettings:
    get = configuration.get
    directories = tuple(backend.get_db_storage_paths())
    predefined = backend.get_predefined_options().name if backend.is_predefined_options_set() else None
    threads = backend.get_number_of_transfer_threads() if backend.is_number_of_transfer_threads_set() else None
    timers = backend.get_priority_queue_state_type().name if backend.is_priority_queue_state_type_set() else None
    return RocksDBSettings(
        directories=directories or _directories(configuration, RocksDBOptions.LOCAL_DIRECTORIES),
        predefined=_first(predefined, get(RocksDBOptions.PREDEFINED_OPTIONS)),
        options_factory=_options_factory(backend, configuration),
        write_buffer_size=get(RocksDBOptions.WRITE_BUFFER_SIZE),
        write_buffer_count=get(RocksDBOptions.WRITE_BUFFER_COUNT),
        write_buffers_to_merge=get(RocksDBOptions.WRITE_BUFFERS_TO_MERGE),
        block_cache_size=get(RocksDBOptions.BLOCK_CACHE_SIZE),
        block_size=get(RocksDBOptions.BLOCK_SIZE),
        bloom_filter=get(RocksDBOptions.USE_BLOOM_FILTER),
        compression=_compression(configuration),
        memory_per_slot=get(RocksDBOptions.FIXED_MEMORY_PER_SLOT),
        write_buffer_ratio=_write_buffer_ratio(configuration),
        partitioned_index_filters=get(RocksDBOptions.PARTITIONED_INDEX_FILTERS),
        background_threads=get(RocksDBOptions.THREADS),
        open_files=get(RocksDBOptions.OPEN_FILES),
        cache_entries=get(RocksDBOptions.CACHE_ENTRIES),
        ttl_compaction=_first(backend.is_ttl_compaction_filter_enabled(), get(RocksDBOptions.TTL_COMPACTION_FILTER)),
        transfer_threads=_first(threads, get(RocksDBOptions.TRANSFER_THREADS)),
        timers=_first(timers, get(RocksDBOptions.TIMER_SERVICE_FACTORY)) == "ROCKSDB",
        timer_cache_size=get(RocksDBOptions.TIMER_CACHE_SIZE),
    )


def _write_buffer_ratio(configuration: Configuration) -> float:
    ratio = configuration.get(RocksDBOptions.WRITE_BUFFER_RATIO)
    if not 0 < ratio < 1:
        raise ConfigurationError(f"{RocksDBOptions.WRITE_BUFFER_RATIO.key} is {ratio}; it must be between 0 and 1")
    return ratio


def _options_factory(backend: EmbeddedRocksDBStateBackend, configuration: Configuration) -> Any:
    source, factory = "set_options", backend.get_options()
    if factory is None:
        source, factory = RocksDBOptions.OPTIONS_FACTORY.key, configuration.get(RocksDBOptions.OPTIONS_FACTORY)
    if isinstance(factory, str):
        factory = _load(factory, source)
    if isinstance(factory, type):
        factory = factory()
    missing = [name for name in _FACTORY_METHODS if not callable(getattr(factory, name, None))]
    if factory is not None and missing:
        raise ConfigurationError(f"{source} gives {factory!r}, which has no method {' and no method '.join(missing)}")
    return factory


def _load(name: str, source: str) -> Any:
    """Import what is named ``module:name``, or ``module.name`` as Java would have it."""
    module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(
            f"{source} is {name!r}, which cannot be imported: {error}. Write module:name of an options factory"
        ) from error


def _compression(configuration: Configuration) -> str | None:
    """Read the codec: the first of a list by levels, by RocksDB's name (``SNAPPY_COMPRESSION``) or in short."""
    text = configuration.get(RocksDBOptions.COMPRESSION_PER_LEVEL)
    if text is None:
        return None
    first = re.split("[,;]", text.strip().strip("[]"))[0].strip(" '\"").lower()
    codec = _CODECS.get(first.removesuffix("_compression"))
    if codec is None:
        known = ", ".join(sorted(set(_CODECS.values())))
        raise ConfigurationError(
            f"{RocksDBOptions.COMPRESSION_PER_LEVEL.key} is {text!r}; {first!r} in it is not one of {known}"
        )
    return codec


def _directories(configuration: Configuration, option: ConfigOption[str | None]) -> tuple[str, ...]:
    """Read local directories, with commas or colons between."""
    parts = re.split(r",|(?<!file):", configuration.get(option) or "")
    directories = tuple(paths.directory(re.sub(r"^file:/+", "/", part.strip())) for part in parts if part.strip())
    for directory in directories:
        if not os.path.isabs(directory):
            raise ConfigurationError(
                f"{option.key} names {directory!r}, which is not an absolute path on a local disk: it would mean a "
                "different directory in every process"
            )
    return directories


def _first(program: T | None, configuration: T) -> T:
    return configuration if program is None else program


def check_restore_setting(configuration: Configuration) -> None:
    """Look whether there is a checkpoint where the configuration says that the job starts from one.

    A cluster takes seconds to start: this is done before. With high availability it may not matter, because a job that
    has completed checkpoints of its own goes on from them.

    Raises:
        CheckpointNotFoundError: There is none.
    """
    path = configuration.get(StateRecoveryOptions.SAVEPOINT_PATH)
    if path is not None and configuration.get(HighAvailabilityOptions.HA_MODE) == "NONE":
        check_restore_path(path)
