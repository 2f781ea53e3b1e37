"""Spark's connector: fetched where Rekindle starts Spark, and asked for where the session is the program's own."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from rekindle.common import Configuration, SimpleStringSchema, WatermarkStrategy
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.kafka import KafkaSource
from rekindle.exceptions import SparkSetupError

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


class StartedError(Exception):
    """Spark would have been started."""


def source() -> KafkaSource:
    builder = KafkaSource.builder().set_bootstrap_servers("host:1").set_topics("t")
    return builder.set_value_only_deserializer(SimpleStringSchema()).build()


def test_spark_is_started_with_what_the_sources_of_the_program_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def start(configuration: Configuration, parallelism: int, packages: Iterable[str] = ()) -> None:
        asked.append(list(packages))
        raise StartedError

    monkeypatch.setattr("rekindle.runtime.spark.session.create_session", start)
    env = StreamExecutionEnvironment()
    env.from_collection([1]).print()
    with pytest.raises(StartedError):
        env.spark_session  # noqa: B018
    for name in ("first", "second"):
        env.from_source(source(), WatermarkStrategy.for_monotonous_timestamps(), name).print()
    with pytest.raises(StartedError):
        env.execute()
    assert asked == [[], [CONNECTOR]]


def test_a_session_without_the_connector_is_told_how_to_get_it() -> None:
    class Reader:
        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kwargs: self

        def load(self) -> None:
            raise AnalysisException("Failed to find data source: kafka. Please deploy the application as per …")

    session: Any = SimpleNamespace(readStream=Reader(), version="4.1.1")
    with pytest.raises(SparkSetupError, match=f"spark.jars.packages={CONNECTOR}:4.1.1"):
        source().frame().open(session)
