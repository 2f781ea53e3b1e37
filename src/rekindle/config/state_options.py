"""Configuration options of state: checkpoints, savepoints, backends, recovery."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOption, ConfigOptions

__all__ = [
    "CheckpointingOptions",
    "RocksDBOptions",
    "StateBackendOptions",
    "StateRecoveryOptions",
]

_key = ConfigOptions.key


class CheckpointingOptions:
    """List the options of checkpoints: when, how, where to."""

    CHECKPOINTING_INTERVAL = (
        _key("execution.checkpointing.interval")
        .duration_type()
        .no_default_value()
        .with_description("Time between the starts of two checkpoints; unset: no checkpoints.")
    )
    CHECKPOINTING_MODE = (
        _key("execution.checkpointing.mode")
        .enum_type(("EXACTLY_ONCE", "AT_LEAST_ONCE"))
        .default_value("EXACTLY_ONCE")
        .with_description("What is guaranteed about a record's effect on the state after a failure.")
    )
    CHECKPOINTING_TIMEOUT = (
        _key("execution.checkpointing.timeout")
        .duration_type()
        .default_value("10 min")
        .with_description("How long a checkpoint may take before it is abandoned.")
    )
    MIN_PAUSE = (
        _key("execution.checkpointing.min-pause")
        .duration_type()
        .default_value("0 ms")
        .with_description("Time between the end of a checkpoint and the start of the next.")
    )
    MAX_CONCURRENT_CHECKPOINTS = (
        _key("execution.checkpointing.max-concurrent-checkpoints")
        .int_type(minimum=1)
        .default_value(1)
        .with_description("How many checkpoints may be in progress at once.")
    )
    TOLERABLE_FAILED_CHECKPOINTS = (
        _key("execution.checkpointing.tolerable-failed-checkpoints")
        .int_type(minimum=0)
        .default_value(0)
        .with_description("How many checkpoints in a row may fail before the job does.")
    )
    EXTERNALIZED_CHECKPOINT_RETENTION = (
        _key("execution.checkpointing.externalized-checkpoint-retention")
        .enum_type(("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"))
        .default_value("NO_EXTERNALIZED_CHECKPOINTS")
        .with_description("What happens to checkpoints when the job is cancelled or fails.")
    )
    NUM_RETAINED = (
        _key("execution.checkpointing.num-retained")
        .int_type(minimum=1)
        .default_value(1)
        .with_fallback_keys("state.checkpoints.num-retained")
        .with_description("How many completed checkpoints are kept.")
    )
    CHECKPOINTS_DIRECTORY = (
        _key("execution.checkpointing.dir")
        .string_type()
        .no_default_value()
        .with_fallback_keys("state.checkpoints.dir", "state.backend.fs.checkpointdir")
        .with_description("Where checkpoints are written.")
    )
    SAVEPOINT_DIRECTORY = (
        _key("execution.checkpointing.savepoint-dir")
        .string_type()
        .no_default_value()
        .with_fallback_keys("state.savepoints.dir", "savepoints.state.backend.fs.dir")
        .with_description("Where savepoints are written if no directory is given.")
    )
    CHECKPOINT_STORAGE = (
        _key("execution.checkpointing.storage")
        .enum_type(("jobmanager", "filesystem"))
        .no_default_value()
        .with_fallback_keys("state.checkpoint-storage")
        .with_description("Where checkpoints live; unset: in files if there is a directory, else in memory.")
    )
    INCREMENTAL = (
        _key("execution.checkpointing.incremental")
        .boolean_type()
        .default_value(False)
        .with_fallback_keys("state.backend.incremental")
        .with_description("Whether a checkpoint writes only what changed since the previous one.")
    )
    MEMORY_THRESHOLD = (
        _key("execution.checkpointing.data-inline-threshold")
        .memory_type()
        .default_value("1 kb")
        .with_fallback_keys("state.storage.fs.memory-threshold", "state.backend.fs.memory-threshold")
        .with_description("State below this size is kept in the checkpoint's metadata file.")
    )
    SNAPSHOT_COMPRESSION = (
        _key("execution.checkpointing.snapshot-compression")
        .boolean_type()
        .default_value(False)
        .with_description("Whether keyed state of the heap, and all of savepoints, is compressed by zstd.")
    )
    FORCE_CHECKPOINTING = (
        _key("execution.checkpointing.force")
        .boolean_type()
        .default_value(False)
        .with_description("Whether programs with iterations have checkpoints, too.")
    )
    CLEANER_PARALLEL_MODE = (
        _key("execution.checkpointing.cleaner.parallel-mode")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("state.checkpoint.cleaner.parallel-mode")
        .with_description("Whether files that are no longer needed are deleted several at a time.")
    )
    HISTORY_SIZE = (
        _key("web.checkpoints.history")
        .int_type(minimum=0)
        .default_value(10)
        .with_fallback_keys("jobmanager.web.checkpoints.history")
        .with_description("How many ended checkpoints the statistics cover.")
    )
    LOCAL_BACKUP_DIRS = (
        _key("execution.checkpointing.local-backup.dirs")
        .string_type()
        .no_default_value()
        .with_fallback_keys("taskmanager.state.local.root-dirs")
        .with_description("Where slots keep local copies of their state, for faster recovery.")
    )


class StateBackendOptions:
    """List the options of state backends."""

    STATE_BACKEND = (
        _key("state.backend.type")
        .enum_type(
            ("hashmap", "rocksdb", "jobmanager", "filesystem"),
            aliases={"memory": "jobmanager", "heap": "hashmap"},
        )
        .default_value("hashmap")
        .with_fallback_keys("state.backend")
        .with_description(
            "Where working state lives: on the heap, or in RocksDB; jobmanager and filesystem are the heap, and also "
            "say where checkpoints go."
        )
    )
    ASYNC_SNAPSHOTS = (
        _key("state.backend.async")
        .boolean_type()
        .default_value(True)
        .with_description("Whether snapshots are written while the job continues.")
    )


def _rocksdb_size(name: str, description: str) -> ConfigOption[int | None]:
    return _key(f"state.backend.rocksdb.{name}").memory_type().no_default_value().with_description(description)


def _rocksdb_count(name: str, description: str, minimum: int = 1) -> ConfigOption[int | None]:
    count = _key(f"state.backend.rocksdb.{name}").int_type(minimum=minimum)
    return count.no_default_value().with_description(description)


class RocksDBOptions:
    """List the options of the RocksDB state backend; what has no default is as the predefined options have it."""

    LOCAL_DIRECTORIES = (
        _key("state.backend.rocksdb.localdir")
        .string_type()
        .no_default_value()
        .with_description("Local directories for RocksDB's files, separated by commas or colons.")
    )
    WRITE_BUFFER_SIZE = _rocksdb_size("writebuffer.size", "Size of a state's write buffer.")
    WRITE_BUFFER_COUNT = _rocksdb_count("writebuffer.count", "Maximum number of write buffers of a state.")
    WRITE_BUFFERS_TO_MERGE = _rocksdb_count(
        "writebuffer.number-to-merge", "How many write buffers are merged before they are written to a file."
    )
    BLOCK_CACHE_SIZE = _rocksdb_size("block.cache-size", "Size of the cache of blocks that were read.")
    BLOCK_SIZE = _rocksdb_size("block.blocksize", "Size of a block, the least that is read from a file.")
    FIXED_MEMORY_PER_SLOT = _rocksdb_size(
        "memory.fixed-per-slot", "Memory of block caches and write buffers together, for all operators of a slot."
    )
    WRITE_BUFFER_RATIO = (
        _key("state.backend.rocksdb.memory.write-buffer-ratio")
        .float_type()
        .default_value(0.5)
        .with_description("How much of the memory of a slot write buffers may take: more than 0, less than 1.")
    )
    PARTITIONED_INDEX_FILTERS = (
        _key("state.backend.rocksdb.memory.partitioned-index-filters")
        .boolean_type()
        .default_value(False)
        .with_description(
            "Whether indexes and filters of files are split up, so that parts of them are in the memory of a slot."
        )
    )
    USE_BLOOM_FILTER = (
        _key("state.backend.rocksdb.use-bloom-filter")
        .boolean_type()
        .no_default_value()
        .with_description("Whether files have bloom filters, which avoid reads of keys that do not exist.")
    )
    COMPRESSION_PER_LEVEL = (
        _key("state.backend.rocksdb.compression.per.level")
        .string_type()
        .no_default_value()
        .with_description("Compression of the files, by RocksDB's names; the first of a list applies to all levels.")
    )
    THREADS = _rocksdb_count("thread.num", "How many threads flush and compact.")
    OPEN_FILES = _rocksdb_count("files.open", "How many files may be open at once; -1: all.", minimum=-1)
    CACHE_ENTRIES = (
        _key("rekindle.rocksdb.cache.entries")
        .int_type(minimum=0)
        .default_value(65_536)
        .with_description("How many entries of each state are kept as Python objects in front of RocksDB; 0: none.")
    )
    TIMER_SERVICE_FACTORY = (
        _key("state.backend.rocksdb.timer-service.factory")
        .enum_type(("HEAP", "ROCKSDB"))
        .default_value("HEAP")
        .with_description(
            "Where timers are: all in memory, or the earliest of them there and all later ones in RocksDB."
        )
    )
    TIMER_CACHE_SIZE = (
        _key("state.backend.rocksdb.timer-service.cache-size")
        .int_type(minimum=1)
        .default_value(128)
        .with_description("How many timers of each key group are in memory, if timers are in RocksDB.")
    )
    TTL_COMPACTION_FILTER = (
        _key("state.backend.rocksdb.ttl.compaction.filter.enabled")
        .boolean_type()
        .default_value(True)
        .with_description(
            "Whether expired state is removed in the background: entries are visited in turn, one for every record."
        )
    )
    TRANSFER_THREADS = (
        _key("state.backend.rocksdb.checkpoint.transfer.thread.num")
        .int_type(minimum=1)
        .default_value(4)
        .with_description("How many files a slot uploads or downloads at once.")
    )
    PREDEFINED_OPTIONS = (
        _key("state.backend.rocksdb.predefined-options")
        .enum_type(
            (
                "DEFAULT",
                "SPINNING_DISK_OPTIMIZED",
                "SPINNING_DISK_OPTIMIZED_HIGH_MEM",
                "FLASH_SSD_OPTIMIZED",
            )
        )
        .default_value("DEFAULT")
        .with_description("A set of RocksDB's settings for a kind of disk.")
    )
    OPTIONS_FACTORY = (
        _key("state.backend.rocksdb.options-factory")
        .string_type()
        .no_default_value()
        .with_description("A factory of RocksDB's settings, as module:name of an object or class.")
    )


class StateRecoveryOptions:
    """List the options of starting from a savepoint or checkpoint."""

    SAVEPOINT_PATH = (
        _key("execution.state-recovery.path")
        .string_type()
        .no_default_value()
        .with_fallback_keys("execution.savepoint.path")
        .with_description("The savepoint or checkpoint that the job starts from.")
    )
    IGNORE_UNCLAIMED_STATE = (
        _key("execution.state-recovery.ignore-unclaimed-state")
        .boolean_type()
        .default_value(False)
        .with_fallback_keys("execution.savepoint.ignore-unclaimed-state")
        .with_description("Whether state that no operator asks for is dropped instead of an error.")
    )
    IGNORE_UNCOMMITTED_OUTPUT = (
        _key("execution.state-recovery.ignore-uncommitted-output")
        .boolean_type()
        .default_value(False)
        .with_description("Whether unclaimed state is dropped even if it is output that was not committed yet.")
    )
    FALLBACK_TO_EARLIER = (
        _key("execution.state-recovery.fallback-to-earlier")
        .boolean_type()
        .default_value(False)
        .with_description("Whether to fall back to an earlier checkpoint if one is damaged.")
    )
    CLAIM_MODE = (
        _key("execution.state-recovery.claim-mode")
        .enum_type(("NO_CLAIM", "CLAIM", "LEGACY"))
        .default_value("NO_CLAIM")
        .with_fallback_keys("execution.savepoint-restore-mode")
        .with_description(
            "Whether the job owns what it started from, and eventually deletes it; LEGACY means NO_CLAIM."
        )
    )
    LOCAL_RECOVERY = (
        _key("execution.state-recovery.from-local")
        .boolean_type()
        .default_value(False)
        .with_fallback_keys("execution.checkpointing.local-backup.enabled", "state.backend.local-recovery")
        .with_description("Whether slots keep local copies of their state, for faster recovery.")
    )
