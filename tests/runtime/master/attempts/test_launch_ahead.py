"""The slots of the next attempt are started while the one before is stopped, and wait for it."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

import pytest

from rekindle.common import JobStatus, RestartStrategies, Types, WatermarkStrategy
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from rekindle.exceptions import SlotLostError
from rekindle.runtime.master.job_master import JobMaster
from rekindle.runtime.master.slots.process_slot_pool import ProcessSlotPool
from rekindle.runtime.master.views.progress import LogView
from rekindle.runtime.wire import messages as m
from rekindle.testing.in_process.slot import InProcessSlot
from support.in_process_job import collect
from support.in_process_master import Cluster, cluster
from support.processes import command_line, wait_until
from support.slot_processes import slot_processes

__all__ = ["cluster"]  # a fixture


def endless(delay_ms: int, attempts: int = 3) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.enable_checkpointing(10)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(attempts, delay_ms))
    source = DataGeneratorSource(lambda number: number, 1 << 40, Types.LONG(), RateLimiterStrategy.per_second(1_000))
    collect(env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers"))
    return env


def lose_a_slot(cluster: Cluster, master: JobMaster, attempt: int = 0) -> None:
    """Lose one as soon as the attempt has had an epoch."""
    wait_until(lambda: len(cluster.attempts) == attempt + 1 and cluster.slots, "the attempt runs")
    before = master.history.progress().epochs
    wait_until(lambda: master.history.progress().epochs > before, "epochs run")
    cluster.slots[0].lose()


class TestWithSlotsHere:
    def test_they_are_there_before_the_restart_delay_is_over(self, cluster: Cluster) -> None:
        master = cluster.submit(endless(delay_ms=10_000))
        lose_a_slot(cluster, master)
        wait_until(lambda: 1 in cluster.waiting, "the next slots wait")
        assert cluster.attempts == [None], "the next attempt has not begun"

    def test_a_long_delay_passes_without_them(self, cluster: Cluster) -> None:
        master = cluster.submit(endless(delay_ms=10_001))
        lose_a_slot(cluster, master)
        wait_until(lambda: master.status is JobStatus.RESTARTING, "the restart delay passes")
        assert cluster.waiting == set()

    def test_that_they_cannot_be_started_is_a_failure_of_the_next_attempt(
        self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_slot = cluster._make_slot

        def fails_once(attempt: int, *arguments: Any) -> InProcessSlot:
            if attempt == 1:
                raise SlotLostError("no machine has room for a slot")
            return make_slot(attempt, *arguments)

        monkeypatch.setattr(cluster, "_make_slot", fails_once)
        master = cluster.submit(endless(delay_ms=0))
        lose_a_slot(cluster, master)
        wait_until(lambda: len(cluster.attempts) == 2, "there is another attempt")
        lost, refused = (failure.text for failure in reversed(master.exceptions()))
        assert "it was killed" in lost
        assert "no machine has room for a slot" in refused

    def test_how_long_the_recovery_took_is_told_by_phase(
        self, cluster: Cluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        caplog.set_level(logging.INFO, "rekindle")
        view = LogView("in process")
        monkeypatch.setattr("support.in_process_master._View.recovered", lambda self, *told: view.recovered(*told))
        master = cluster.submit(endless(delay_ms=30))
        lose_a_slot(cluster, master)
        wait_until(lambda: "works" in caplog.text, "it is told")
        record = next(record for record in caplog.records if "works" in record.getMessage())
        assert record.getMessage().startswith("[in process] attempt 2 works, ")
        for phase in ("to stop what was left", "of restart delay", "until the slots ran", "to restore", "first epoch"):
            assert phase in record.getMessage()
        told = vars(record)
        phases = ("stop_ms", "delay_ms", "slots_ms", "restore_ms", "first_epoch_ms")
        assert told["recovery_ms"] == sum(told[phase] for phase in phases)
        assert told["stop_ms"] + told["delay_ms"] >= 30


class TestWithSlotProcesses:
    def test_the_processes_wait_and_then_run_the_next_attempt(self) -> None:
        with slot_processes() as cluster:
            master = cluster.submit(endless(delay_ms=3_000))
            wait_until(lambda: len(master.slot_pids()) == 2 and master.history.progress().epochs, "it runs")
            first = set(master.slot_pids().values())
            os.kill(min(first), signal.SIGKILL)
            waiting = waiting_pids(master)
            assert not waiting & first
            wait_until(lambda: set(master.slot_pids().values()) == waiting, "those that waited run")

    def test_they_may_be_asked_for_metrics_before_they_are_told_what_to_open(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broadcast = ProcessSlotPool.broadcast

        def asking(pool: ProcessSlotPool, message: m.ToSlot) -> None:
            if isinstance(message, m.OpenJob):
                broadcast(pool, m.AskMetrics(1))
            broadcast(pool, message)

        monkeypatch.setattr(ProcessSlotPool, "broadcast", asking)
        with slot_processes() as cluster:
            master = cluster.submit(endless(delay_ms=0))
            wait_until(lambda: master.history.progress().epochs, "it runs")
            assert master.exceptions() == []

    def test_a_job_that_is_cancelled_meanwhile_leaves_none_of_them(self) -> None:
        with slot_processes() as cluster:
            master = cluster.submit(endless(delay_ms=10_000))
            wait_until(lambda: len(master.slot_pids()) == 2 and master.history.progress().epochs, "it runs")
            os.kill(min(master.slot_pids().values()), signal.SIGKILL)
            waiting = waiting_pids(master)
            master.cancel()
            master.result.exception(60)
            assert master.status is JobStatus.CANCELED
            wait_until(lambda: not any(command_line(pid) for pid in waiting), "the slots that waited have ended")


def waiting_pids(master: JobMaster) -> set[int]:
    """Wait for the slots of the next attempt; return their processes."""
    attempt = master._attempt
    assert attempt is not None
    rooms = attempt._shared.slot_pool._server._rooms
    wait_until(lambda: 1 in rooms and len(rooms[1].connections) == 2, "the next slots have called in")
    return {connection.registration.pid for connection in rooms[1].connections.values()}
