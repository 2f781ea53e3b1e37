"""Every feature gives in a batch what it gives in a stream; running results apart, of which only the last is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.datastream import StreamExecutionEnvironment
from support.features import FEATURES
from support.features.feature import KEYS, events, of_key
from support.in_process_job import InProcessJob, collect

EVENTS = 700
LAST_ONLY: dict[str, Callable[[int, range], list[Any]]] = {
    "reduce": lambda key, own: [(key, sum(own))],
    "running aggregates": lambda key, own: [(key, sum(own), -key), (key, own[-1], -own[-1]), (key, own[-1], -key)],
}
UNBOUNDED = {"source functions"}


def run(name: str, parallelism: int, memory: int | None) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    collect(FEATURES[name].stream(events(env, EVENTS)))
    with InProcessJob(env, parallelism, batch_memory=memory) as job:
        return job.run_to_end(100)


@pytest.mark.parametrize("memory", [100, 1_000_000], ids=["spilled", "in memory"])
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("feature", sorted(FEATURES.keys() - LAST_ONLY.keys() - UNBOUNDED))
def test_the_results_are_those_of_a_stream(feature: str, parallelism: int, memory: int) -> None:
    FEATURES[feature].check(run(feature, parallelism, memory), EVENTS)


@pytest.mark.parametrize("memory", [100, 1_000_000], ids=["spilled", "in memory"])
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("feature", LAST_ONLY)
def test_of_running_results_only_the_last_of_each_key_is_given(feature: str, parallelism: int, memory: int) -> None:
    expected = [result for key in range(KEYS) for result in LAST_ONLY[feature](key, of_key(key, EVENTS))]
    assert sorted(run(feature, parallelism, memory)) == sorted(expected)
