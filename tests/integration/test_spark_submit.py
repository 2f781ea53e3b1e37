"""A program under spark-submit: what spark-submit and Spark's defaults say holds, and Spark is quiet."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pyspark
import pytest

from support.driver import driver

SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
OPTIONS = ("--master", "local[3]", "--name", "orders")
DEFAULTS = """\
spark.master            local[7]
spark.task.maxFailures  3
"""
MEANT = re.compile(r"\S+ INFO +(\[submitted\]|rekindle:) .|\d> ")


@pytest.mark.spark
def test_what_was_said_holds_and_spark_is_as_quiet_as_in_a_session_of_rekindles_own(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    with driver(
        "submitted.py",
        environment={"SPARK_CONF_DIR": str(tmp_path), "PYSPARK_PYTHON": sys.executable},
        through=OPTIONS,
        executable=SUBMIT,
    ) as running:
        assert running.wait() == 0, running.output()
        before, _, output = running.output().partition("The session has started.\n")
        running.assert_nothing_is_left()
    assert re.findall(r"^(spark\..+=.+)$", before, re.MULTILINE) == [
        "spark.master=local[3]",
        "spark.app.name=orders",
        "spark.task.maxFailures=3",
        "spark.speculation=false",
        "spark.ui.enabled=false",
    ]
    assert "SparkContext: Running Spark" not in before
    assert [line for line in output.splitlines() if line.strip() and not MEANT.match(line)] == []
    assert sorted(int(line) for line in re.findall(r"\d> (\d+)", output))[-3:] == [1617, 1650, 1683]
