"""A sink function hears of event time and of the end of its input, and of nothing else when the job fails."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.common import WatermarkStrategy
from rekindle.common.watermark_strategy import TimestampAssigner
from rekindle.datastream import DataStream, SinkFunction, StreamExecutionEnvironment
from support.in_process_job import InProcessJob

heard: list[Any] = []
END = (1 << 63) - 1


class OwnTime(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Hearing(SinkFunction):
    def invoke(self, value: int, context: SinkFunction.Context) -> None:
        heard.append((value, context.timestamp(), context.current_watermark()))

    def write_watermark(self, watermark: int) -> None:
        heard.append(("watermark", watermark))

    def finish(self) -> None:
        heard.append("finish")

    def close(self) -> None:
        heard.append("close")


@pytest.fixture(autouse=True)
def nothing_heard() -> None:
    heard.clear()


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(OwnTime())
    return env.from_collection([10, 20, 30]).assign_timestamps_and_watermarks(strategy)


def hearing_job() -> InProcessJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers(env).add_sink(Hearing())
    return InProcessJob(env)


def test_watermarks_come_behind_their_elements_and_the_end_behind_the_last() -> None:
    with hearing_job() as job:
        job.run_to_end(max_records=1)
    before = -(1 << 63)
    assert heard == [
        (10, 10, before),
        ("watermark", 9),
        (20, 20, 9),
        ("watermark", 19),
        (30, 30, 19),
        ("watermark", END),
        "finish",
        "close",
    ]


def test_a_job_that_ends_early_closes_and_does_not_finish() -> None:
    with hearing_job() as job:
        job.run_epoch(max_records=1)
    assert "finish" not in heard
    assert heard[-1] == "close"


def test_a_batch_is_finished_too() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers(env).add_sink(Hearing())
    with InProcessJob(env, batch_memory=10) as job:
        job.run_to_end()
    assert heard[-2:] == ["finish", "close"]
