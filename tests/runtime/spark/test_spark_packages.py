"""Packages that sources need are added to those that Spark is started with, in the version that there is."""

from __future__ import annotations

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from rekindle.config.configuration import Configuration
from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark import gateway, session
from rekindle.runtime.spark.spark_packages import not_started, package_version, with_packages

KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13"


@pytest.mark.parametrize(
    ("running", "expected"),
    [("4.0.1", "4.0.1"), ("4.1.1", "4.1.1"), ("4.2.0", "4.2.0"), ("4.3.0", "4.2.0"), ("4.3.0.dev0", "4.2.0")],
)
def test_the_version_is_that_of_spark_or_the_newest_that_is_published(running: str, expected: str) -> None:
    assert package_version(running) == expected


@pytest.mark.parametrize(
    ("settings", "packages", "expected"),
    [
        ({}, [], {}),
        ({}, [KAFKA], {"spark.jars.packages": f"{KAFKA}:4.1.1"}),
        ({}, [KAFKA, "a:b:7"], {"spark.jars.packages": f"{KAFKA}:4.1.1,a:b:7"}),
        ({"spark.jars.packages": "x:y:1"}, [KAFKA], {"spark.jars.packages": f"x:y:1,{KAFKA}:4.1.1"}),
        ({"spark.jars.packages": f"{KAFKA}:9"}, [KAFKA], {"spark.jars.packages": f"{KAFKA}:9"}),
        (
            {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.0.jar"},
            [KAFKA],
            {"spark.jars": "/jars/spark-sql-kafka-0-10_2.13-4.2.0.jar"},
        ),
    ],
)
def test_what_the_program_names_itself_stays_as_it_is(
    settings: dict[str, str], packages: list[str], expected: dict[str, str]
) -> None:
    assert with_packages(settings, packages, "4.1.1") == expected


def test_a_jvm_that_had_nothing_to_fetch_ended_for_another_reason() -> None:
    assert not_started({"spark.master": "local"}) is None


def test_a_spark_that_could_not_fetch_its_packages_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(conf: SparkConf, **named: object) -> None:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(gateway, "launch_gateway", lambda conf, how: None)
    monkeypatch.setattr(SparkContext, "_ensure_initialized", ends)
    monkeypatch.setattr(session, "require_java", lambda: "java")
    monkeypatch.setenv("PYSPARK_PYTHON", "python")
    settings = Configuration()
    settings.set_string("spark.master", "spark://nowhere:7077")
    with pytest.raises(SparkSetupError, match=f"could not fetch {KAFKA}:.* name the files in spark.jars"):
        session.create_session(settings, 1, [KAFKA])
    with pytest.raises(PySparkRuntimeError):
        session.create_session(settings, 1)
