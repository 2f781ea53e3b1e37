"""Epochs that a loop of Rekindle's own begins, without Spark: the test stands in for its context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from rekindle.runtime.master.cluster import ClusterLoss
from rekindle.runtime.spark.epoch_loop import EpochLoop
from support.processes import wait_until


class Context:
    """Note what Spark is told; cancelling ends whatever runs."""

    def __init__(self) -> None:
        self.group = ""
        self.properties: list[tuple[str, str]] = []
        self.cancelled = threading.Event()

    def setJobGroup(self, group: str, description: str, interruptOnCancel: bool) -> None:  # noqa: N803 - Spark's name
        self.group = group

    def setLocalProperty(self, key: str, value: str) -> None:
        self.properties.append((key, value))

    def cancelJobGroup(self, group: str) -> None:
        assert group == self.group
        self.cancelled.set()


@pytest.fixture
def context() -> Any:
    return Context()


def loop_on(context: Any, run: Callable[[int], None]) -> EpochLoop:
    session: Any = SimpleNamespace(sparkContext=context)
    return EpochLoop(session, "job", run)


def test_there_is_an_epoch_for_each_time_that_somebody_asks(context: Any) -> None:
    epochs: list[int] = []
    loop = loop_on(context, epochs.append)
    assert epochs == [], "nobody has asked yet"
    for number in (1, 2, 3):
        loop.tick()
        wait_until(lambda number=number: len(epochs) == number, f"epoch {number} runs")
    loop.stop()
    assert epochs == [1, 2, 3]
    assert context.properties == [("streaming.sql.batchId", str(number)) for number in (1, 2, 3)]


def test_all_who_ask_during_an_epoch_get_one_more(context: Any) -> None:
    epochs: list[int] = []
    go_on = threading.Event()

    def run(epoch: int) -> None:
        epochs.append(epoch)
        go_on.wait(30)

    loop = loop_on(context, run)
    loop.tick()
    wait_until(lambda: epochs == [1], "the first runs")
    for _ in range(5):
        loop.tick()
    go_on.set()
    wait_until(lambda: epochs == [1, 2], "the second runs")
    loop.stop()
    assert epochs == [1, 2]


def test_stopping_cancels_the_epoch_under_way_and_waits_for_it(context: Any) -> None:
    epochs: list[str] = []

    def run(epoch: int) -> None:
        epochs.append("begun")
        context.cancelled.wait(30)
        epochs.append("ended")

    loop = loop_on(context, run)
    loop.tick()
    wait_until(lambda: epochs == ["begun"], "it runs")
    loop.tick()
    loop.stop()
    assert epochs == ["begun", "ended"], "and there is no other"
    assert not loop.active


def test_a_spark_that_is_gone_ends_the_loop_with_its_error(context: Any) -> None:
    def gone(key: str, value: str) -> None:
        raise ConnectionRefusedError("nobody listens")

    context.setLocalProperty = gone
    loop = loop_on(context, lambda epoch: None)
    loop.tick()
    wait_until(lambda: not loop.active, "it ends")
    assert isinstance(loop.error.__cause__, ConnectionRefusedError)
    loop.stop()


def test_a_loop_that_waits_is_over_when_spark_is_gone(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else would notice: an idle job asks Spark for nothing."""
    losses: list[ClusterLoss | None] = [None, ClusterLoss("Spark's JVM was killed")]
    monkeypatch.setattr("rekindle.runtime.spark.epoch_loop.spark_loss", lambda session: losses.pop(0))
    loop = loop_on(context, lambda epoch: None)
    assert loop.active
    assert not loop.active
    loop.stop()
