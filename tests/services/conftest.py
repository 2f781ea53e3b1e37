"""Tests with real services: brokers, databases, object stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.services import kafka as kafka_service
from support.services.kafka import Broker
from support.services.postgres import postgres as postgres
from support.services.s3 import s3 as s3
from support.services.s3 import s3_server as s3_server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Broker]:
    """Start one Kafka broker for all tests of the run; a test that kills it starts it again."""
    missing = kafka_service.missing()
    if missing is not None:
        pytest.skip(missing)
    broker = kafka_service.new_broker()
    yield broker
    kafka_service.remove(broker)
