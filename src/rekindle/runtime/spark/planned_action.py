"""The Spark action of an epoch: planned once in an attempt, and run in every epoch."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame

from rekindle.exceptions import JobExecutionError
from rekindle.runtime.spark.job_labels import STAGE_NAME, JobLabels
from rekindle.runtime.spark.row_sizes import BYTES_PER_BATCH

_UNCOUNTED = f"{(1 << 31) - 1}b"  # Spark adds up no bytes then


class PlannedAction:
    """Run the physical plan of a DataFrame again and again, on other rows each time.

    Planning it again would take longer than running it, where there is little to do. It runs outside an SQL execution
    of Spark's, which would describe the plan for Spark's UI, and bring the result to this process.

    Args:
        rows: What the DataFrame was made from.
        frame: The DataFrame, with an exchange before each level but the first. Whatever rows it gives are dropped.
        labels: What Spark's UI shows of the job.
        bounded_rows: Whether so many rows as Spark puts into an Arrow batch are small for certain. Spark then does not
            add up the bytes of the batch again for each of them, which takes as long as all else that it does with a
            row of a few numbers.
    """

    def __init__(self, rows: DataFrame, frame: DataFrame, labels: JobLabels, bounded_rows: bool = False) -> None:
        self._rows = rows
        self._plan: Any = frame._jdf.queryExecution().executedPlan()
        self._labels = labels
        self._bounded_rows = bounded_rows
        self._exchanges = _exchanges(self._plan, len(labels.stages) - 1)

    def run(self, rows: DataFrame, epoch: int) -> None:
        """Run the plan.

        Args:
            rows: The DataFrame that it was made from, or one with other rows, as a query of Spark's hands them out.
            epoch: The number of the epoch, for Spark's UI.
        """
        # A plan keeps what it has shuffled, and would do it only once: each run is one of a copy.
        plan = self._plan.clone() if rows is self._rows else self._on(rows)
        context = rows.sparkSession.sparkContext
        stages, last = self._labels.stages, len(self._exchanges)
        alone = self._bounded_rows and last > 0  # whether the first level is a job of its own
        context.setLocalProperty(STAGE_NAME, stages[0])
        context.setJobDescription(self._labels.epoch(epoch, 0, 0 if alone else last))
        for level, exchange in enumerate(self._exchanges):
            # A stage has the name that is set when its exchange is made; the call site of its records is of no use.
            if level == 0 and alone:
                _run_first_stage(plan.p(exchange), context)
                context.setJobDescription(self._labels.epoch(epoch, 1, last))
            else:
                plan.p(exchange).execute()
            context.setLocalProperty(STAGE_NAME, stages[level + 1])
        plan.execute().count()

    def _on(self, rows: DataFrame) -> Any:
        return _replaced(self._plan, rdd_of(self._rows), rdd_of(rows), rows.sparkSession.sparkContext._gateway)


def rdd_of(rows: DataFrame) -> Any:
    """Return the RDD in which a query of Spark's hands out the rows of a micro-batch."""
    return rows._jdf.queryExecution().logical().rdd()


def _exchanges(plan: Any, count: int) -> list[int]:
    """Find the exchanges before the levels, the first one to run first; Spark numbers nodes from the root on."""
    found: list[int] = []
    number = 0
    while len(found) < count and plan.children().nonEmpty():
        if plan.nodeName() == "Exchange":
            found.append(number)
        plan = plan.children().head()
        number += 1
    return found[::-1]


def _run_first_stage(exchange: Any, context: SparkContext) -> None:
    """Run what is before the first exchange, as a job of its own: settings hold for all stages of a job."""
    before = context.getLocalProperty(BYTES_PER_BATCH)
    context.setLocalProperty(BYTES_PER_BATCH, _UNCOUNTED)
    try:
        running = exchange.submitShuffleJob()
    finally:
        context.setLocalProperty(BYTES_PER_BATCH, before)  # type: ignore[arg-type]
    jvm: Any = context._jvm
    ready = jvm.scala.concurrent.Await.ready(running, jvm.scala.concurrent.duration.Duration.Inf())
    ready.value().get().get()  # raises what the job has failed with


def _replaced(plan: Any, rdd: Any, replacement: Any, gateway: Any) -> Any:
    """Copy a plan, with another RDD in the place of the one that it scans."""
    children = plan.children()
    if not children.isEmpty():
        copies = [_replaced(children.apply(index), rdd, replacement, gateway) for index in range(children.size())]
        return plan.withNewChildren(gateway.jvm.PythonUtils.toSeq(copies))
    values = plan.productIterator().toArray(gateway.jvm.scala.reflect.ClassTag.AnyRef())
    places = [index for index, value in enumerate(values) if rdd.equals(value)]
    if len(places) != 1:
        raise JobExecutionError(
            f"the rows of a micro-batch are not where they should be in Spark's plan: a {plan.nodeName()} does not "
            "hold them. This is an error in Rekindle: please report it with the version of Spark"
        )
    values[places[0]] = replacement
    return plan.makeCopy(values)
