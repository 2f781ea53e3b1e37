"""Options of Flink's checkpoints that are known and do nothing here, each with the reason why."""

from __future__ import annotations

from rekindle.config.config_options import ConfigOptions

__all__ = ["AcceptedCheckpointingOptions"]

_key = ConfigOptions.key


class AcceptedCheckpointingOptions:
    """List the options of checkpoints that programs and files may set without effect."""

    INTERVAL_DURING_BACKLOG = (
        _key("execution.checkpointing.interval-during-backlog")
        .duration_type()
        .no_default_value()
        .with_description("Accepted; no source reports that it is working through a backlog.")
    )
    CHECKPOINTS_AFTER_TASKS_FINISH = (
        _key("execution.checkpointing.checkpoints-after-tasks-finish")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("execution.checkpointing.checkpoints-after-tasks-finish.enabled")
        .with_description("Accepted; checkpoints continue after sources have ended; the last one commits.")
    )
    DURING_RECOVERY = (
        _key("execution.checkpointing.during-recovery.enabled")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; state is restored before the first record.")
    )
    CREATE_SUBDIR = (
        _key("execution.checkpointing.create-subdir")
        .boolean_type()
        .default_value(True)
        .with_fallback_keys("state.checkpoints.create-subdir")
        .with_description("Accepted; every job has a directory of its own, which makes its clean-up safe.")
    )
    INTERRUPTIBLE_TIMERS = (
        _key("execution.checkpointing.unaligned.interruptible-timers.enabled")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; there is nothing to align between epochs.")
    )
    MAX_SUBTASKS_PER_CHANNEL_STATE_FILE = (
        _key("execution.checkpointing.unaligned.max-subtasks-per-channel-state-file")
        .int_type(minimum=1)
        .default_value(5)
        .with_description("Accepted; no record is in flight at a checkpoint.")
    )
    RECOVER_OUTPUT_ON_DOWNSTREAM = (
        _key("execution.checkpointing.unaligned.recover-output-on-downstream.enabled")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; no record is in flight at a checkpoint.")
    )
    FILE_MERGING_ENABLED = (
        _key("execution.checkpointing.file-merging.enabled")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; a slot writes the state of all its operators on the heap into one file.")
    )
    FILE_MERGING_ACROSS_BOUNDARY = (
        _key("execution.checkpointing.file-merging.across-checkpoint-boundary")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; see execution.checkpointing.file-merging.enabled.")
    )
    FILE_MERGING_MAX_FILE_SIZE = (
        _key("execution.checkpointing.file-merging.max-file-size")
        .memory_type()
        .default_value("32 mb")
        .with_description("Accepted; see execution.checkpointing.file-merging.enabled.")
    )
    FILE_MERGING_POOL_BLOCKING = (
        _key("execution.checkpointing.file-merging.pool-blocking")
        .boolean_type()
        .default_value(False)
        .with_description("Accepted; see execution.checkpointing.file-merging.enabled.")
    )
    FILE_MERGING_MAX_SUBTASKS_PER_FILE = (
        _key("execution.checkpointing.file-merging.max-subtasks-per-file")
        .int_type(minimum=1)
        .default_value(4)
        .with_description("Accepted; see execution.checkpointing.file-merging.enabled.")
    )
    FILE_MERGING_MAX_SPACE_AMPLIFICATION = (
        _key("execution.checkpointing.file-merging.max-space-amplification")
        .float_type()
        .default_value(2.0)
        .with_description("Accepted; see execution.checkpointing.file-merging.enabled.")
    )
