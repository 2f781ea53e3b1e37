"""Starts the slots of an attempt, each through a Spark task on an executor, so that Spark decides where they run."""

from __future__ import annotations

from typing import Any

import msgspec
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name

from rekindle.exceptions import SlotLostError
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.errors import spark_error
from rekindle.runtime.spark.job_labels import slots_label
from rekindle.runtime.spark.session import cloned_session, query_settings
from rekindle.runtime.spark.slot_starter import NOT_STARTED, StartSlot
from rekindle.runtime.spark.versions import repartition_by_id


def launch_slots(session: SparkSession, job_name: str, deployment: SlotDeployment, slots: int) -> None:
    """Start all slots of an attempt; returns when all have registered with the job master.

    Raises:
        SlotLostError: One of them died before.
        JobExecutionError: Spark could not run the tasks that start them.
    """
    paths = [entry for entry in deployment.sys_path if entry]
    start: Any = StartSlot(msgspec.msgpack.encode(deployment), paths)
    try:
        with query_settings(session):
            own = cloned_session(session)
        label = slots_label(job_name, slots, deployment.attempt + 1)  # as the log counts them
        own.sparkContext.setJobGroup(_group(deployment), label, interruptOnCancel=True)
        indices = own.range(slots).select(F.col("id").cast("int").alias("slot"))
        repartition_by_id(indices, slots, "slot").mapInArrow(start, "slot int").collect()
    except Exception as error:
        _, found, rest = str(error).partition(NOT_STARTED)
        if found:
            raise SlotLostError((found + rest).partition("Driver stacktrace:")[0].strip()) from error
        raise spark_error(error, "the slots could not be started") from error


def cancel_launch(session: SparkSession, deployment: SlotDeployment) -> None:
    """Start no more slots of an attempt; nothing happens if all have been started."""
    session.sparkContext.cancelJobGroup(_group(deployment))


def _group(deployment: SlotDeployment) -> str:
    return f"rekindle-slots-{deployment.master_host}-{deployment.master_port}-{deployment.attempt}"
