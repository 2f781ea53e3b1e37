"""Queries of a job on Spark one of whose slots is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rekindle.common import Types
from rekindle.datastream.functions import KeyedProcessFunction, RuntimeContext
from rekindle.datastream.state import ValueStateDescriptor
from rekindle.queryable_state import NoCheckpointError, QueryableStateClient, StateServerGoneError, UnknownKeyError
from rekindle.runtime.master.job_master import JobMaster
from support.balances import environment, events
from support.processes import wait_until

KEYS = range(8)
LONG = Types.LONG()


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        described = ValueStateDescriptor("count", LONG)
        described.set_queryable("counts")
        self._count = runtime_context.get_state(described)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        self._count.update((self._count.value() or 0) + 1)


@pytest.mark.parametrize("victim", [0, 1])
@pytest.mark.usefixtures("no_slots_left")
def test_queries_outlive_kill_9_of_a_slot(spark: SparkSession, tmp_path: Path, victim: int) -> None:
    env = environment(spark, str(tmp_path), queryable__state_enable="true", queryable__state_proxy_ports="0")
    events(env, 1 << 50).key_by(lambda number: number % len(KEYS), LONG).process(Count())
    master: JobMaster = env.execute_async("counted")._master  # type: ignore[attr-defined]
    try:
        wait_until(lambda: (states := master.queryable_states()) is not None and states.proxies(), "proxies listen")
        states = master.queryable_states()
        assert states is not None
        with QueryableStateClient(*states.proxies()[0], timeout=120) as client:

            def counts(consistency: str) -> dict[Any, int]:
                asked = client.get_kv_states(
                    master.settings.job_id, "counts", KEYS, LONG, ValueStateDescriptor("count", LONG), consistency
                )
                try:
                    found: Any = asked.result(180)
                except (UnknownKeyError, NoCheckpointError):
                    return {}
                return {key: state.value() for key, state in found.items()}

            wait_until(lambda: len(counts("checkpointed")) == len(KEYS), "a checkpoint is complete")
            before = counts("checkpointed")
            os.kill(master.slot_pids()[victim], signal.SIGKILL)
            after = counts("checkpointed")
            live = counts("live")
            assert all(after[key] >= before[key] for key in KEYS), "what a checkpoint holds is never taken back"
            assert all(live[key] >= before[key] for key in KEYS)
            wait_until(lambda: master.history.restarts == 1, "the job has restarted")
            wait_until(lambda: counts("checkpointed")[0] > after[0], "the job goes on")
        master.cancel()
        master.result.exception(60)
        with QueryableStateClient(*states.proxies()[0], timeout=0.1) as client, pytest.raises(StateServerGoneError):
            client.get_kv_state(master.settings.job_id, "counts", 1, LONG).result(60)
    finally:
        master.cancel()
        master.result.exception(60)
