"""A job in a session that has Spark's UI, which is asked what it shows of it: with_ui.py."""

from __future__ import annotations

import json
import re
import sys
from urllib.request import ProxyHandler, build_opener

from pyspark.sql import SparkSession

from rekindle.datastream import StreamExecutionEnvironment
from support.processes import wait_until

NAME = "shown in Spark's UI"


def main() -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.port", "0").getOrCreate()
    env = StreamExecutionEnvironment.get_execution_environment(spark_session=spark)
    env.from_collection(["a", "b"]).key_by(lambda text: text).map(str.upper).name("upper").print()
    env.execute(NAME)
    context = spark.sparkContext
    port = re.findall(r":(\d+)$", str(context.uiWebUrl))[0]
    address = f"http://127.0.0.1:{port}/api/v1/applications/{context.applicationId}"

    def listed(what: str) -> list[dict[str, str]]:
        with build_opener(ProxyHandler({})).open(f"{address}/{what}", timeout=30) as answer:
            return list(json.load(answer))

    wait_until(lambda: [job for job in listed("jobs") if "epoch 1," in job.get("description", "")], "the UI shows it")
    shown = {
        "jobs": sorted({job["description"] for job in listed("jobs")}),
        "stages": sorted({stage["name"] for stage in listed("stages")}),
    }
    print("SHOWN", json.dumps(shown), file=sys.stderr)


if __name__ == "__main__":
    main()
