"""A program that sets what the command line sets, too, wins; the user is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable

import pytest

from rekindle.common import Configuration, RestartStrategies
from rekindle.config.configuration_environment import DYNAMIC_PROPERTIES
from rekindle.datastream import (
    FsStateBackend,
    HashMapStateBackend,
    MemoryStateBackend,
    RocksDBStateBackend,
    StreamExecutionEnvironment,
)
from rekindle.datastream.overridden_settings import warn_of_overridden_settings

Set = Callable[[StreamExecutionEnvironment], object]


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    def run(properties: dict[str, str], change: Set | None = None, own: dict[str, object] | None = None) -> list[str]:
        monkeypatch.setenv(DYNAMIC_PROPERTIES, json.dumps(properties))
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(own or {}))
        if change is not None:
            change(env)
        warn_of_overridden_settings("orders", env._configuration, env._config, env._state_backend)
        assert all(record.levelno == logging.WARNING for record in caplog.records)
        return caplog.messages

    return run


@pytest.mark.parametrize(
    ("properties", "change", "said"),
    [
        (
            {"parallelism.default": "4"},
            lambda env: env.set_parallelism(2),
            "-p 4 has no effect: the program sets the parallelism to 2",
        ),
        (
            {"pipeline.max-parallelism": "64"},
            lambda env: env.set_max_parallelism(128),
            "-D pipeline.max-parallelism=64 has no effect: the program sets the max parallelism to 128",
        ),
        (
            {"execution.checkpointing.interval": "10 s"},
            lambda env: env.enable_checkpointing(5_000),
            "-D execution.checkpointing.interval=10 s has no effect: the program sets execution.checkpointing.interval "
            "to 5000",
        ),
        (
            {"restart-strategy": "none"},
            lambda env: env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 1)),
            "-D restart-strategy=none has no effect: the program sets a restart strategy",
        ),
        (
            {"state.backend": "rocksdb"},
            lambda env: env.set_state_backend(HashMapStateBackend()),
            "-D state.backend=rocksdb has no effect: the program sets a state backend",
        ),
        (
            {"state.checkpoints.dir": "file:///around"},
            lambda env: env.set_state_backend(FsStateBackend("file:///mine")),
            "-D state.checkpoints.dir=file:///around has no effect: the program sets a state backend with "
            "the directory file:///mine",
        ),
        (
            {"execution.checkpointing.savepoint-dir": "/around"},
            lambda env: env.set_state_backend(RocksDBStateBackend(None, None, FsStateBackend("/a", "/b"))),
            "-D execution.checkpointing.savepoint-dir=/around has no effect: the program sets a state backend with the "
            "directory /b",
        ),
        (
            {"spark.master": "local[2]"},
            lambda env: env.configure(Configuration.from_dict({"spark.master": "local[4]"})),
            "-D spark.master=local[2] has no effect: the program sets spark.master to local[4]",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_the_program_replaces_is_named(
    warned: Callable[..., list[str]], properties: dict[str, str], change: Set, said: str
) -> None:
    assert warned(properties, change) == [f"[orders] {said}"]


def test_a_configuration_of_the_program_counts_whichever_name_it_uses(warned: Callable[..., list[str]]) -> None:
    own = {"state.checkpoints.dir": "file:///mine", "parallelism.default": 3}
    said = warned({"execution.checkpointing.dir": "file:///c", "parallelism.default": "4"}, own=own)
    assert said == [
        "[orders] -D execution.checkpointing.dir=file:///c has no effect: the program sets state.checkpoints.dir to "
        "file:///mine",
        "[orders] -p 4 has no effect: the program sets the parallelism to 3",
    ]


def test_secrets_are_not_told(warned: Callable[..., list[str]]) -> None:
    said = warned({"rest.token": "mine"}, own={"rest.token": "yours"})
    assert said == ["[orders] -D rest.token=… has no effect: the program sets rest.token"]


@pytest.mark.parametrize(
    ("properties", "change"),
    [
        ({}, lambda env: env.set_parallelism(2)),
        ({"parallelism.default": "4"}, lambda env: None),
        ({"parallelism.default": "4"}, lambda env: env.set_parallelism(4)),
        ({"execution.checkpointing.interval": "10 s"}, lambda env: env.enable_checkpointing(10_000)),
        ({"state.backend": "rocksdb"}, lambda env: None),
        ({"rest.token": "x"}, lambda env: env.set_parallelism(2)),
        ({"state.checkpoints.dir": "/around"}, lambda env: env.set_state_backend(MemoryStateBackend())),
        ({"state.savepoints.dir": "/around"}, lambda env: env.set_state_backend(FsStateBackend("/mine"))),
        ({"state.checkpoints.dir": "/mine"}, lambda env: env.set_state_backend(FsStateBackend("/mine"))),
    ],
)
def test_what_is_in_force_is_no_matter(
    warned: Callable[..., list[str]], properties: dict[str, str], change: Set
) -> None:
    assert warned(properties, change) == []
