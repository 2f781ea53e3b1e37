"""Programs in batch mode give what PyFlink gives, in the same order."""

from __future__ import annotations

from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from support.batch_programs import RECORDED, Program
from support.in_process_job import InProcessJob, collect


def run(program: Program, memory: int = 1_000, max_records: int = 1_000_000, parallelism: int = 1) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(program(env))
    with InProcessJob(env, parallelism, batch_memory=memory) as job:
        return job.run_to_end(max_records)


@pytest.mark.parametrize("name", RECORDED)
def test_a_batch_gives_what_pyflink_gives(name: str) -> None:
    program, recorded = RECORDED[name]
    assert run(program) == recorded


@pytest.mark.parametrize("name", RECORDED)
def test_a_batch_that_does_not_fit_in_memory_gives_the_same(name: str) -> None:
    program, recorded = RECORDED[name]
    assert run(program, memory=2) == recorded


@pytest.mark.parametrize("name", [name for name in RECORDED if name != "windows in processing time"])
def test_a_batch_read_in_many_epochs_gives_the_same(name: str) -> None:
    program, recorded = RECORDED[name]
    assert run(program, max_records=1) == recorded


@pytest.mark.parametrize("name", [name for name in RECORDED if "broadcast" not in name and "process" not in name])
def test_a_batch_in_parallel_gives_the_same_in_another_order(name: str) -> None:
    program, recorded = RECORDED[name]
    assert sorted(run(program, parallelism=3), key=repr) == sorted(recorded, key=repr)
