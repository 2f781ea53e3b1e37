from __future__ import annotations

import ast
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

import rekindle
from rekindle.common import ConfigOption, Configuration
from rekindle.config import options
from rekindle.config.options import (
    AcceptedOptions,
    CheckpointingOptions,
    CoreOptions,
    ExecutionOptions,
    HeartbeatOptions,
    JobManagerOptions,
    PipelineOptions,
    QueryableStateOptions,
    RekindleOptions,
    RestartStrategyOptions,
    RocksDBOptions,
    StateBackendOptions,
    StateRecoveryOptions,
    all_options,
    known_key,
    option_groups,
    warn_unknown_keys,
)
from rekindle.exceptions import ConfigurationError

ALL = list(all_options())


@pytest.mark.parametrize(
    ("option", "default"),
    [
        (CheckpointingOptions.CHECKPOINTING_INTERVAL, None),
        (CheckpointingOptions.CHECKPOINTING_MODE, "EXACTLY_ONCE"),
        (CheckpointingOptions.CHECKPOINTING_TIMEOUT, 600_000),
        (CheckpointingOptions.MIN_PAUSE, 0),
        (CheckpointingOptions.MAX_CONCURRENT_CHECKPOINTS, 1),
        (CheckpointingOptions.TOLERABLE_FAILED_CHECKPOINTS, 0),
        (CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION, "NO_EXTERNALIZED_CHECKPOINTS"),
        (CheckpointingOptions.NUM_RETAINED, 1),
        (CheckpointingOptions.CHECKPOINTS_DIRECTORY, None),
        (CheckpointingOptions.INCREMENTAL, False),
        (CheckpointingOptions.MEMORY_THRESHOLD, 1024),
        (StateBackendOptions.STATE_BACKEND, "hashmap"),
        (StateBackendOptions.ASYNC_SNAPSHOTS, True),
        (RocksDBOptions.TTL_COMPACTION_FILTER, True),
        (RocksDBOptions.TRANSFER_THREADS, 4),
        (RocksDBOptions.PREDEFINED_OPTIONS, "DEFAULT"),
        (RocksDBOptions.WRITE_BUFFER_SIZE, None),
        (RocksDBOptions.USE_BLOOM_FILTER, None),
        (RocksDBOptions.CACHE_ENTRIES, 65_536),
        (RocksDBOptions.TIMER_SERVICE_FACTORY, "HEAP"),
        (RocksDBOptions.TIMER_CACHE_SIZE, 128),
        (RocksDBOptions.FIXED_MEMORY_PER_SLOT, None),
        (RocksDBOptions.WRITE_BUFFER_RATIO, 0.5),
        (StateRecoveryOptions.FALLBACK_TO_EARLIER, False),
        (StateRecoveryOptions.CLAIM_MODE, "NO_CLAIM"),
        (StateRecoveryOptions.IGNORE_UNCLAIMED_STATE, False),
        (RestartStrategyOptions.RESTART_STRATEGY, None),
        (RestartStrategyOptions.FIXED_DELAY_ATTEMPTS, 1),
        (RestartStrategyOptions.FIXED_DELAY_DELAY, 1_000),
        (RestartStrategyOptions.FAILURE_RATE_INTERVAL, 60_000),
        (RestartStrategyOptions.EXPONENTIAL_DELAY_MAX_BACKOFF, 60_000),
        (RestartStrategyOptions.EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD, 3_600_000),
        (RestartStrategyOptions.EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER, 1.5),
        (RestartStrategyOptions.EXPONENTIAL_DELAY_JITTER_FACTOR, 0.1),
        (PipelineOptions.MAX_PARALLELISM, -1),
        (AcceptedOptions.OPERATOR_CHAINING, True),
        (PipelineOptions.AUTO_WATERMARK_INTERVAL, 200),
        (ExecutionOptions.RUNTIME_MODE, "STREAMING"),
        (CoreOptions.DEFAULT_PARALLELISM, None),
        (HeartbeatOptions.INTERVAL, 1_000),
        (HeartbeatOptions.TIMEOUT, 50_000),
        (JobManagerOptions.RPC_PORT, 0),
        (QueryableStateOptions.SERVER_PORTS, (9067,)),
        (QueryableStateOptions.PROXY_PORTS, (9069,)),
        (QueryableStateOptions.SERVER_QUERY_THREADS, 0),
        (RekindleOptions.SLOT_ORPHAN_TIMEOUT, 8_000),
        (RekindleOptions.EPOCH_MAX_DURATION, 1_000),
        (RekindleOptions.EPOCH_MAX_RECORDS, 1_000_000),
        (RekindleOptions.PROGRESS, "auto"),
    ],
    ids=lambda value: value.key if isinstance(value, ConfigOption) else "",
)
def test_defaults_hold_while_nothing_is_set(option: ConfigOption[Any], default: object) -> None:
    assert Configuration().get(option) == default


