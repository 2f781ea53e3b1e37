"""Asynchronous requests: slots are killed while requests are under way, and the output stays golden."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from rekindle.common import Encoder, Time
from rekindle.datastream import AsyncDataStream, AsyncFunction
from rekindle.datastream.connectors.file_system import BucketAssigner, FileSink
from support.balances import environment, events, read_output
from support.paced_cluster import PacedCluster
from support.processes import wait_until
from support.seeds import seeded

COUNT = 4_000


class Request(AsyncFunction):
    """Take a while; results of some are there at once, and some have none."""

    async def async_invoke(self, value: int) -> list[str]:
        if value % 5:
            await asyncio.sleep(random.random() / 50)
        return [] if value % 7 == 0 else [f"{value}"]


def test_slots_killed_with_requests_under_way_lose_and_double_nothing(
    local_cluster: PacedCluster, tmp_path: Path
) -> None:
    rng = seeded()
    output = tmp_path / "out"
    env = environment(local_cluster, str(tmp_path / "checkpoints"), rekindle_epoch_max__records="400")
    sink = FileSink.for_row_format(str(output), Encoder.simple_string_encoder())
    sink = sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
    numbers = events(env, COUNT).rebalance()
    results = AsyncDataStream.unordered_wait(numbers, Request(), Time.minutes(5), 50).uid("async")
    results.sink_to(sink).uid("sink")
    master = env._submit("killed", None)
    for _ in range(2):
        before = len(read_output(str(output))) if output.exists() else 0
        wait_until(
            lambda before=before: master.result.done() or (output.exists() and len(read_output(str(output))) > before),
            "more output is committed",
            timeout=300,
        )
        assert not master.result.done(), "the job was over before it could be killed: the test proves nothing"
        local_cluster.kill_one(rng)
    master.result.result(300)
    assert Counter(read_output(str(output))) == Counter(str(value) for value in range(1, COUNT + 1) if value % 7)
