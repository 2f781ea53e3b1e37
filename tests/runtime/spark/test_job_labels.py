"""What Spark's UI shows of a job, without Spark."""

from __future__ import annotations

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.spark.job_labels import JobLabels, rows_label, slots_label


def labels(job: str = "orders", operator: str = "totals") -> JobLabels:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    stream = env.from_collection([1]).map(str).name("text").key_by(lambda text: text)
    stream.map(len).name(operator).print().name("out")
    return JobLabels.of(job, env._compile())


def test_a_stage_has_the_names_of_its_operators() -> None:
    assert labels().stages == ("level 0: Collection Source", "level 1: text", "level 2: totals, out")


def test_the_name_of_a_stage_is_not_endless() -> None:
    *_, last = labels(operator=" ".join(["totals"] * 100)).stages
    assert last.startswith("level 2: totals totals")
    assert last.endswith("…")
    assert len(last) <= 120


def test_an_epoch_is_described_by_its_job_its_number_and_its_levels() -> None:
    assert labels().epoch(7, 0, 1) == "orders: epoch 7, levels 0 to 1"
    assert labels().epoch(8, 0, 0) == "orders: epoch 8, level 0"


@pytest.mark.parametrize(
    ("job", "taken", "name"),
    [
        ("orders", set(), "orders"),
        ("orders", {"payments", None}, "orders"),
        ("orders", {"orders", "orders (2)"}, "orders (3)"),
        (" ", set(), "rekindle"),
    ],
)
def test_a_query_is_called_like_its_job_unless_another_one_is(job: str, taken: set[str], name: str) -> None:
    assert labels(job).query(taken) == name


def test_what_else_runs_on_spark_for_a_job_names_it() -> None:
    assert slots_label("orders", 1, 1) == "orders: start of 1 slot, attempt 1"
    assert slots_label("orders", 2, 3) == "orders: start of 2 slots, attempt 3"
    assert rows_label("orders") == "orders: rows for a table"
