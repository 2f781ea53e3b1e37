"""Settings of checkpoints and executions."""

from rekindle.datastream import CheckpointingMode, ExternalizedCheckpointRetention


def main(env):
    env.enable_checkpointing(1000)
    c = env.get_checkpoint_config()
    print(
        env.get_checkpoint_interval(),
        env.get_checkpointing_mode(),
        c.is_checkpointing_enabled(),
        c.get_checkpoint_interval(),
    )
    print(
        c.get_checkpoint_timeout(),
        c.get_min_pause_between_checkpoints(),
        c.get_max_concurrent_checkpoints(),
        c.get_tolerable_checkpoint_failure_number(),
        c.is_unaligned_checkpoints_enabled(),
        c.get_checkpointing_mode(),
        c.is_force_unaligned_checkpoints(),
    )
    c.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE).set_checkpoint_timeout(
        5000
    ).set_min_pause_between_checkpoints(100).set_max_concurrent_checkpoints(2).set_tolerable_checkpoint_failure_number(
        3
    )
    c.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    c.enable_unaligned_checkpoints()
    print(
        c.get_checkpoint_timeout(),
        c.get_min_pause_between_checkpoints(),
        c.get_max_concurrent_checkpoints(),
        c.get_tolerable_checkpoint_failure_number(),
        c.is_unaligned_checkpoints_enabled(),
        c.get_checkpointing_mode(),
        c.get_externalized_checkpoint_retention(),
        c.is_externalized_checkpoints_enabled(),
    )
    x = env.get_config()
    print(
        x.get_parallelism(),
        x.get_auto_watermark_interval(),
        x.is_object_reuse_enabled(),
        x.get_latency_tracking_interval(),
        x.is_closure_cleaner_enabled(),
        x.get_task_cancellation_interval(),
        x.get_task_cancellation_timeout(),
    )
    x.set_auto_watermark_interval(500).enable_object_reuse().set_latency_tracking_interval(7).set_global_job_parameters(
        {"a": "b"}
    )
    print(
        x.get_auto_watermark_interval(),
        x.is_object_reuse_enabled(),
        x.get_latency_tracking_interval(),
        x.get_global_job_parameters(),
    )
    env.set_max_parallelism(12)
    print(env.get_parallelism(), env.get_max_parallelism())
