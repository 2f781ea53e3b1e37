"""What stands on the command line of Spark's JVM, which every account of the machine can read."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from rekindle.runtime.spark.gateway import start_jvm
from rekindle.runtime.spark.submitted_settings import for_the_start

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.hadoop.fs.s3a.secret.key": "hush",
    "spark.my.url": "jdbc:postgresql://h/db?user=a&password=hush",
}


def test_no_secret_is_on_the_command_line_of_the_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    class NoJvm:
        def __init__(self, command: list[str], **rest: Any) -> None:
            commands.append(command)

        def poll(self) -> int:
            return 1

    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setattr(subprocess, "Popen", NoJvm)
    monkeypatch.setattr("pyspark.java_gateway.Popen", NoJvm)
    with pytest.raises(PySparkRuntimeError):
        start_jvm(SETTINGS)
    (command,) = commands
    assert "spark.driver.memory=1g" in command
    assert "hush" not in " ".join(command)


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("spark.driver.extraJavaOptions", "-Djavax.net.ssl.keyStorePassword=hush", "JDK_JAVA_OPTIONS"),
        ("spark.jars.repositories", "https://ann:hush@repo/maven", "spark.jars.ivySettings"),
    ],
)
def test_options_that_spark_must_put_there_are_warned_of(
    caplog: pytest.LogCaptureFixture, key: str, value: str, instead: str
) -> None:
    """Told later, as other secrets are, they would have no effect, without a word."""
    assert for_the_start({key: value}) == {key: value}
    (record,) = caplog.records
    assert f"{key} holds a secret" in record.message
    assert instead in record.message
    assert "hush" not in record.message
