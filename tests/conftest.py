"""What all tests share: one Spark session for the tests that need it, and a watch over what tests leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadline: how long an example takes on a busy machine says nothing. What failed is printed, to be run again.
settings.register_profile("rekindle", deadline=None, print_blob=True)
settings.load_profile("rekindle")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark once; tests that need settings or endings of their own start it in a process of their own."""
    from rekindle.common import Configuration
    from rekindle.runtime.spark.session import create_session

    session = create_session(Configuration(), parallelism=2)
    yield session
    session.stop()


@pytest.fixture
def no_slots_left() -> Iterator[None]:
    """Fail the test if a slot is alive after it."""
    from support.processes import slot_pids, wait_until

    yield
    wait_until(lambda: not slot_pids(os.getpid()), "all slots have ended")
