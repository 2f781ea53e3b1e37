"""Which programs run as batches, and what becomes of their operators."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import Configuration
from rekindle.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from rekindle.exceptions import ConfigurationError, InvalidProgramError
from rekindle.graph.batch_mode import runs_as_batch
from rekindle.runtime.master.settings.job_settings import settle
from rekindle.runtime.operators.batch.broadcast_first import BroadcastFirstOperator
from rekindle.runtime.operators.batch.final_reduce import FinalReduceOperator
from rekindle.runtime.operators.batch.key_by_key import KeyByKeyOperator
from rekindle.runtime.operators.building import OperatorBuilder
from support.batch_programs import RECORDED

BATCH, STREAMING, AUTOMATIC = (
    RuntimeExecutionMode.BATCH,
    RuntimeExecutionMode.STREAMING,
    RuntimeExecutionMode.AUTOMATIC,
)


def environment(**settings: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key.replace("__", "-").replace("_", "."), value)
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def with_unbounded_source() -> StreamExecutionEnvironment:
    env = environment()
    env.from_collection([1]).print()
    env.from_collection([2]).print()
    env._graph.nodes[2].bounded = False
    env._graph.nodes[2].name = "endless"
    return env


@pytest.mark.parametrize(("mode", "expected"), [(BATCH, True), (AUTOMATIC, True), (STREAMING, False)])
def test_a_bounded_program_runs_as_the_mode_says(mode: RuntimeExecutionMode, expected: bool) -> None:
    env = environment()
    env.from_collection([1]).print()
    assert runs_as_batch(env._graph, mode) is expected


@pytest.mark.parametrize("mode", [AUTOMATIC, STREAMING])
def test_an_unbounded_program_runs_as_a_stream(mode: RuntimeExecutionMode) -> None:
    assert runs_as_batch(with_unbounded_source()._graph, mode) is False


def test_an_unbounded_source_in_batch_mode_is_named() -> None:
    with pytest.raises(InvalidProgramError, match=r"^'endless' may never end.*Set it to STREAMING or AUTOMATIC"):
        runs_as_batch(with_unbounded_source()._graph, BATCH)


def test_the_mode_is_set_by_the_program_or_by_the_configuration() -> None:
    env = environment()
    env.from_collection([1]).print()
    assert not env._compile().batch
    assert env.set_runtime_mode(BATCH) is env
    assert env._compile().batch
    configured = environment(execution_runtime__mode="automatic")
    configured.from_collection([1]).print()
    assert configured._compile().batch
    with pytest.raises(TypeError, match="RuntimeExecutionMode"):
        env.set_runtime_mode("BATCH")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sum", FinalReduceOperator),
        ("timers", KeyByKeyOperator),
        ("windows with reduce", KeyByKeyOperator),
        ("broadcast", BroadcastFirstOperator),
        ("keyed broadcast", KeyByKeyOperator),
    ],
)
def test_operators_that_need_all_input_gather_it(name: str, kind: type) -> None:
    env = environment().set_runtime_mode(BATCH)
    RECORDED[name][0](env)
    builder = OperatorBuilder()
    built = [builder.build(node.transformation, node.batch_memory) for node in env._compile().nodes]
    assert type(built[-1]) is kind


def _settled(env: StreamExecutionEnvironment) -> Any:
    return settle("id", "name", env._configuration, env._checkpoint_config, env._config, None, batch=True)


def test_settings_of_checkpoints_are_ignored_in_a_batch() -> None:
    env = environment().enable_checkpointing(100)
    settings = _settled(env)
    assert not settings.checkpointing
    assert settings.checkpoint_files is None
    assert settings.restart_strategy.describe() == "none"


def test_a_batch_does_not_begin_with_a_savepoint() -> None:
    with pytest.raises(ConfigurationError, match="always begins at its beginning"):
        _settled(environment(execution_savepoint_path="/somewhere"))
