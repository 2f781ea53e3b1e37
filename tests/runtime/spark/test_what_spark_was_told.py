"""Where Spark runs, and with which settings: what somebody has said, or Rekindle's defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from rekindle.config.configuration import Configuration
from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark import gateway, session

FILLED_IN = {
    "spark.master": "local[*]",
    "spark.app.name": "pyspark-shell",
    "spark.ui.showConsoleProgress": "true",
    "spark.submit.deployMode": "client",
}


class World:
    """A Spark that is never started: what the JVM was told at its start and by others, and what the session gets."""

    def __init__(self, patch: pytest.MonkeyPatch, told: Mapping[str, str]) -> None:
        self.at_start: dict[str, str] | None = None
        self.session: dict[str, str] = {}
        self._told = dict(told)
        patch.setattr(gateway, "_given", {})
        patch.setattr(SparkContext, "_gateway", None)
        patch.setattr(SparkContext, "_active_spark_context", None)
        patch.setattr(SparkContext, "_ensure_initialized", self._start)
        patch.setattr(gateway, "SparkConf", self._configuration)
        patch.setattr(gateway, "launch_gateway", lambda conf, how: SimpleNamespace())
        patch.setattr(SparkSession, "getActiveSession", lambda: None)
        patch.setattr(SparkSession.Builder, "getOrCreate", lambda builder: self._create(builder))
        patch.setattr(session, "require_java", lambda: "java")
        patch.setattr(session, "quieten_jvm", lambda settings: None)
        patch.setattr(session, "_own_directory", dict)
        patch.setenv("PYSPARK_PYTHON", "python")

    def _configuration(self, loadDefaults: bool = True) -> Any:  # noqa: N803 - as PySpark names it
        settings = dict(self._told) if loadDefaults else {}
        return SimpleNamespace(set=settings.__setitem__, getAll=lambda: list(settings.items()))

    def _start(self, conf: Any, gateway: Any = None) -> None:
        if SparkContext._gateway is None:
            self.at_start = dict(conf.getAll())
            self._told |= self.at_start
            SparkContext._gateway = SimpleNamespace()  # type: ignore[assignment]

    def _create(self, builder: SparkSession.Builder) -> Any:
        self.session = {key: str(value) for key, value in builder._options.items()}
        return SimpleNamespace()

    def create(self, **settings: str) -> dict[str, str]:
        named = {key.replace("_", "."): value for key, value in settings.items()}
        session.create_session(Configuration.from_dict(named), parallelism=64)
        return self.session


def test_where_nobody_says_anything_spark_runs_here_with_a_core_for_each_subtask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = World(monkeypatch, FILLED_IN).create()
    assert settings["spark.master"] == "local[64]"
    assert settings["spark.app.name"] == "rekindle"
    assert settings["spark.task.maxFailures"] == "1"
    assert settings["spark.ui.showConsoleProgress"] == "false"
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.authenticate"] == "true"


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://host:7077"])
def test_where_spark_does_not_make_up_a_secret_it_is_not_told_to_want_one(
    monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    assert "spark.authenticate" not in World(monkeypatch, FILLED_IN).create(spark_master=master)


def test_what_is_said_of_sparks_secret_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = World(monkeypatch, {**FILLED_IN, "spark.authenticate": "false"}).create()
    assert settings["spark.authenticate"] == "false"


@pytest.mark.parametrize("of_spark_submit", [True, False])
def test_what_spark_submit_or_sparks_defaults_say_holds(monkeypatch: pytest.MonkeyPatch, of_spark_submit: bool) -> None:
    told = {"spark.master": "spark://host:7077", "spark.app.name": "app", "spark.task.maxFailures": "4"}
    world = World(monkeypatch, FILLED_IN | told)
    if of_spark_submit:
        monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    settings = world.create()
    assert {key: settings[key] for key in told} == told
    assert "spark.driver.host" not in settings
    assert settings["spark.speculation"] == "false"


def test_what_the_program_says_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, FILLED_IN | {"spark.master": "spark://host:7077", "spark.app.name": "app"})
    settings = world.create(spark_master="local[2]")
    assert world.at_start == {"spark.master": "local[2]"}
    assert (settings["spark.master"], settings["spark.app.name"]) == ("local[2]", "app")


def test_what_one_environment_says_is_not_said_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, FILLED_IN)
    assert world.create(spark_master="local[2]", spark_task_maxFailures="3")["spark.task.maxFailures"] == "3"
    settings = world.create()
    assert (settings["spark.master"], settings["spark.task.maxFailures"]) == ("local[64]", "1")


def test_a_session_that_another_thread_has_made_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, FILLED_IN)
    monkeypatch.setattr(SparkContext, "_active_spark_context", SimpleNamespace())
    monkeypatch.setattr(session, "forget_dead_spark", lambda: None)
    world.create(spark_master="local[2]")
    assert world.at_start is None
    assert world.session == {}


def test_the_python_that_was_said_runs_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, FILLED_IN | {"spark.pyspark.python": "/opt/python"})
    monkeypatch.delenv("PYSPARK_PYTHON")
    world.create()
    assert os.environ.pop("PYSPARK_PYTHON") == "/opt/python"


def test_a_cluster_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(builder: SparkSession.Builder) -> None:
        cause = SimpleNamespace(getMessage=lambda: "Cannot call methods on a stopped SparkContext.\nIt was …")
        error = Py4JJavaError.__new__(Py4JJavaError)
        error.java_exception = cause
        raise error

    world = World(monkeypatch, FILLED_IN | {"spark.master": "spark://nohost:7077"})
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", fails)
    with pytest.raises(SparkSetupError, match=r"master spark://nohost:7077: Cannot call methods on a .*reaches"):
        world.create()


def test_a_spark_connect_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(monkeypatch, FILLED_IN)
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(SparkSetupError, match="Spark Connect server, sc://host"):
        world.create()
