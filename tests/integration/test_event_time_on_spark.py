"""Event time on real Spark: watermarks of a DataFrame, timers in the middle of the stream, late records aside."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Types, WatermarkStrategy
from rekindle.common.watermark_generator import WatermarkGenerator, WatermarkOutput
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import KeyedProcessFunction, OutputTag
from rekindle.datastream.state import MapStateDescriptor
from support.balances import environment

pytestmark = pytest.mark.usefixtures("no_slots_left")

SIZE = 100
LATE = OutputTag("late", Types.LONG())


class Time(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value.time)


class CountsPerWindow(KeyedProcessFunction):
    """Count in windows by hand; what comes after the end of its window goes to a side output."""

    def open(self, runtime_context: Any) -> None:
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        window = ctx.timestamp() // SIZE
        end = (window + 1) * SIZE - 1
        if end <= ctx.timer_service().current_watermark():
            yield LATE, ctx.timestamp()
        else:
            self.counts.put(window, (self.counts.get(window) or 0) + 1)
            ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        window = timestamp // SIZE
        at_the_end = ctx.timer_service().current_watermark() == (1 << 63) - 1
        yield ctx.get_current_key(), window, self.counts.get(window), at_the_end


def test_windows_by_hand_close_as_the_files_come_and_late_rows_go_aside(spark: Any, tmp_path: Path) -> None:
    times = [list(range(start, start + SIZE, 5)) for start in range(0, 4 * SIZE, SIZE)]
    times[3].append(7)  # its window is over
    for number, rows in enumerate(times):
        file = tmp_path / f"{number}.json"
        file.write_text("\n".join(json.dumps({"key": f"k{time % 3}", "time": time}) for time in rows))
        os.utime(file, (1_000_000 + number, 1_000_000 + number))  # Spark reads them in the order of their ages
    frame = spark.readStream.schema("key string, time long").option("maxFilesPerTrigger", 1).json(str(tmp_path))

    env = environment(spark, None)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Time())
    timed = env.from_data_frame(frame, uid="rows", bounded=True).assign_timestamps_and_watermarks(strategy)
    counts = timed.key_by(lambda row: row.key).process(CountsPerWindow())
    late = counts.get_side_output(LATE).map(lambda time: ("late", time))
    with counts.union(late).execute_and_collect() as results:
        found = Counter(results)

    expected = Counter((f"k{time % 3}", time // SIZE) for rows in times for time in rows if time != 7)
    assert found == Counter(
        [("late", 7), *((key, window, count, window == 3) for (key, window), count in expected.items())]
    )


class BehindEveryRow(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def test_a_row_behind_a_watermark_is_late_within_a_file_that_one_task_reads(spark: Any, tmp_path: Path) -> None:
    times = [10, 20, 2 * SIZE, 30, 3 * SIZE, 40]
    (tmp_path / "rows.json").write_text("\n".join(json.dumps({"key": "k", "time": time}) for time in times))
    frame = spark.readStream.schema("key string, time long").json(str(tmp_path))
    env = environment(spark, None)
    strategy = WatermarkStrategy.for_generator(BehindEveryRow).with_timestamp_assigner(Time())
    timed = env.from_data_frame(frame, uid="rows", bounded=True).assign_timestamps_and_watermarks(strategy)
    counts = timed.set_parallelism(1).key_by(lambda row: row.key).process(CountsPerWindow())
    late = counts.get_side_output(LATE).map(lambda time: ("late", time))
    with counts.union(late).execute_and_collect() as results:
        found = Counter(results)
    assert found == Counter([("late", 30), ("late", 40), ("k", 0, 2, False), ("k", 2, 1, False), ("k", 3, 1, True)])
