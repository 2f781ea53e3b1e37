"""What a program is told about a session of its own that lets Spark repeat tasks."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.runtime.spark.session import advise, missing_settings

SAFE = {"spark.task.maxFailures": "1", "spark.stage.maxConsecutiveAttempts": "1"}


@pytest.mark.parametrize(
    ("master", "settings", "missing"),
    [
        ("local[2]", {}, {}),
        ("local[2]", {"spark.task.maxFailures": "4"}, {}),
        ("local[2,4]", {}, {"spark.master": "local[2]"}),
        ("spark://host:7077", SAFE, {}),
        ("spark://host:7077", {}, SAFE),
        ("local-cluster[2,1,1024]", {}, SAFE),
        ("yarn", SAFE | {"spark.speculation": "true"}, {"spark.speculation": "false"}),
        ("yarn", SAFE | {"spark.dynamicAllocation.enabled": "true"}, {"spark.dynamicAllocation.enabled": "false"}),
    ],
)
def test_only_what_a_session_lacks_is_advised(master: str, settings: dict[str, str], missing: dict[str, str]) -> None:
    assert missing_settings(master, settings) == missing


def session(application: str, **settings: str) -> Any:
    configuration = SimpleNamespace(getAll=lambda: list(settings.items()))
    context = SimpleNamespace(master="yarn", applicationId=application, getConf=lambda: configuration, _jvm=None)
    return SimpleNamespace(sparkContext=context)


def test_a_session_is_advised_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    advise(session("application_1"))
    advise(session("application_1"))
    assert [record.getMessage() for record in caplog.records] == [
        "This Spark session may repeat tasks on its own, and each time the job returns to its last checkpoint. Start "
        "it with spark.task.maxFailures=1, spark.stage.maxConsecutiveAttempts=1, or let Rekindle start it, with "
        "nothing said of these: env.spark_session"
    ]