@pytest.mark.parametrize(
    ("option", "old_key", "text", "value"),
    [
        (CheckpointingOptions.CHECKPOINTS_DIRECTORY, "state.checkpoints.dir", "file:///c", "file:///c"),
        (CheckpointingOptions.SAVEPOINT_DIRECTORY, "state.savepoints.dir", "file:///s", "file:///s"),
        (CheckpointingOptions.NUM_RETAINED, "state.checkpoints.num-retained", "3", 3),
        (CheckpointingOptions.INCREMENTAL, "state.backend.incremental", "true", True),
        (CheckpointingOptions.CHECKPOINT_STORAGE, "state.checkpoint-storage", "filesystem", "filesystem"),
        (CheckpointingOptions.MEMORY_THRESHOLD, "state.backend.fs.memory-threshold", "2 kb", 2048),
        (CheckpointingOptions.LOCAL_BACKUP_DIRS, "taskmanager.state.local.root-dirs", "/l", "/l"),
        (StateBackendOptions.STATE_BACKEND, "state.backend", "rocksdb", "rocksdb"),
        (StateRecoveryOptions.SAVEPOINT_PATH, "execution.savepoint.path", "/p", "/p"),
        (StateRecoveryOptions.CLAIM_MODE, "execution.savepoint-restore-mode", "claim", "CLAIM"),
        (StateRecoveryOptions.LOCAL_RECOVERY, "state.backend.local-recovery", "true", True),
        (RestartStrategyOptions.RESTART_STRATEGY, "restart-strategy", "fixeddelay", "fixed-delay"),
        (AcceptedOptions.OPERATOR_CHAINING, "pipeline.operator-chaining", "false", False),
        (AcceptedOptions.BUFFER_TIMEOUT, "execution.buffer-timeout", "1 min", 60_000),
    ],
    ids=lambda value: value.key if isinstance(value, ConfigOption) else "",
)
def test_names_of_flink_1_are_read_while_flink_2s_is_not_set(
    option: ConfigOption[Any], old_key: str, text: str, value: object
) -> None:
    assert known_key(old_key)
    assert Configuration.from_dict({old_key: text}).get(option) == value


@pytest.mark.parametrize(
    "key",
    [
        "state.backend",
        "state.backend.async",
        "state.backend.fs.memory-threshold",
        "state.backend.incremental",
        "state.backend.local-recovery",
        "state.checkpoints.dir",
        "state.checkpoints.num-retained",
        "state.savepoints.dir",
        "taskmanager.state.local.root-dirs",
        "restart-strategy",
        "restart-strategy.type",
        "restart-strategy.fixed-delay.attempts",
        "restart-strategy.fixed-delay.delay",
        "restart-strategy.failure-rate.max-failures-per-interval",
        "restart-strategy.failure-rate.failure-rate-interval",
        "restart-strategy.failure-rate.delay",
        "restart-strategy.exponential-delay.initial-backoff",
        "restart-strategy.exponential-delay.max-backoff",
        "restart-strategy.exponential-delay.backoff-multiplier",
        "restart-strategy.exponential-delay.reset-backoff-threshold",
        "restart-strategy.exponential-delay.jitter-factor",
        "execution.checkpointing.interval",
        "execution.checkpointing.mode",
        "execution.checkpointing.timeout",
        "execution.checkpointing.min-pause",
        "execution.checkpointing.max-concurrent-checkpoints",
        "execution.checkpointing.tolerable-failed-checkpoints",
        "execution.checkpointing.externalized-checkpoint-retention",
        "execution.checkpointing.num-retained",
        "execution.checkpointing.savepoint-dir",
        "execution.checkpointing.incremental",
        "execution.checkpointing.storage",
        "execution.checkpointing.dir",
        "execution.state-recovery.path",
        "execution.runtime-mode",
        "parallelism.default",
        "pipeline.max-parallelism",
        "pipeline.operator-chaining.enabled",
        "heartbeat.interval",
        "heartbeat.timeout",
        "jobmanager.rpc.port",
        "queryable-state.enable",
        "queryable-state.server.ports",
        "queryable-state.proxy.ports",
        "queryable-state.server.network-threads",
        "queryable-state.server.query-threads",
        "queryable-state.proxy.network-threads",
        "queryable-state.proxy.query-threads",
        "execution.state-recovery.fallback-to-earlier",
        "state.backend.rocksdb.block.blocksize",
        "state.backend.rocksdb.block.cache-size",
        "state.backend.rocksdb.checkpoint.transfer.thread.num",
        "state.backend.rocksdb.compression.per.level",
        "state.backend.rocksdb.files.open",
        "state.backend.rocksdb.localdir",
        "state.backend.rocksdb.options-factory",
        "state.backend.rocksdb.predefined-options",
        "state.backend.rocksdb.thread.num",
        "state.backend.rocksdb.ttl.compaction.filter.enabled",
        "state.backend.rocksdb.use-bloom-filter",
        "state.backend.rocksdb.writebuffer.count",
        "state.backend.rocksdb.writebuffer.number-to-merge",
        "state.backend.rocksdb.writebuffer.size",
        "rekindle.rocksdb.cache.entries",
        "rekindle.slot.orphan-timeout",
        "rekindle.epoch.max-duration",
        "rekindle.epoch.max-records",
        "rekindle.progress",
        "spark.master",
        "spark.sql.shuffle.partitions",
    ],
)
def test_every_documented_key_is_known(key: str) -> None:
    assert known_key(key)


