"""What Rekindle must know about a DataFrame before it becomes a source."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from rekindle.exceptions import SparkSetupError
from rekindle.runtime.spark.versions import STATEFUL_PLANS


def streaming_sources(data_frame: DataFrame, uid: str) -> int:
    """Count the streaming sources inside a DataFrame; refuse one that keeps state of Spark's own."""
    return _walk(data_frame._jdf.queryExecution().analyzed(), uid)


def _walk(plan: Any, uid: str) -> int:
    if not plan.isStreaming():
        return 0
    name = plan.nodeName()
    children = plan.children()
    counts = [_walk(children.apply(i), uid) for i in range(children.size())]
    if name in STATEFUL_PLANS or (name == "Join" and sum(count > 0 for count in counts) > 1):
        raise SparkSetupError(
            f"DataFrame source {uid!r} holds a stateful operation of Spark's own ({name}), whose state is not in "
            "Rekindle's checkpoints and would be lost at the first restart. Do that step with Rekindle's keyed state, "
            "after from_data_frame"
        )
    return sum(counts) if children.size() else 1
