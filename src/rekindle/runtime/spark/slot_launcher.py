"""Starts the slots of an attempt, each through a Spark task on an executor, so that Spark decides where they run."""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from rekindle.exceptions import SlotLostError
from rekindle.runtime.master.failures import spark_error
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.session import query_settings
from rekindle.runtime.spark.slot_starter import NOT_STARTED, StartSlot
from rekindle.runtime.spark.versions import repartition_by_id


def launch_slots(session: SparkSession, deployment: SlotDeployment, slots: int) -> None:
    """Start all slots of an attempt; returns when all have registered with the job master.

    Raises:
        SlotLostError: One of them died before.
        JobExecutionError: Spark could not run the tasks that start them.
    """
    paths = [entry for entry in deployment.sys_path if entry]
    start: Any = StartSlot(msgspec.msgpack.encode(deployment), paths)
    try:
        with query_settings(session):
            indices = session.range(slots).select(F.col("id").cast("int").alias("slot"))
            repartition_by_id(indices, slots, "slot").mapInArrow(start, "slot int").collect()
    except Exception as error:
        _, found, rest = str(error).partition(NOT_STARTED)
        if found:
            raise SlotLostError((found + rest).partition("Driver stacktrace:")[0].strip()) from error
        raise spark_error(error, "the slots could not be started") from error