@pytest.mark.parametrize("key", ["state.backnd", "spark", "rekindle.", "", "restart-strategy.fixed-delay"])
def test_other_keys_are_unknown(key: str) -> None:
    assert not known_key(key)


def test_no_two_options_share_a_key() -> None:
    keys = [key for option in ALL for key in option.all_keys()]
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("option", ALL, ids=lambda option: option.key)
def test_every_option_is_described_and_can_travel(option: ConfigOption[Any]) -> None:
    assert option.description.endswith(".")
    copy = pickle.loads(pickle.dumps(option))
    assert copy == option
    assert Configuration().get(copy) == option.default


@pytest.mark.parametrize(
    ("key", "value", "option"),
    [
        ("state.backend", "redis", StateBackendOptions.STATE_BACKEND),
        ("execution.checkpointing.interval", "often", CheckpointingOptions.CHECKPOINTING_INTERVAL),
        ("parallelism.default", "0", CoreOptions.DEFAULT_PARALLELISM),
        ("pipeline.max-parallelism", "32769", PipelineOptions.MAX_PARALLELISM),
        ("jobmanager.rpc.port", "65536", JobManagerOptions.RPC_PORT),
        ("rekindle.progress", "loud", RekindleOptions.PROGRESS),
        ("rekindle.rocksdb.cache.entries", "-1", RocksDBOptions.CACHE_ENTRIES),
        ("state.backend.rocksdb.files.open", "-2", RocksDBOptions.OPEN_FILES),
        ("state.backend.rocksdb.writebuffer.count", "0", RocksDBOptions.WRITE_BUFFER_COUNT),
        ("restart-strategy", "sometimes", RestartStrategyOptions.RESTART_STRATEGY),
    ],
)
def test_a_bad_value_raises_with_the_key_it_stands_under(key: str, value: str, option: ConfigOption[Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Configuration.from_dict({key: value}).get(option)
    assert repr(key) in str(caught.value)
    assert repr(value) in str(caught.value)


def test_an_unknown_key_warns_once_with_the_closest_known_one() -> None:
    configuration = Configuration.from_dict({"state.checkpoint.dir": "/c", "parallelism.default": "2"})
    with pytest.warns(UserWarning, match="Unknown configuration key") as caught:
        warn_unknown_keys(configuration)
    assert [str(warning.message) for warning in caught] == [
        "Unknown configuration key 'state.checkpoint.dir' has no effect; did you mean 'state.checkpoints.dir'?"
    ]
    assert caught[0].filename == __file__


def test_each_unknown_key_warns_and_one_like_no_other_gets_no_hint() -> None:
    with pytest.warns(UserWarning, match="Unknown configuration key") as caught:
        warn_unknown_keys(Configuration.from_dict({"zzz": "1", "heartbeat.intervall": "1 s"}))
    assert [str(warning.message) for warning in caught] == [
        "Unknown configuration key 'heartbeat.intervall' has no effect; did you mean 'heartbeat.interval'?",
        "Unknown configuration key 'zzz' has no effect.",
    ]


def test_known_keys_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_unknown_keys(Configuration.from_dict({"spark.master": "local[2]", "state.backend": "rocksdb"}))


def _options_read() -> set[tuple[str, str]]:
    """Return group and name of every option that a module of the package reads, the options' own modules left out."""
    package, found = Path(rekindle.__file__).parent, set()
    for path in package.rglob("*.py"):
        if path.parent.name == "config" and path.stem.endswith("options"):
            continue
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = [name for node in nodes if isinstance(node, ast.ImportFrom) for name in node.names]
        groups = {name.asname or name.name: name.name for name in names if name.name.endswith("Options")}
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in groups:
                found.add((groups[node.value.id], node.attr))
    return found


def test_an_option_that_nothing_reads_is_among_those_without_effect() -> None:
    read = _options_read()
    groups = [each for each in vars(options).values() if isinstance(each, type) and each.__name__.endswith("Options")]
    declared = {
        (group.__name__, name)
        for group in groups
        if group is not AcceptedOptions
        for name, option in vars(group).items()
        if isinstance(option, ConfigOption)
    }
    assert len(declared) > 90
    assert declared - read == set()


def test_what_has_no_effect_says_why() -> None:
    accepted = option_groups()["Accepted, without effect"]
    assert len(accepted) == len({option.key for option in accepted}) > 30
    assert [option.key for option in accepted if not option.description.endswith(".")] == []
