"""Iterations on real Spark: a loop over a streaming DataFrame, rounds over a bounded one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration
from rekindle.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment

pytestmark = pytest.mark.usefixtures("no_slots_left")


def environment(spark: Any) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"rekindle.progress": "none"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration, spark)
    return env.set_parallelism(2)


def test_rows_of_a_stream_of_files_go_round(spark: Any, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("\n".join(str(n) for n in range(number, 6, 3)))
    frame = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path))
    env = environment(spark)
    loop = env.from_data_frame(frame, uid="files", bounded=True).map(lambda row: (int(row.value), 0)).iterate()
    stepped = loop.key_by(lambda item: item[0]).map(lambda item: (item[0] - 1, item[1] + 1))
    loop.close_with(stepped.filter(lambda item: item[0] > 0))
    done = stepped.filter(lambda item: item[0] <= 0).map(lambda item: item[1])
    assert sorted(done.execute_and_collect()) == [1, *range(1, 6)]


class Rounds(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self._context = runtime_context

    def map(self, value: Any) -> tuple[int, ...]:
        return (*value, self._context.get_superstep_number())


def test_rows_of_a_table_go_through_rounds(spark: Any) -> None:
    frame = spark.range(1, 6)
    env = environment(spark)
    loop = env.from_data_frame(frame, uid="table").map(lambda row: (row.id,)).iterate(max_iterations=3)
    last = loop.close_with(loop.rebalance().map(Rounds()))
    assert sorted(last.execute_and_collect()) == [(n, 1, 2, 3) for n in range(1, 6)]
