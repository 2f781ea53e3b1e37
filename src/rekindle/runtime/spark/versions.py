"""The Sparks that Rekindle runs on, and all that differs between them. The rest of the code knows one Spark.

4.0        has no ``repartitionById``, keeps the classes of its streaming logs and of streams in memory in another
           package, makes the latter from another class, calls the plan of ``transformWithState`` in Python by another
           name, and cannot speak with its workers through Unix sockets (it ignores their settings)
4.0, 4.1   make Arrow schemas with timestamps in UTC by themselves; later ones must be told
4.2, 4.3   alike, as far as Rekindle is concerned

Where a Spark can be asked what it has, it is asked; its version settles only whether it is supported at all.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from inspect import signature
from typing import Any

import pyarrow as pa
import pyspark
from py4j.java_gateway import JavaClass
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the customary name
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rekindle.exceptions import SparkSetupError

OLDEST, NEWEST = (4, 0), (4, 3)

# Streaming operators that keep state in Spark's own checkpoint, by the names of their plans.
STATEFUL_PLANS = {
    "Aggregate",
    "Deduplicate",
    "DeduplicateWithinWatermark",
    "Distinct",
    "FlatMapGroupsInPandasWithState",
    "FlatMapGroupsWithState",
    "GlobalLimit",
    "LocalLimit",
    "TransformWithState",
    "TransformWithStateInPandas",  # 4.0
    "TransformWithStateInPySpark",  # from 4.1 on
}

_FILE_MANAGERS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",  # from 4.1 on
    "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager",  # 4.0
)
_MEMORY_STREAM = "org.apache.spark.sql.execution.streaming.runtime.MemoryStream"
_MEMORY_STREAM_4_0 = "org.apache.spark.sql.execution.streaming.MemoryStream"
_HASH_SEED = 42  # of Spark's hash partitioning
_BITS = 0xFFFFFFFF


# Spark 4.3 warns of pandas 3 whenever it is given a function, also one for ``mapInArrow``, which has no use for pandas.
_ABOUT_PANDAS = "PySpark does not yet fully support pandas"
warnings.filterwarnings("ignore", _ABOUT_PANDAS, FutureWarning, r"pyspark\.sql\.pandas\.functions")


def require_supported_spark(session: SparkSession | None = None) -> None:
    """Refuse a Spark that Rekindle was not made for: the installed PySpark, and the session's if there is one."""
    _require("PySpark", pyspark.__version__)
    if session is not None:
        _require("Spark", session.version)


def _require(what: str, version: str) -> None:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or not OLDEST <= (int(numbers[1]), int(numbers[2])) <= NEWEST:
        oldest, newest = (".".join(map(str, numbers)) for numbers in (OLDEST, NEWEST))
        raise SparkSetupError(
            f"Rekindle runs on Spark {oldest} to {newest}, and this is {what} {version}. Install one of those, for "
            f"example with pip install 'pyspark=={newest}.*', and run the program on a cluster of the same version"
        )


def checkpoint_file_manager(session: SparkSession) -> str:
    """Name the class that writes Spark's own logs of a query by plain files."""
    for name in _FILE_MANAGERS:
        if _java_class(session, name) is not None:
            return name
    raise SparkSetupError(f"Spark {session.version} has none of the classes {', '.join(_FILE_MANAGERS)}")


def memory_stream(session: SparkSession, partitions: int) -> Any:
    """Make a stream of integers that is fed by calls; what is added at once is dealt out over its partitions."""
    jvm: Any = session._jvm
    encoder, some = jvm.org.apache.spark.sql.Encoders.INT(), jvm.scala.Option.apply(partitions)
    java_session: Any = session._jsparkSession
    make = _java_class(session, _MEMORY_STREAM)
    if make is not None:
        return make(0, java_session, some, encoder)
    return _java_class(session, _MEMORY_STREAM_4_0)(0, java_session.sqlContext(), some, encoder)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of rows, with timestamps in UTC."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def _java_class(session: SparkSession, name: str) -> Any:
    found: Any = session._jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found if isinstance(found, JavaClass) else None


def repartition_by_id(frame: DataFrame, partitions: int, column: str) -> DataFrame:
    """Put each row into the partition whose number an integer column holds."""
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(partitions, F.col(column))
    return repartition_by_hash(frame, partitions, column)


def repartition_by_hash(frame: DataFrame, partitions: int, column: str) -> DataFrame:
    """Do the same for a Spark that partitions by hash only, by numbers that fall into the wanted partitions."""
    numbers = ", ".join(map(str, hashed_into(partitions)))
    return frame.repartition(partitions, F.expr(f"get(array({numbers}), {column})"))  # one call to the JVM


@lru_cache(maxsize=16)
def hashed_into(partitions: int) -> tuple[int, ...]:
    """Give, for each partition, the smallest number that Spark's hash partitioning puts there."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < partitions:
        found.setdefault(_hash(number) % partitions, number)
        number += 1
    return tuple(found[partition] for partition in range(partitions))


def _hash(number: int) -> int:
    """Hash an integer as Spark does: MurmurHash3 of its four bytes, as a signed number."""
    mixed = number * 0xCC9E2D51 & _BITS
    mixed = _rotated(mixed, 15) * 0x1B873593 & _BITS
    mixed = (_rotated(_HASH_SEED ^ mixed, 13) * 5 + 0xE6546B64 & _BITS) ^ 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _BITS
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _BITS
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _rotated(bits: int, by: int) -> int:
    return (bits << by | bits >> 32 - by) & _BITS
