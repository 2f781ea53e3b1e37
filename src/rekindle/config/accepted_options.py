"""The one table of what is known and does nothing here: names that programs and files need not drop, and the reason."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOption, ConfigOptions

__all__ = ["AcceptedOptions"]

_key = ConfigOptions.key
_ALIGNED = "There is nothing to align: a checkpoint is taken between two epochs."
_NOTHING_IN_FLIGHT = "No record is in flight at a checkpoint."
_ONE_FILE = "A slot writes the heap state of all its operators into one file."
_KILLED = "Slots are processes: one that does not end when it is told to is killed."


def _python(key: str) -> ConfigOption[str | None]:
    option = _key(key).string_type().no_default_value()
    return option.with_description("Functions run in Rekindle's own Python processes, one for each slot.")


class AcceptedOptions:
    """List the options that are accepted and have no effect; the description of each is the reason.

    What a program sets by a method, such as ``env.disable_operator_chaining()``, is remembered and given back. Every
    other option is read by what acts on it.
    """

    # -- checkpoints

    UNALIGNED = (
        _key("execution.checkpointing.unaligned.enabled")
        .boolean_type()
        .default_value(False)
        .with_fallback_keys("execution.checkpointing.unaligned")
        .with_description(_ALIGNED)
    )
    FORCE_UNALIGNED = (
        _key("execution.checkpointing.unaligned.forced").boolean_type().default_value(False).with_description(_ALIGNED)
    )
    INTERRUPTIBLE_TIMERS = (
        _key("execution.checkpointing.unaligned.interruptible-timers.enabled")
        .boolean_type()
        .default_value(False)
        .with_description(_ALIGNED)
    )
    ALIGNED_CHECKPOINT_TIMEOUT = (
        _key("execution.checkpointing.aligned-checkpoint-timeout")
        .duration_type()
        .default_value("0 ms")
        .with_fallback_keys("execution.checkpointing.alignment-timeout")
        .with_description(_ALIGNED)
    )
    MAX_SUBTASKS_PER_CHANNEL_STATE_FILE = (
        _key("execution.checkpointing.unaligned.max-subtasks-per-channel-state-file")
        .int_type(minimum=1)
        .default_value(5)
        .with_description(_NOTHING_IN_FLIGHT)
    )
    RECOVER_OUTPUT_ON_DOWNSTREAM = (
        _key("execution.checkpointing.unaligned.recover-output-on-downstream.enabled")
        .boolean_type()
        .default_value(False)
        .with_description(_NOTHING_IN_FLIGHT)
    )
    INTERVAL_DURING_BACKLOG = (
        _key("execution.checkpointing.interval-during-backlog")
        .duration_type()
        .no_default_value()
        .with_description("No source reports that it is working through a backlog.")
    )
    CHECKPOINTS_AFTER_TASKS_FINISH = (
        _key("execution.checkpointing.checkpoints-after-tasks-finish")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("execution.checkpointing.checkpoints-after-tasks-finish.enabled")
        .with_description("Checkpoints always continue after sources have ended. The last one commits all output.")
    )
    DURING_RECOVERY = (
        _key("execution.checkpointing.during-recovery.enabled")
        .boolean_type()
        .default_value(False)
        .with_description("State is restored before the first record.")
    )
    CREATE_SUBDIR = (
        _key("execution.checkpointing.create-subdir")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("state.checkpoints.create-subdir")
        .with_description("Every job has a directory of its own, which makes its clean-up safe.")
    )
    WRITE_BUFFER_SIZE = (
        _key("execution.checkpointing.write-buffer-size")
        .memory_type()
        .default_value("4 kb")
        .with_fallback_keys("state.storage.fs.write-buffer-size", "state.backend.fs.write-buffer-size")
        .with_description("Files are written in blocks of 1 MiB.")
    )
    FILE_MERGING_ENABLED = (
        _key("execution.checkpointing.file-merging.enabled")
        .boolean_type()
        .default_value(False)
        .with_description(_ONE_FILE)
    )
    FILE_MERGING_ACROSS_BOUNDARY = (
        _key("execution.checkpointing.file-merging.across-checkpoint-boundary")
        .boolean_type()
        .default_value(False)
        .with_description(_ONE_FILE)
    )
    FILE_MERGING_MAX_FILE_SIZE = (
        _key("execution.checkpointing.file-merging.max-file-size")
        .memory_type()
        .default_value("32 mb")
        .with_description(_ONE_FILE)
    )
    FILE_MERGING_POOL_BLOCKING = (
        _key("execution.checkpointing.file-merging.pool-blocking")
        .boolean_type()
        .default_value(False)
        .with_description(_ONE_FILE)
    )
    FILE_MERGING_MAX_SUBTASKS_PER_FILE = (
        _key("execution.checkpointing.file-merging.max-subtasks-per-file")
        .int_type(minimum=1)
        .default_value(4)
        .with_description(_ONE_FILE)
    )
    FILE_MERGING_MAX_SPACE_AMPLIFICATION = (
        _key("execution.checkpointing.file-merging.max-space-amplification")
        .float_type()
        .default_value(2.0)
        .with_description(_ONE_FILE)
    )

    # -- state

    ROCKSDB_MANAGED_MEMORY = (
        _key("state.backend.rocksdb.memory.managed")
        .boolean_type()
        .default_value(True)
        .with_description("Slots have no managed memory: set state.backend.rocksdb.memory.fixed-per-slot.")
    )
    ROCKSDB_HIGH_PRIORITY_POOL_RATIO = (
        _key("state.backend.rocksdb.memory.high-prio-pool-ratio")
        .float_type()
        .default_value(0.1)
        .with_description("RocksDB's Python library has caches of one priority.")
    )

    # -- the graph and its execution

    OPERATOR_CHAINING = (
        _key("pipeline.operator-chaining.enabled")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("pipeline.operator-chaining")
        .with_description("Operators without an exchange between them always run in one process, one after the other.")
    )
    OPERATOR_CHAINING_DIFFERENT_MAX_PARALLELISM = (
        _key("pipeline.operator-chaining.chain-operators-with-different-max-parallelism")
        .boolean_type()
        .default_value(True)
        .with_description("See pipeline.operator-chaining.enabled.")
    )
    OBJECT_REUSE = (
        _key("pipeline.object-reuse")
        .boolean_type()
        .default_value(False)
        .with_description(
            "Functions hand each other the same objects; copies are made where a stream has several consumers."
        )
    )
    JARS = (
        _key("pipeline.jars")
        .string_type()
        .no_default_value()
        .with_description("There is no Flink to load a jar. For Spark's, set spark.jars.")
    )
    CLASSPATHS = (
        _key("pipeline.classpaths")
        .string_type()
        .no_default_value()
        .with_description("There is no Flink to load a class. For Spark's, set spark.jars.")
    )
    BUFFER_TIMEOUT = (
        _key("execution.buffer-timeout.interval")
        .duration_type()
        .default_value("100 ms")
        .with_fallback_keys("execution.buffer-timeout")
        .with_description("Epochs decide when records are sent on.")
    )

    # -- processes

    TMP_DIRS = (
        _key("io.tmp.dirs")
        .string_type()
        .no_default_value()
        .with_fallback_keys("taskmanager.tmp.dirs")
        .with_description("Slots work in execution.checkpointing.local-backup.dirs, else in the system's directory.")
    )
    RPC_ADDRESS = (
        _key("jobmanager.rpc.address")
        .string_type()
        .no_default_value()
        .with_description("Slots reach the driver at the address that Spark uses, spark.driver.host.")
    )
    CANCELLATION_INTERVAL = (
        _key("task.cancellation.interval").duration_type().default_value("30 s").with_description(_KILLED)
    )
    CANCELLATION_TIMEOUT = (
        _key("task.cancellation.timeout").duration_type().default_value("3 min").with_description(_KILLED)
    )
    QUERYABLE_STATE_CLIENT_NETWORK_THREADS = (
        _key("queryable-state.client.network-threads")
        .int_type(minimum=0)
        .default_value(0)
        .with_fallback_keys("query.client.network-threads")
        .with_description("A client has one thread that reads answers.")
    )

    # -- PyFlink's Python processes

    BUNDLE_SIZE = _python("python.fn-execution.bundle.size")
    BUNDLE_TIME = _python("python.fn-execution.bundle.time")
    MANAGED_MEMORY = _python("python.fn-execution.memory.managed")
    STATE_CACHE_SIZE = _python("python.state.cache-size")
    MAP_STATE_READ_CACHE_SIZE = _python("python.map-state.read-cache-size")
    MAP_STATE_WRITE_CACHE_SIZE = _python("python.map-state.write-cache-size")
    MAP_STATE_ITERATE_RESPONSE_BATCH_SIZE = _python("python.map-state.iterate-response-batch-size")
    PYTHON_EXECUTION_MODE = _python("python.execution-mode")
    PYTHON_OPERATOR_CHAINING = _python("python.operator-chaining.enabled")
