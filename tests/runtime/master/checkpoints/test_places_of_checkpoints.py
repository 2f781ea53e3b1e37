"""Where a job's checkpoints are in the end, and what people are told to start from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rekindle.common import Configuration, JobStatus, Types, WatermarkStrategy
from rekindle.common.restart_strategy import RestartStrategies
from rekindle.datastream import (
    CheckpointConfig,
    ExternalizedCheckpointRetention,
    KeyedProcessFunction,
    MemoryStateBackend,
    StateBackend,
    StreamExecutionEnvironment,
)
from rekindle.datastream.checkpoint_storage import FileSystemCheckpointStorage
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.runtime.master.job_master import JobMaster
from support.in_process_master import Cluster, cluster
from support.processes import wait_until

__all__ = ["cluster"]

COUNTS: list[int] = []


class Count(KeyedProcessFunction):
    """Count records, and show the count."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterator[int]:
        self.count.update((self.count.value() or 0) + 1)
        COUNTS.append(self.count.value())
        yield self.count.value()


def counting(
    backend: StateBackend | None = None, storage: Any = None, restarts: int = 0, start_from: str | None = None
) -> StreamExecutionEnvironment:
    configuration = Configuration.from_dict({"rekindle.epoch.max-records": "5"})
    if start_from is not None:
        configuration.set_string("execution.state-recovery.path", start_from)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.enable_checkpointing(1)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(restarts, 0))
    config: CheckpointConfig = env.get_checkpoint_config()
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    if backend is not None:
        env.set_state_backend(backend)
    if storage is not None:
        config.set_checkpoint_storage(storage)
    source = DataGeneratorSource(lambda number: number, 10_000_000, Types.LONG(), RateLimiterStrategy.per_second(2_000))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    numbers.key_by(lambda _: 0).process(Count()).uid("count").print()
    return env


def completed(master: JobMaster) -> list[int]:
    return [checkpoint.checkpoint_id for checkpoint in master._coordinator.completed()]


def test_memory_writes_metadata_with_all_state_to_its_path(cluster: Cluster, tmp_path: Path) -> None:
    COUNTS.clear()
    master = cluster.submit(counting(MemoryStateBackend(str(tmp_path))))
    wait_until(lambda: completed(master) and completed(master)[-1] > 2, "there are checkpoints")
    master.cancel()
    master.result.exception(60)
    (metadata,) = tmp_path.glob("*/chk-*/_metadata")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [metadata], "state is inside"
    counted = COUNTS[-1]
    COUNTS.clear()
    again = cluster.submit(counting(MemoryStateBackend(str(tmp_path)), start_from=str(metadata.parent)))
    wait_until(lambda: bool(COUNTS), "it goes on")
    assert 1 < COUNTS[0] <= counted + 1
    again.cancel()
    again.result.exception(60)


@pytest.mark.parametrize("damaged", ["the only one", "what the job was started from"])
def test_nobody_is_told_to_start_from_a_checkpoint_that_cannot_be_read(
    cluster: Cluster, tmp_path: Path, damaged: str
) -> None:
    storage = FileSystemCheckpointStorage(str(tmp_path), 0)
    master = cluster.submit(counting(storage=storage, restarts=5))
    wait_until(lambda: bool(completed(master)), "there is a checkpoint")
    if damaged == "what the job was started from":
        master.cancel()
        master.result.exception(60)
        (chosen,) = tmp_path.glob("*/chk-*")
        for file in chosen.glob("slot-*"):
            file.write_bytes(b"damaged")
        master = cluster.submit(counting(storage=storage, start_from=str(chosen)))
    else:
        cluster.obeys = lambda slot, order: True
        _damage_all_and_fail(cluster, tmp_path)
    error = master.result.exception(60)
    assert master.status is JobStatus.FAILED
    assert "cannot be read" in str(error)
    assert "start from it" not in str(error)
    assert "start it from" not in str(error)
    assert "No checkpoint is left to start from" in str(error)


def _damage_all_and_fail(cluster: Cluster, directory: Path) -> None:
    """Damage each checkpoint as soon as it is complete, and lose the slot."""
    slot = cluster.slots[0]

    def obeys(index: int, order: Any) -> bool:
        if type(order).__name__ == "NotifyComplete" and not slot.lost:
            for file in directory.glob("*/chk-*/slot-*"):
                with suppress(FileNotFoundError):  # it was deleted meanwhile
                    file.write_bytes(b"damaged")
            slot.lose()
        return True

    cluster.obeys = obeys
