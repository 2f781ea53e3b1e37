"""Which Sparks are supported, and what differs between them, as far as that can be told without one."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark import versions


def session(version: str) -> Any:
    return SimpleNamespace(version=version)


@pytest.mark.parametrize("version", ["4.0.0", "4.1.4", "4.2.0.dev1", "4.3.0-SNAPSHOT"])
def test_the_supported_ones_are_taken(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.__version__", version)
    versions.require_supported_spark(session(version))


@pytest.mark.parametrize("version", ["3.5.8", "4.4.0", "5.0.0", "unknown"])
def test_others_are_refused_in_a_sentence(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = r"runs on Spark 4\.0 to 4\.3, and this is {} {}\. Install one of those"
    with pytest.raises(SparkSetupError, match=sentence.format("Spark", version)):
        versions.require_supported_spark(session(version))
    monkeypatch.setattr("pyspark.__version__", version)
    with pytest.raises(SparkSetupError, match=sentence.format("PySpark", version)):
        versions.require_supported_spark()


def test_a_program_on_another_spark_ends_at_once() -> None:
    """Raise before there is a job that could be restarted."""
    env = StreamExecutionEnvironment.get_execution_environment(spark_session=session("4.4.0"))
    env.enable_checkpointing(1000)
    env.from_collection([1]).print()
    with pytest.raises(SparkSetupError, match=r"this is Spark 4\.4\.0"):
        env.execute()


def test_a_spark_without_sources_in_python_is_refused_by_the_same_sentence() -> None:
    """Spark 3.5 has no ``pyspark.sql.datasource``: nothing may import it before the version is looked at."""
    program = """
import sys, pyspark
pyspark.__version__ = "3.5.8"
sys.modules["pyspark.sql.datasource"] = None
from rekindle.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
env.from_collection([1]).print()
env.execute()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith(
        "rekindle.exceptions.SparkSetupError: Rekindle runs on Spark 4.0 to 4.3, and this is PySpark 3.5.8."
    )


@pytest.mark.parametrize("partitions", [1, 2, 3, 16, 100])
def test_there_is_a_number_for_each_partition_of_a_hash_partitioning(partitions: int) -> None:
    numbers = versions.hashed_into(partitions)
    assert [versions._hash(number) % partitions for number in numbers] == list(range(partitions))


def test_numbers_are_hashed_as_spark_hashes_them() -> None:
    """Compare with ``SELECT hash(0), hash(1), hash(42)``."""
    assert [versions._hash(number) for number in (0, 1, 42)] == [933_211_791, -559_580_957, 29_417_773]


def test_sparks_advice_about_pandas_is_for_programs_that_use_it() -> None:
    script = """
import warnings
import rekindle.runtime.spark.versions
advice = "PySpark does not yet fully support pandas >= 3.0.0. It is recommended to use pandas < 3.0.0 for now."
for module in ("pyspark.sql.pandas.functions", "pyspark.sql.pandas.conversion"):
    warnings.warn_explicit(advice, FutureWarning, f"{module}.py", 1, module)
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stderr
    assert [line.partition(":")[0] for line in told.splitlines()] == ["pyspark.sql.pandas.conversion.py"]
