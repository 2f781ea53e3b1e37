"""Delta on the session of a test: its jars, and the settings with which Spark finds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING

from support.services.jars import DELTA_FOR, delta_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WHERE = f"make test-spark SPARK={DELTA_FOR[-1]} ARGS=tests/services/test_delta.py runs these tests"


def missing() -> str | None:
    """Return what Delta is missing, in a sentence; None: it can be used."""
    jars = delta_jars()
    if jars is None:
        return f"there is no Delta for Spark {version('pyspark')}: {_WHERE}"
    if not jars.exists():
        return f"Delta is not in {jars}: scripts/fetch_services.py fetches it with Maven"
    return None


@contextmanager
def delta_session() -> Iterator[SparkSession]:
    """Start Spark with Delta; the session that other tests share has none, and ends first."""
    from rekindle.common import Configuration
    from rekindle.runtime.spark.session import create_session

    jars = delta_jars()
    assert jars is not None
    settings = {
        "spark.jars": ",".join(sorted(map(str, jars.glob("*.jar")))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
    session = create_session(Configuration.from_dict(settings), parallelism=2)
    try:
        yield session
    finally:
        session.stop()
