"""CheckpointConfig is a typed view over configuration keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Configuration, Duration
from rekindle.datastream.checkpoint_config import CheckpointConfig, ExternalizedCheckpointCleanup
from rekindle.datastream.checkpoint_storage import (
    CheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from rekindle.datastream.checkpointing_mode import CheckpointingMode
from rekindle.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from rekindle.exceptions import ConfigurationError

Retention = ExternalizedCheckpointRetention


@pytest.fixture
def configuration() -> Configuration:
    return Configuration()


@pytest.fixture
def config(configuration: Configuration) -> CheckpointConfig:
    return CheckpointConfig(configuration)


def test_defaults_are_flinks(config: CheckpointConfig) -> None:
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpointing_mode() is CheckpointConfig.DEFAULT_MODE is CheckpointingMode.EXACTLY_ONCE
    assert config.get_checkpoint_timeout() == CheckpointConfig.DEFAULT_TIMEOUT == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert CheckpointConfig.DEFAULT_MIN_PAUSE_BETWEEN_CHECKPOINTS == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert CheckpointConfig.DEFAULT_MAX_CONCURRENT_CHECKPOINTS == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert config.get_externalized_checkpoint_retention() is Retention.NO_EXTERNALIZED_CHECKPOINTS
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == Duration.of_millis(0)
    assert config.get_checkpoint_storage() is None


PREFIX = "execution.checkpointing."
SETTINGS: list[tuple[str, str, Any, str, Any, str]] = [
    # setter, getter, value, key, raw value the setter writes, text with the same meaning in a file
    ("set_checkpoint_interval", "get_checkpoint_interval", 60_000, "interval", 60_000, "1 min"),
    ("set_checkpoint_timeout", "get_checkpoint_timeout", 5_000, "timeout", 5_000, "5 s"),
    (
        "set_min_pause_between_checkpoints",
        "get_min_pause_between_checkpoints",
        500,
        "min-pause",
        500,
        "500 ms",
    ),
    (
        "set_max_concurrent_checkpoints",
        "get_max_concurrent_checkpoints",
        3,
        "max-concurrent-checkpoints",
        3,
        "3",
    ),
    (
        "set_tolerable_checkpoint_failure_number",
        "get_tolerable_checkpoint_failure_number",
        2,
        "tolerable-failed-checkpoints",
        2,
        "2",
    ),
    (
        "set_checkpointing_mode",
        "get_checkpointing_mode",
        CheckpointingMode.AT_LEAST_ONCE,
        "mode",
        "AT_LEAST_ONCE",
        "at-least-once",
    ),
    *(
        (
            f"set_externalized_checkpoint_{name}",
            f"get_externalized_checkpoint_{name}",
            Retention.RETAIN_ON_CANCELLATION,
            "externalized-checkpoint-retention",
            "RETAIN_ON_CANCELLATION",
            "RETAIN_ON_CANCELLATION",
        )
        for name in ("retention", "cleanup")
    ),
    (
        "enable_unaligned_checkpoints",
        "is_unaligned_checkpoints_enabled",
        True,
        "unaligned.enabled",
        True,
        "true",
    ),
    (
        "set_force_unaligned_checkpoints",
        "is_force_unaligned_checkpoints",
        True,
        "unaligned.forced",
        True,
        "true",
    ),
    *(
        (
            f"set_{name}_timeout",
            f"get_{name}_timeout",
            Duration.of_seconds(3),
            "aligned-checkpoint-timeout",
            3000,
            "3 s",
        )
        for name in ("aligned_checkpoint", "alignment")
    ),
]
every_setting = pytest.mark.parametrize(
    ("setter", "getter", "value", "key", "raw", "text"), SETTINGS, ids=[setting[0] for setting in SETTINGS]
)


@every_setting
def test_a_setter_writes_its_key_and_the_getter_reads_it_back(
    config: CheckpointConfig,
    configuration: Configuration,
    setter: str,
    getter: str,
    value: Any,
    key: str,
    raw: Any,
    text: str,
) -> None:
    assert getattr(config, setter)(value) is config
    assert configuration.get_raw(PREFIX + key) == raw
    assert getattr(config, getter)() == value


@every_setting
def test_a_getter_reads_what_a_file_says(
    config: CheckpointConfig,
    configuration: Configuration,
    setter: str,
    getter: str,
    value: Any,
    key: str,
    raw: Any,
    text: str,
) -> None:
    configuration.set_string(PREFIX + key, text)
    assert getattr(config, getter)() == value


@pytest.mark.parametrize(
    ("setter", "smallest", "key"),
    [
        ("set_checkpoint_interval", 1, "interval"),
        ("set_checkpoint_timeout", 1, "timeout"),
        ("set_min_pause_between_checkpoints", 0, "min-pause"),
        ("set_max_concurrent_checkpoints", 1, "max-concurrent-checkpoints"),
        ("set_tolerable_checkpoint_failure_number", 0, "tolerable-failed-checkpoints"),
    ],
)
def test_a_number_too_small_raises_naming_the_option_and_changes_nothing(
    config: CheckpointConfig, configuration: Configuration, setter: str, smallest: int, key: str
) -> None:
    getattr(config, setter)(smallest)
    for too_small in (smallest - 1, -10):
        with pytest.raises(ConfigurationError, match=PREFIX + key):
            getattr(config, setter)(too_small)
    assert configuration.get_raw(PREFIX + key) == smallest


def test_a_value_of_another_type_raises_naming_the_option(config: CheckpointConfig) -> None:
    with pytest.raises(ConfigurationError, match=PREFIX + "interval"):
        config.set_checkpoint_interval(None)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=PREFIX + "mode"):
        config.set_checkpointing_mode("SOMETIMES")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match=PREFIX + "max-concurrent-checkpoints"):
        config.set_max_concurrent_checkpoints(1.5)  # type: ignore[arg-type]


def test_checkpointing_is_enabled_by_an_interval_and_can_be_disabled(config: CheckpointConfig) -> None:
    assert config.set_checkpoint_interval(1).is_checkpointing_enabled()
    assert not config.disable_checkpointing().is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1


def test_failing_on_errors_is_tolerating_none_of_them(config: CheckpointConfig) -> None:
    config.set_fail_on_checkpointing_errors(False)
    assert config.get_tolerable_checkpoint_failure_number() == 2_147_483_647
    assert not config.is_fail_on_checkpointing_errors()
    config.set_fail_on_checkpointing_errors(True)
    assert config.get_tolerable_checkpoint_failure_number() == 0


def test_every_retention_but_none_enables_externalized_checkpoints(config: CheckpointConfig) -> None:
    for retention in Retention:
        config.enable_externalized_checkpoints(retention)
        assert config.get_externalized_checkpoint_retention() is retention
        wanted = retention is not Retention.NO_EXTERNALIZED_CHECKPOINTS
        assert config.is_externalized_checkpoints_enabled() is wanted


def test_the_old_name_of_the_retention_is_the_same_enum() -> None:
    assert ExternalizedCheckpointCleanup is ExternalizedCheckpointRetention


def test_unaligned_checkpoints_can_be_disabled_again(config: CheckpointConfig) -> None:
    config.enable_unaligned_checkpoints().disable_unaligned_checkpoints()
    assert not config.is_unaligned_checkpoints_enabled()


def test_preferring_checkpoints_for_recovery_is_remembered(config: CheckpointConfig) -> None:
    assert not config.is_prefer_checkpoint_for_recovery()
    assert config.set_prefer_checkpoint_for_recovery(True).is_prefer_checkpoint_for_recovery()


def test_a_storage_object_is_kept_and_written_as_keys(config: CheckpointConfig, configuration: Configuration) -> None:
    storage = FileSystemCheckpointStorage("file:///checkpoints/", 2048, 8192)
    assert config.set_checkpoint_storage(storage) is config
    assert config.get_checkpoint_storage() is storage
    assert configuration.to_dict() == {
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": "file:///checkpoints",
        "execution.checkpointing.data-inline-threshold": "2048",
        "execution.checkpointing.write-buffer-size": "8192",
    }


def test_a_storage_leaves_to_the_configuration_what_it_does_not_set(
    config: CheckpointConfig, configuration: Configuration
) -> None:
    configuration.set_string("state.backend.fs.memory-threshold", "5 kb")
    config.set_checkpoint_storage(FileSystemCheckpointStorage("/checkpoints"))
    assert not configuration.contains_key("execution.checkpointing.data-inline-threshold")
    assert not configuration.contains_key("execution.checkpointing.write-buffer-size")


@pytest.mark.parametrize(
    "set_directory", [CheckpointConfig.set_checkpoint_storage, CheckpointConfig.set_checkpoint_storage_dir]
)
@pytest.mark.parametrize("directory", ["file:///checkpoints", "/checkpoints"])
def test_a_directory_stands_for_a_file_system_storage(
    config: CheckpointConfig, set_directory: Callable[[CheckpointConfig, str], Any], directory: str
) -> None:
    set_directory(config, directory)
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage(directory)


def test_job_manager_storage_is_kept_with_its_limit(config: CheckpointConfig, configuration: Configuration) -> None:
    config.set_checkpoint_storage(JobManagerCheckpointStorage(max_state_size=7))
    storage = config.get_checkpoint_storage()
    assert isinstance(storage, JobManagerCheckpointStorage)
    assert storage.get_max_state_size() == 7
    assert configuration.to_dict() == {"execution.checkpointing.storage": "jobmanager"}
    config.set_checkpoint_storage(JobManagerCheckpointStorage("/metadata"))
    assert configuration.get_raw("execution.checkpointing.dir") == "/metadata"


def test_a_storage_of_another_class_is_kept_as_it_is(config: CheckpointConfig) -> None:
    class Mine(CheckpointStorage):
        pass

    mine = Mine()
    assert config.set_checkpoint_storage(mine).get_checkpoint_storage() is mine


def test_storage_is_read_from_the_configuration_when_the_program_sets_none(
    config: CheckpointConfig, configuration: Configuration
) -> None:
    configuration.set_string("state.checkpoints.dir", "hdfs://host/dir")
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("hdfs://host/dir")
    configuration.set_string("execution.checkpointing.data-inline-threshold", "2 kb")
    configuration.set_string("execution.checkpointing.write-buffer-size", "8 kb")
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("hdfs://host/dir", 2048, 8192)
    configuration.set_string("execution.checkpointing.storage", "jobmanager")
    assert config.get_checkpoint_storage() == JobManagerCheckpointStorage("hdfs://host/dir")


def test_a_key_changed_later_wins_over_the_object(config: CheckpointConfig, configuration: Configuration) -> None:
    config.set_checkpoint_storage("/before")
    configuration.set_string("execution.checkpointing.dir", "/after")
    assert config.get_checkpoint_storage() == FileSystemCheckpointStorage("/after")


def test_file_system_storage_without_a_directory_raises_naming_the_key(
    config: CheckpointConfig, configuration: Configuration
) -> None:
    configuration.set_string("execution.checkpointing.storage", "filesystem")
    with pytest.raises(ConfigurationError, match=PREFIX + "dir"):
        config.get_checkpoint_storage()


def test_a_storage_that_is_none_raises(config: CheckpointConfig) -> None:
    with pytest.raises(TypeError, match="CheckpointStorage or path"):
        config.set_checkpoint_storage(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="relative"):
        config.set_checkpoint_storage_dir("relative")
    assert config.get_checkpoint_storage() is None


def test_two_views_of_one_configuration_agree(configuration: Configuration) -> None:
    CheckpointConfig(configuration).set_checkpoint_interval(10).set_checkpoint_storage("/checkpoints")
    other = CheckpointConfig(configuration)
    assert other.get_checkpoint_interval() == 10
    assert other.get_checkpoint_storage() == FileSystemCheckpointStorage("/checkpoints")
