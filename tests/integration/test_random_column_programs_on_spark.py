"""A share of the random programs on Spark: they give there by columns what they give without in this process."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.balances import environment_on
from support.column_cases import exact
from support.column_comparison import OFF, loaded, module_name, run
from support.random_column_programs import RandomProgram, random_program
from support.seeds import SEED

pytestmark = pytest.mark.usefixtures("no_slots_left")

PROGRAMS = 20


def suits(program: RandomProgram) -> bool:
    """Return whether Spark reads its tables as they are, and there are rows in each: Spark has no epoch without."""
    plain = all(field.name.isidentifier() and field.name != "class" for field in program.schema)
    return plain and all(table.num_rows for table in program.tables) and program.parallelism < 3


def on_spark(spark: Any, program: RandomProgram, rows: Path, files: Path) -> tuple[list[Any], list[str]]:
    """Run a program on Spark; return its results, and how its operators ran."""
    settings = {
        **program.settings,
        "rekindle.progress": "none",
        "restart-strategy.type": "none",
        "pipeline.auto-watermark-interval": "1 h",
    }
    env = environment_on(spark, settings)
    env.set_parallelism(program.parallelism)
    with loaded(program, files) as build:
        env.add_python_file(str(files / "shared_module.py"))
        if program.module:
            env.add_python_file(str(files / f"{module_name(program)}.py"))
        read = spark.readStream.schema(spark.read.parquet(str(rows)).schema).option("maxFilesPerTrigger", 1)
        stream = build(env.from_data_frame(read.parquet(str(rows)), "rows", bounded=True))
        paths = [node.path for node in env._compile().nodes]
        with stream.execute_and_collect() as results:
            return [exact(value) for value in results], paths


def test_spark_gives_by_columns_what_records_give(spark: Any, tmp_path: Path) -> None:
    ran: Counter[str] = Counter()
    number = 0
    while ran["programs"] < PROGRAMS:
        number += 1
        program = random_program(f"{SEED}.spark.{number}")
        if not suits(program):
            continue
        expected = run(program, tmp_path, OFF)
        if expected.error is not None:
            continue
        ran["programs"] += 1
        directory = tmp_path / f"rows {number}"
        directory.mkdir()
        for place, table in enumerate(program.tables):
            pq.write_table(table, directory / f"{place}.parquet")
            os.utime(directory / f"{place}.parquet", (place, place))  # the order in which Spark reads them
        found, paths = on_spark(spark, program, directory, tmp_path)
        assert sorted(found, key=repr) == sorted(expected.results, key=repr), (program.seed, paths, program.source)
        ran["by columns"] += any(path.startswith("columns") for path in paths[2:])
    print(dict(ran))
    assert ran["by columns"] > PROGRAMS / 4
