"""What operators count: bytes that cross exchanges, and for how long they work and are held up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.runtime.slot import counted_work, operator_graph, slot, task_output, work_times
from rekindle.runtime.slot.work_times import LevelWaits, called_by
from rekindle.runtime.wire import messages as m
from support.in_process_job import InProcessJob, collect


class Seconds:
    """The time that passes only where a function says so."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    clock = Seconds()
    for module in (counted_work, operator_graph, slot, task_output, work_times):
        monkeypatch.setattr(module, "time", clock)
    return clock


def taking(seconds: float) -> Callable[[int], int]:
    def work(value: int) -> int:
        from rekindle.runtime.slot import operator_graph  # this function is pickled, and the clock must not be

        clock: Any = operator_graph.time
        if hasattr(clock, "now"):
            clock.now += seconds
        return value

    return work


def measured(job: InProcessJob) -> dict[tuple[str, int], m.OperatorNumbers]:
    sent: list[m.MetricsReport] = []
    for each in job.slots:
        each._send = sent.append  # type: ignore[assignment, method-assign]
        each.report_metrics(m.AskMetrics(1))
    return {(numbers.uid, numbers.subtask): numbers for report in sent for numbers in report.operators}


def chained_and_exchanged() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(40)), Types.INT()).uid("source")
    stream = stream.map(taking(0.25), Types.INT()).uid("first").map(taking(0.5), Types.INT()).uid("second")
    collect(stream.key_by(lambda value: value).map(taking(1.0), Types.INT()).uid("keyed"))
    return env


def test_what_leaves_over_an_exchange_arrives_behind_it() -> None:
    job = InProcessJob(chained_and_exchanged(), 2)
    job.run_to_end()
    found = measured(job)
    sent = sum(found["second", subtask].bytes_out for subtask in (0, 1))
    assert sent == sum(found["keyed", subtask].bytes_in for subtask in (0, 1)) > 40
    assert found["second", 0].all_bytes_out
    assert found["keyed", 0].all_bytes_in


def test_what_is_handed_on_by_a_call_has_no_bytes() -> None:
    job = InProcessJob(chained_and_exchanged(), 2)
    job.run_to_end()
    found = measured(job)
    first, second = found["first", 0], found["second", 0]
    assert (first.bytes_out, second.bytes_in) == (0, 0)
    assert not first.all_bytes_out
    assert not second.all_bytes_in


def test_an_operator_is_busy_with_its_own_function_only(seconds: Seconds) -> None:
    job = InProcessJob(chained_and_exchanged(), 2)
    job.run_to_end()
    found = measured(job)
    records = {subtask: found["first", subtask].records_in for subtask in (0, 1)}
    assert sum(records.values()) == 40
    for subtask, count in records.items():
        assert found["first", subtask].busy_ms == 250 * count
        assert found["second", subtask].busy_ms == 500 * count
        assert found["keyed", subtask].busy_ms == 1000 * found["keyed", subtask].records_in


def test_an_operator_is_held_up_by_those_it_calls_and_by_later_levels(seconds: Seconds) -> None:
    job = InProcessJob(chained_and_exchanged(), 2)
    job.run_to_end()
    found = measured(job)
    for subtask in (0, 1):
        first, second, keyed = (found[uid, subtask] for uid in ("first", "second", "keyed"))
        later = second.back_pressured_ms
        assert later >= keyed.busy_ms
        assert first.back_pressured_ms == later + second.busy_ms
        assert keyed.back_pressured_ms == 0
        assert keyed.idle_ms == round(seconds.now * 1000) - keyed.busy_ms


def test_time_is_shared_out_within_a_second(seconds: Seconds) -> None:
    job = InProcessJob(chained_and_exchanged(), 2)
    job.run_to_end()
    job.clock.advance(5_000)
    rates = measured(job)["first", 0].rates
    assert rates.busy_ms == 1000.0
    assert rates.back_pressured_ms == 0.0
    assert rates.idle_ms == 0.0
    assert rates.records_in == 4.0


def test_a_level_waits_for_the_last_one_of_each_epoch_and_for_what_it_sends() -> None:
    waits = LevelWaits()
    waits.begin_epoch()
    waits.task_over(0, 10.0)
    waits.task_over(0, 11.0)  # another task of the same level
    waits.sent(0, 0.5)
    waits.task_over(1, 14.0)
    waits.end_epoch()
    waits.begin_epoch()
    waits.task_over(1, 20.0)
    waits.end_epoch()
    assert (waits.of(0), waits.of(1), waits.of(2)) == (3.5, 0.0, 0.0)


def test_an_operator_calls_those_behind_it_in_its_level() -> None:
    graph = InProcessJob(chained_and_exchanged(), 2).graph
    ids = {node.uid: node.id for node in graph.nodes}
    behind = called_by(graph)
    assert behind[ids["first"]] == {ids["second"]}
    assert behind[ids["source"]] == frozenset()  # it is alone in its level
    assert behind[ids["second"]] == frozenset()
