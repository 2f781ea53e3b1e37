"""Settings that PyFlink's programs make and Spark decides: they are accepted, checked, and given back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration
from rekindle.datastream import SlotSharingGroup, StreamExecutionEnvironment, TimeCharacteristic
from rekindle.datastream.environment_settings import EnvironmentSettings
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from support.in_process_job import InProcessJob, collect


@pytest.fixture
def env() -> Iterator[StreamExecutionEnvironment]:
    yield StreamExecutionEnvironment.get_execution_environment()
    EnvironmentSettings._default_local_parallelism = None


def test_the_buffer_timeout_is_checked_and_given_back(env: StreamExecutionEnvironment) -> None:
    assert env.get_buffer_timeout() == 100
    assert env.set_buffer_timeout(5).get_buffer_timeout() == 5
    assert env.set_buffer_timeout(-1).get_buffer_timeout() == -1
    with pytest.raises(ConfigurationError, match="non-negative or -1"):
        env.set_buffer_timeout(-2)


def test_configure_sets_buffer_timeout_and_chaining() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(Configuration.from_dict({"execution.buffer-timeout": "1 min", "pipeline.operator-chaining": "false"}))
    assert env.get_buffer_timeout() == 60_000
    assert not env.is_chaining_enabled()


def test_chaining_can_be_switched_off(env: StreamExecutionEnvironment) -> None:
    assert env.is_chaining_enabled()
    assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
    assert env.disable_operator_chaining() is env
    assert not env.is_chaining_enabled()


def test_the_default_local_parallelism_is_that_of_all_environments(env: StreamExecutionEnvironment) -> None:
    assert env.get_default_local_parallelism() == env.get_parallelism() == os.cpu_count()
    env.set_default_local_parallelism(7)
    assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 7
    assert env.set_parallelism(3).get_parallelism() == 3
    with pytest.raises(ConfigurationError, match="at least 1"):
        env.set_default_local_parallelism(0)


def test_unaligned_checkpoints_are_told_of(env: StreamExecutionEnvironment) -> None:
    assert not env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()
    env.get_checkpoint_config().enable_unaligned_checkpoints().set_force_unaligned_checkpoints()
    assert env.is_unaligned_checkpoints_enabled()
    assert env.is_force_unaligned_checkpoints()


def test_the_changelog_setting_is_given_back(env: StreamExecutionEnvironment) -> None:
    assert env.is_changelog_state_backend_enabled() is None
    assert env.enable_changelog_state_backend(True).is_changelog_state_backend_enabled() is True


def test_java_serializers_are_remembered(env: StreamExecutionEnvironment) -> None:
    env.register_type("a.Pojo")
    env.register_type_with_kryo_serializer("a.B", "a.S")
    env.add_default_kryo_serializer("a.C", "a.T")
    config = env.get_config()
    assert config.get_registered_pojo_types() == ["a.Pojo"]
    assert config.get_registered_types_with_kryo_serializer_classes() == {"a.B": "a.S"}
    assert config.get_default_kryo_serializer_classes() == {"a.C": "a.T"}


def test_the_time_characteristic_sets_the_watermark_interval(env: StreamExecutionEnvironment) -> None:
    assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
    env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
    assert env.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime
    assert env.get_config().get_auto_watermark_interval() == 0
    env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
    assert env.get_config().get_auto_watermark_interval() == 200
    with pytest.raises(TypeError, match="TimeCharacteristic"):
        env.set_stream_time_characteristic("EventTime")  # type: ignore[arg-type]


def test_slot_sharing_groups_are_checked(env: StreamExecutionEnvironment) -> None:
    group = SlotSharingGroup.builder("g").build()
    assert env.register_slot_sharing_group(group) is env
    stream = env.from_collection([1]).map(lambda number: number)
    assert stream.slot_sharing_group("g") is stream.slot_sharing_group(group) is stream
    sink = stream.print()
    assert sink.slot_sharing_group(group) is sink
    with pytest.raises(TypeError, match="SlotSharingGroup"):
        env.register_slot_sharing_group("g")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="SlotSharingGroup"):
        stream.slot_sharing_group(3)  # type: ignore[arg-type]


def test_settings_of_an_operator_return_it(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(lambda number: number)
    assert stream.set_description("d").start_new_chain().disable_chaining().set_buffer_timeout(3) is stream
    sink = stream.print()
    assert sink.set_description("d").disable_chaining() is sink
    with pytest.raises(ConfigurationError, match="non-negative or -1"):
        stream.set_buffer_timeout(-2)


def test_a_uid_hash_is_32_hexadecimal_digits(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1]).map(lambda number: number).set_uid_hash("AB" * 16)
    sink = stream.print().set_uid_hash("cd" * 16)
    assert stream._node is not None
    assert (stream._node.uid, sink._node.uid) == ("ab" * 16, "cd" * 16)
    for wrong in ("abc", "g" * 32, ""):
        with pytest.raises(ConfigurationError, match="32 character"):
            stream.set_uid_hash(wrong)


@pytest.mark.parametrize("by_configuration", [False, True])
def test_without_derived_uids_every_operator_needs_one(by_configuration: bool) -> None:
    configuration = Configuration.from_dict({"pipeline.auto-generate-uids": "false"}) if by_configuration else None
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    if not by_configuration:
        env.get_config().disable_auto_generated_uids()
    stream = env.from_collection([1]).uid("source").map(lambda number: number).name("unknown")
    sink = stream.print().name("printer")
    with pytest.raises(InvalidProgramError, match=r"UIDs have been disabled .* operator 'unknown', 'printer'"):
        env.get_execution_plan()
    stream.uid("map")
    sink.set_uid_hash("0" * 32)
    collect(stream)  # what execute_and_collect adds cannot be given one
    assert '"uid": "map"' in env.get_execution_plan()


def test_a_cached_stream_can_be_read_by_several_jobs(env: StreamExecutionEnvironment) -> None:
    cached = env.from_collection([1, 2]).map(lambda number: number * 2).cache()
    for function, expected in ((lambda number: number + 1, [3, 5]), (lambda number: number * 10, [20, 40])):
        collect(cached.map(function))
        with InProcessJob(env._graph.pending()) as job:
            assert job.run_to_end() == expected
        env._graph.submitted = len(env._graph.nodes)
    assert cached.invalidate() is None
    assert cached.get_type() == env.from_collection([1]).get_type()


@pytest.mark.parametrize(
    "method",
    [
        "set_parallelism",
        "name",
        "get_name",
        "uid",
        "set_uid_hash",
        "set_max_parallelism",
        "force_non_parallel",
        "set_buffer_timeout",
        "start_new_chain",
        "disable_chaining",
        "slot_sharing_group",
    ],
)
def test_a_cached_stream_is_no_operator(env: StreamExecutionEnvironment, method: str) -> None:
    cached: Any = env.from_collection([1]).cache()
    with pytest.raises(Exception, match=f"{method} for CachedDataStream is not supported"):
        getattr(cached, method)()


@pytest.mark.parametrize(
    ("call", "advice"),
    [
        (lambda env: env.set_python_requirements("requirements.txt"), "spark.archives"),
        (lambda env: env.add_python_archive("a.zip"), "spark.archives"),
        (lambda env: env.add_jars("file:///a.jar"), "spark.jars"),
        (lambda env: env.add_classpaths("file:///a.jar"), "spark.jars"),
        (lambda env: env.register_cached_file("a.txt", "a"), "spark.files"),
        (lambda env: env.create_input(object()), "from_data_frame"),
    ],
)
def test_what_only_flink_could_load_is_refused_with_advice(
    env: StreamExecutionEnvironment, call: Any, advice: str
) -> None:
    with pytest.raises(NotImplementedError, match=advice):
        call(env)


def test_python_files_must_be_there(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no file or directory"):
        env.add_python_file(str(tmp_path / "missing.py"))


def test_the_python_executable_cannot_be_set_when_spark_runs(env: StreamExecutionEnvironment) -> None:
    env.set_python_executable("/usr/bin/python3")
    env._session = object()  # type: ignore[assignment]
    with pytest.raises(InvalidProgramError, match="comes too late"):
        env.set_python_executable("/usr/bin/python3")
