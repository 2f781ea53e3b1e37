"""The Spark action of an epoch: planned once in an attempt, and run in every epoch."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from rekindle.exceptions import JobExecutionError


class PlannedAction:
    """Run the physical plan of a DataFrame again and again, on other rows each time.

    Planning it again would take longer than running it, where there is little to do. It runs outside an SQL execution
    of Spark's, which would describe the plan for Spark's UI, and bring the result to this process.

    Args:
        rows: What the DataFrame was made from.
        frame: The DataFrame. Whatever rows it gives are dropped.
    """

    def __init__(self, rows: DataFrame, frame: DataFrame) -> None:
        self._rows = rows
        self._plan: Any = frame._jdf.queryExecution().executedPlan()

    def run(self, rows: DataFrame) -> None:
        """Run the plan.

        Args:
            rows: The DataFrame that it was made from, or one with other rows, as a query of Spark's hands them out.
        """
        # A plan keeps what it has shuffled, and would do it only once: each run is one of a copy.
        plan = self._plan.clone() if rows is self._rows else self._on(rows)
        plan.execute().count()

    def _on(self, rows: DataFrame) -> Any:
        return _replaced(self._plan, rdd_of(self._rows), rdd_of(rows), rows.sparkSession.sparkContext._gateway)


def rdd_of(rows: DataFrame) -> Any:
    """Return the RDD in which a query of Spark's hands out the rows of a micro-batch."""
    return rows._jdf.queryExecution().logical().rdd()


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
