"""The Spark action of an epoch: planned once in an attempt, and run in every epoch."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame

from rekindle.exceptions import JobExecutionError
from rekindle.runtime.spark.row_sizes import BYTES_PER_BATCH

_UNCOUNTED = f"{(1 << 31) - 1}b"  # Spark adds up no bytes then


class PlannedAction:
    """Run the physical plan of a DataFrame again and again, on other rows each time.

    Planning it again would take longer than running it, where there is little to do. It runs outside an SQL execution
    of Spark's, which would describe the plan for Spark's UI, and bring the result to this process.

    Args:
        rows: What the DataFrame was made from.
        frame: The DataFrame. Whatever rows it gives are dropped.
        bounded_rows: Whether so many rows as Spark puts into an Arrow batch are small for certain. Spark then does not
            add up the bytes of the batch again for each of them, which takes as long as all else that it does with a
            row of a few numbers.
    """

    def __init__(self, rows: DataFrame, frame: DataFrame, bounded_rows: bool = False) -> None:
        self._rows = rows
        self._plan: Any = frame._jdf.queryExecution().executedPlan()
        self._bounded_rows = bounded_rows

    def run(self, rows: DataFrame) -> None:
        """Run the plan.

        Args:
            rows: The DataFrame that it was made from, or one with other rows, as a query of Spark's hands them out.
        """
        # A plan keeps what it has shuffled, and would do it only once: each run is one of a copy.
        plan = self._plan.clone() if rows is self._rows else self._on(rows)
        if self._bounded_rows:
            _run_first_stage(plan, rows.sparkSession.sparkContext)
        plan.execute().count()

    def _on(self, rows: DataFrame) -> Any:
        return _replaced(self._plan, rdd_of(self._rows), rdd_of(rows), rows.sparkSession.sparkContext._gateway)


def rdd_of(rows: DataFrame) -> Any:
    """Return the RDD in which a query of Spark's hands out the rows of a micro-batch."""
    return rows._jdf.queryExecution().logical().rdd()


def _run_first_stage(plan: Any, context: SparkContext) -> None:
    """Run what is before the first exchange, as a job of its own: settings hold for all stages of a job."""
    first = None
    while plan.children().nonEmpty():
        first = plan if plan.nodeName() == "Exchange" else first
        plan = plan.children().head()
    if first is None:
        return
    before = context.getLocalProperty(BYTES_PER_BATCH)
    context.setLocalProperty(BYTES_PER_BATCH, _UNCOUNTED)
    try:
        running = first.submitShuffleJob()
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
