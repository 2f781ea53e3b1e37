"""Tests with real services: brokers, databases, HDFS, object stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from support.services import kafka as kafka_service
from support.services.hdfs import hdfs as hdfs
from support.services.hdfs import hdfs_server as hdfs_server
from support.services.jars import spark_kafka_jars
from support.services.kafka import Broker
from support.services.postgres import postgres as postgres
from support.services.s3 import s3 as s3
from support.services.s3 import s3_server as s3_server


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark once, with its connector to Kafka."""
    from rekindle.common import Configuration
    from rekindle.runtime.spark.session import create_session

    if not spark_kafka_jars().exists():
        pytest.skip(f"Spark's connector to Kafka is not in {spark_kafka_jars()}: make services fetches it with Maven")
    jars = ",".join(map(str, spark_kafka_jars().glob("*.jar")))
    session = create_session(Configuration.from_dict({"spark.jars": jars}), parallelism=3)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """Start one Kafka broker for all tests of the run; a test that kills it starts it again."""
    missing = kafka_service.missing()
    if missing is not None:
        pytest.skip(missing)
    broker = kafka_service.new_broker()
    yield broker
    kafka_service.remove(broker)
