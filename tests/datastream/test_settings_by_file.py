"""Every key that can stand in conf/rekindle-conf.yaml changes what a job is run with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import RestartStrategies
from rekindle.datastream import (
    ExternalizedCheckpointCleanup,
    FileSystemCheckpointStorage,
    StreamExecutionEnvironment,
)
from rekindle.exceptions import ConfigurationError
from rekindle.runtime.master.settings.job_settings import JobSettings, settle

Effect = Callable[[StreamExecutionEnvironment, JobSettings], Any]


@pytest.fixture
def conf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REKINDLE_CONF_DIR", str(tmp_path))
    return tmp_path / "rekindle-conf.yaml"


def settled(environment: StreamExecutionEnvironment) -> JobSettings:
    return settle(
        "0" * 32,
        "job",
        environment._configuration,
        environment._checkpoint_config,
        environment._config,
        environment._state_backend,
    )


def files_in(settings: JobSettings) -> bool:
    return settings.checkpoint_files is not None


CASES: list[tuple[str, Effect, Any]] = [
    ("state.backend: rocksdb", lambda env, job: job.backend.rocksdb is not None, True),
    ("state.backend: hashmap", lambda env, job: job.backend.rocksdb is not None, False),
    ("state.backend: jobmanager", lambda env, job: files_in(job), False),
    ("state.backend: filesystem\nstate.checkpoints.dir: /c", lambda env, job: files_in(job), True),
    ("state.backend.async: false", lambda env, job: job.asynchronous_snapshots, False),
    ("state.backend.fs.memory-threshold: 3 kb", lambda env, job: job.inline_below, 3072),
    ("state.backend.incremental: true", lambda env, job: job.backend.incremental, True),
    ("state.backend.local-recovery: true", lambda env, job: job.backend.local_recovery, True),
    (
        "state.checkpoints.dir: /c",
        lambda env, job: env.get_checkpoint_config().get_checkpoint_storage(),
        FileSystemCheckpointStorage("/c"),
    ),
    ("state.checkpoints.num-retained: 20", lambda env, job: job.checkpoints.num_retained, 20),
    ("state.savepoints.dir: /s", lambda env, job: job.savepoint_directory, "/s"),
    ("taskmanager.state.local.root-dirs: [/l, /m]", lambda env, job: job.backend.local_directories, ("/l", "/m")),
    ("restart-strategy: none", lambda env, job: job.restart_strategy.describe(), "none"),
    (
        "restart-strategy:\n  type: fixed-delay\n  fixed-delay: {attempts: 4, delay: 2 s}",
        lambda env, job: job.restart_strategy.describe(),
        "fixed-delay (4 attempts, delay 2000 ms)",
    ),
    (
        "restart-strategy.type: failure-rate\nrestart-strategy.failure-rate.max-failures-per-interval: 3\n"
        "restart-strategy.failure-rate.failure-rate-interval: 5 min\nrestart-strategy.failure-rate.delay: 4 s",
        lambda env, job: job.restart_strategy.describe(),
        "failure-rate (at most 3 failures in 300000 ms, delay 4000 ms)",
    ),
    (
        "restart-strategy:\n  type: exponential-delay\n  exponential-delay:\n    initial-backoff: 2 s\n"
        "    max-backoff: 30 s\n    backoff-multiplier: 2.0\n    reset-backoff-threshold: 2 h\n"
        "    jitter-factor: 0.2\n    attempts-before-reset-backoff: 8",
        lambda env, job: job.restart_strategy.describe(),
        "exponential-delay (8 attempts before reset, delay 2000 to 30000 ms, multiplier 2.0, jitter 0.2, "
        "reset after 7200000 ms)",
    ),
    ("execution.checkpointing.interval: 10 s", lambda env, job: job.checkpoints.interval_ms, 10_000),
    ("execution.checkpointing.interval: 10 s", lambda env, job: env.get_checkpoint_interval(), 10_000),
    ("execution.checkpointing.mode: AT_LEAST_ONCE", lambda env, job: job.checkpoints.mode_exactly_once, False),
    ("execution.checkpointing.timeout: 1 min", lambda env, job: job.checkpoints.timeout_ms, 60_000),
    ("execution.checkpointing.min-pause: 5 s", lambda env, job: job.checkpoints.min_pause_ms, 5_000),
    ("execution.checkpointing.max-concurrent-checkpoints: 3", lambda env, job: job.checkpoints.max_concurrent, 3),
    ("execution.checkpointing.tolerable-failed-checkpoints: 2", lambda env, job: job.checkpoints.tolerable_failures, 2),
    (
        "execution.checkpointing.externalized-checkpoint-retention: RETAIN_ON_CANCELLATION",
        lambda env, job: job.retention,
        ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION,
    ),
    (
        "execution.checkpointing: {storage: filesystem, dir: 'file:///c'}",
        lambda env, job: files_in(job),
        True,
    ),
    (
        "execution.checkpointing.force: true",
        lambda env, job: env.get_checkpoint_config().is_force_checkpointing(),
        True,
    ),
    ("execution.state-recovery.path: /p", lambda env, job: job.restore_path, "/p"),
    ("execution.savepoint.path: /p", lambda env, job: job.restore_path, "/p"),
    ("execution.state-recovery.ignore-unclaimed-state: true", lambda env, job: job.consent.unclaimed_state, True),
    (
        "execution.state-recovery.ignore-uncommitted-output: true",
        lambda env, job: job.consent.uncommitted_output,
        True,
    ),
    ("execution.state-recovery.fallback-to-earlier: true", lambda env, job: job.fallback_to_earlier, True),
    ("parallelism.default: 3", lambda env, job: env.get_parallelism(), 3),
    ("parallelism.default: 3", lambda env, job: env.get_config().get_parallelism(), 3),
    ("pipeline.max-parallelism: 64", lambda env, job: env.get_max_parallelism(), 64),
    ("pipeline.max-parallelism: 64", lambda env, job: env.get_config().get_max_parallelism(), 64),
    ("pipeline.global-job-parameters: {a: b, c: d}", lambda env, job: job.job_parameters, {"a": "b", "c": "d"}),
    (
        "pipeline.auto-generate-uids: false",
        lambda env, job: env.get_config().has_auto_generated_uids_enabled(),
        False,
    ),
    ("pipeline.object-reuse: true", lambda env, job: env.get_config().is_object_reuse_enabled(), True),
    (
        "pipeline.auto-watermark-interval: 1 s",
        lambda env, job: env.get_config().get_auto_watermark_interval(),
        1_000,
    ),
    (
        "execution.checkpointing.snapshot-compression: true",
        lambda env, job: (env.get_config().is_use_snapshot_compression(), job.compressed_snapshots),
        (True, True),
    ),
    (
        "task.cancellation: {interval: 2 s, timeout: 9 s}",
        lambda env, job: (
            env.get_config().get_task_cancellation_interval(),
            env.get_config().get_task_cancellation_timeout(),
        ),
        (2_000, 9_000),
    ),
    ("execution.buffer-timeout: 7 ms", lambda env, job: env.get_buffer_timeout(), 7),
    (
        "heartbeat: {interval: 2 s, timeout: 9 s}",
        lambda env, job: (job.heartbeat_ms, job.heartbeat_timeout_ms),
        (2000, 9000),
    ),
    ("jobmanager.rpc.port: 6123", lambda env, job: job.control_port, 6123),
    ("rekindle.slot.orphan-timeout: 3 s", lambda env, job: job.orphan_timeout_ms, 3_000),
    (
        "rekindle.epoch: {max-duration: 2 s, max-records: 9}",
        lambda env, job: (job.epoch_max_ms, job.epoch_max_records),
        (2000, 9),
    ),
    (
        "state.backend: rocksdb\nstate.backend.rocksdb.compression.per.level: [ZSTD_COMPRESSION, LZ4_COMPRESSION]",
        lambda env, job: job.backend.rocksdb and job.backend.rocksdb.compression,
        "zstd",
    ),
    (
        "state.backend: {type: rocksdb, rocksdb.writebuffer.size: 8 mb, rocksdb.localdir: /d}",
        lambda env, job: (
            job.backend.rocksdb and (job.backend.rocksdb.write_buffer_size, job.backend.rocksdb.directories)
        ),
        (8 << 20, ("/d",)),
    ),
]

SAME_AS_DEFAULT = ("state.backend: hashmap", "state.backend: jobmanager", "restart-strategy: none")


@pytest.mark.parametrize(("text", "effect", "expected"), CASES, ids=[case[0].replace("\n", " ") for case in CASES])
def test_a_key_of_the_file_has_its_effect(conf: Path, text: str, effect: Effect, expected: object) -> None:
    conf.write_text(text)
    environment = StreamExecutionEnvironment.get_execution_environment()
    assert effect(environment, settled(environment)) == expected
    conf.write_text("")
    without = StreamExecutionEnvironment.get_execution_environment()
    assert (effect(without, settled(without)) == expected) is (text in SAME_AS_DEFAULT)


def test_the_restart_strategy_of_the_program_wins_over_the_files(conf: Path) -> None:
    conf.write_text("restart-strategy: exponential-delay")
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 10))
    assert settled(environment).restart_strategy.describe() == "fixed-delay (2 attempts, delay 10 ms)"


def test_a_value_that_is_read_at_the_end_is_refused_with_its_line(conf: Path) -> None:
    conf.write_text("\n\nheartbeat.interval: soon\n")
    environment = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(ConfigurationError, match=rf"'soon' for the configuration key 'heartbeat.interval'.*{conf}:3"):
        settled(environment)
