from __future__ import annotations

import pickle
from typing import Any

import pytest

from rekindle.common import ExecutionConfig, ExecutionMode, InputDependencyConstraint, RestartStrategies
from rekindle.exceptions import ConfigurationError


@pytest.mark.parametrize(
    ("getter", "default"),
    [
        ("is_closure_cleaner_enabled", True),
        ("get_auto_watermark_interval", 200),
        ("get_latency_tracking_interval", 0),
        ("get_parallelism", ExecutionConfig.PARALLELISM_DEFAULT),
        ("get_max_parallelism", -1),
        ("get_task_cancellation_interval", 30_000),
        ("get_task_cancellation_timeout", 180_000),
        ("is_force_kryo_enabled", False),
        ("has_generic_types_disabled", False),
        ("is_auto_type_registration_disabled", False),
        ("has_auto_generated_uids_enabled", True),
        ("is_force_avro_enabled", False),
        ("is_object_reuse_enabled", False),
        ("get_global_job_parameters", {}),
        ("get_default_kryo_serializer_classes", {}),
        ("get_registered_types_with_kryo_serializer_classes", {}),
        ("get_registered_kryo_types", []),
        ("get_registered_pojo_types", []),
        ("is_use_snapshot_compression", False),
        ("get_restart_strategy", RestartStrategies.fall_back_restart()),
    ],
)
def test_defaults_are_flinks(getter: str, default: object) -> None:
    assert getattr(ExecutionConfig(), getter)() == default


@pytest.mark.parametrize(
    ("setter", "arguments", "getter", "value"),
    [
        ("disable_closure_cleaner", (), "is_closure_cleaner_enabled", False),
        ("set_auto_watermark_interval", (1000,), "get_auto_watermark_interval", 1000),
        ("set_latency_tracking_interval", (1000,), "get_latency_tracking_interval", 1000),
        ("set_parallelism", (8,), "get_parallelism", 8),
        ("set_max_parallelism", (12,), "get_max_parallelism", 12),
        ("set_task_cancellation_interval", (1000,), "get_task_cancellation_interval", 1000),
        ("set_task_cancellation_timeout", (3000,), "get_task_cancellation_timeout", 3000),
        ("enable_force_kryo", (), "is_force_kryo_enabled", True),
        ("disable_generic_types", (), "has_generic_types_disabled", True),
        ("disable_auto_type_registration", (), "is_auto_type_registration_disabled", True),
        ("disable_auto_generated_uids", (), "has_auto_generated_uids_enabled", False),
        ("enable_force_avro", (), "is_force_avro_enabled", True),
        ("enable_object_reuse", (), "is_object_reuse_enabled", True),
        ("set_global_job_parameters", ({"a": 1},), "get_global_job_parameters", {"a": "1"}),
        ("add_default_kryo_serializer", ("A", "S"), "get_default_kryo_serializer_classes", {"A": "S"}),
        (
            "register_type_with_kryo_serializer",
            ("A", "S"),
            "get_registered_types_with_kryo_serializer_classes",
            {"A": "S"},
        ),
        ("register_kryo_type", ("A",), "get_registered_kryo_types", ["A"]),
        ("register_pojo_type", ("A",), "get_registered_pojo_types", ["A"]),
        ("set_use_snapshot_compression", (True,), "is_use_snapshot_compression", True),
        (
            "set_restart_strategy",
            (RestartStrategies.no_restart(),),
            "get_restart_strategy",
            RestartStrategies.no_restart(),
        ),
        ("set_execution_mode", (ExecutionMode.BATCH,), "get_execution_mode", ExecutionMode.BATCH),
        (
            "set_default_input_dependency_constraint",
            (InputDependencyConstraint.ALL,),
            "get_default_input_dependency_constraint",
            InputDependencyConstraint.ALL,
        ),
    ],
)
def test_what_is_set_is_remembered_and_the_config_returned(
    setter: str, arguments: tuple[Any, ...], getter: str, value: object
) -> None:
    config = ExecutionConfig()
    assert getattr(config, setter)(*arguments) is config
    assert getattr(config, getter)() == value
    assert config != ExecutionConfig()
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize(
    ("on", "off", "getter"),
    [
        ("enable_closure_cleaner", "disable_closure_cleaner", "is_closure_cleaner_enabled"),
        ("enable_force_kryo", "disable_force_kryo", "is_force_kryo_enabled"),
        ("disable_generic_types", "enable_generic_types", "has_generic_types_disabled"),
        ("enable_auto_generated_uids", "disable_auto_generated_uids", "has_auto_generated_uids_enabled"),
        ("enable_force_avro", "disable_force_avro", "is_force_avro_enabled"),
        ("enable_object_reuse", "disable_object_reuse", "is_object_reuse_enabled"),
    ],
)
def test_switches_go_on_and_off(on: str, off: str, getter: str) -> None:
    config = ExecutionConfig()
    for setter, expected in ((on, True), (off, False), (on, True)):
        getattr(config, setter)()
        assert getattr(config, getter)() is expected


def test_an_unknown_parallelism_leaves_it_unchanged() -> None:
    config = ExecutionConfig().set_parallelism(4)
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_UNKNOWN).get_parallelism() == 4
    assert config.set_parallelism(ExecutionConfig.PARALLELISM_DEFAULT).get_parallelism() == -1


@pytest.mark.parametrize(
    ("setter", "value"),
    [
        ("set_parallelism", 0),
        ("set_parallelism", -3),
        ("set_max_parallelism", 0),
        ("set_max_parallelism", 32_769),
        ("set_auto_watermark_interval", -1),
        ("set_task_cancellation_timeout", -1),
    ],
)
def test_impossible_numbers_are_refused_by_value(setter: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=f"got {value}"):
        getattr(ExecutionConfig(), setter)(value)


def test_equal_configs_have_equal_hashes() -> None:
    one, other = ExecutionConfig().set_parallelism(12), ExecutionConfig().set_parallelism(12)
    assert one == other
    assert hash(one) == hash(other)
    assert hash(one) != hash(ExecutionConfig().set_parallelism(11))


def test_what_the_config_gives_out_cannot_change_it() -> None:
    config = ExecutionConfig().set_global_job_parameters({"a": "1"})
    config.get_global_job_parameters()["b"] = "2"
    config.get_registered_pojo_types().append("A")
    assert config.get_global_job_parameters() == {"a": "1"}
    assert config.get_registered_pojo_types() == []
