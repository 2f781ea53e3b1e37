"""Metrics of slots: counted by chunk, told when asked, gathered by the job master."""

from __future__ import annotations

import decimal
import fractions
import threading
from typing import Any

import numpy as np
import pytest

from rekindle.common import Types
from rekindle.datastream import StreamExecutionEnvironment
from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.master.slots.slot_metrics import NO_READINGS, SlotMetrics, SlotReadings
from rekindle.runtime.operators.operator import MAX_WATERMARK
from rekindle.runtime.slot import metrics_report as report_module
from rekindle.runtime.slot.metrics_report import metrics_report
from rekindle.runtime.wire import messages as m
from support.in_process_job import InProcessJob, collect


def report(*values: Any) -> m.MetricsReport:
    """Send gauges with these values through a message."""
    metrics = [MetricValue("u", "o", 0, (), {}, str(i), "gauge", {"value": v}) for i, v in enumerate(values)]
    answer = m.decode_to_master(m.encode(metrics_report(1, [], metrics)))
    assert isinstance(answer, m.MetricsReport)
    return answer


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (3, 3),
        (2.5, 2.5),
        (True, True),
        (None, None),
        ("text", "text"),
        ("x" * 500, "x" * 200),
        (1 << 70, float(1 << 70)),
        (-(10**400), -1e308),
        (np.int32(4), 4),
        (np.float32(0.5), 0.5),
        (decimal.Decimal("1.5"), 1.5),
        (fractions.Fraction(1, 4), 0.25),
        ([1, 2], "[1, 2]"),
        ({"a": object}, "{'a': <class 'object'>}"),
        (b"bytes", "b'bytes'"),
        ("half \udc80", "half ?"),
    ],
)
def test_whatever_a_gauge_gives_can_be_told(value: Any, told: Any) -> None:
    (metric,) = report(value).metrics
    assert metric.values == {"value": told}
    assert type(metric.values["value"]) is type(told)


class WithoutText:
    def __str__(self) -> str:
        raise RuntimeError("there is nothing to say")


def test_a_metric_that_cannot_be_told_is_left_out_and_the_others_are_told() -> None:
    answer = report(1, WithoutText(), 3)
    assert [metric.values["value"] for metric in answer.metrics] == [1, 3]
    assert answer.left_out == 1


def test_a_metric_is_told_whatever_it_is_called() -> None:
    odd = "a\udc80"
    given = [MetricValue("u", odd, 0, (odd,), {odd: odd}, odd, "gauge", {"value": 1})]
    answer = m.decode_to_master(m.encode(metrics_report(1, [], given)))
    assert isinstance(answer, m.MetricsReport)
    (metric,) = answer.metrics
    assert (metric.operator, metric.groups, metric.variables, metric.name) == ("a?", ("a?",), {"a?": "a?"}, "a?")


def test_a_slot_tells_of_so_many_metrics_and_says_how_many_more_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MAX_METRICS", 3)
    answer = report(*range(5))
    assert len(answer.metrics) == 3
    assert answer.left_out == 2


def test_a_slot_counts_the_records_of_its_operators() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_collection(list(range(10)), Types.INT()).uid("numbers")
    mapped = numbers.flat_map(lambda v: [v, v] if v % 2 else [], Types.INT()).uid("doubled")
    collect(mapped.key_by(lambda v: v).map(lambda v: v, Types.INT()).uid("keyed"))
    job = InProcessJob(env, 2)
    job.run_to_end()
    sent: list[m.MetricsReport] = []
    for slot in job.slots:
        slot._send = sent.append  # type: ignore[assignment, method-assign]
        slot.report_metrics(m.AskMetrics(7))
    assert [answer.request for answer in sent] == [7, 7]
    totals: dict[str, tuple[int, int]] = {}
    for answer in sent:
        for each in answer.operators:
            known = totals.get(each.uid, (0, 0))
            totals[each.uid] = known[0] + each.records_in, known[1] + each.records_out
            ends = (each.input_watermark, each.output_watermark)
            assert ends == (MAX_WATERMARK, MAX_WATERMARK) or each.uid == "numbers"
    assert totals["numbers"] == (0, 10)
    assert totals["doubled"] == (10, 10)
    assert totals["keyed"] == (10, 10)
    assert {each.subtask for answer in sent for each in answer.operators if each.uid == "keyed"} == {0, 1}


# --- the job master's side ---


class Slots:
    """Answer as slots do, at once, but for those that are silent."""

    def __init__(self, count: int, silent: set[int] | None = None) -> None:
        self.count = count
        self.silent = silent or set()
        self.orders: list[m.ToSlot] = []
        self.metrics = SlotMetrics(lambda: self.count, self.broadcast)

    def broadcast(self, order: m.ToSlot) -> None:
        assert isinstance(order, m.AskMetrics)
        self.orders.append(order)
        for slot in range(self.count):
            if slot not in self.silent:
                self.metrics.answer(slot, self.answer(slot, order.request))

    def answer(self, slot: int, request: int) -> m.MetricsReport:
        user = MetricValue("map", "Map", slot, ("g",), {}, "c", "counter", {"count": slot})
        hidden = MetricValue("map", "Map", slot, (), {}, "numRecordsIn", "counter", {"count": 99})
        return m.MetricsReport(request, [m.OperatorNumbers("map", "Map", slot, 1, 2, 3, 4)], [user, hidden], 5)


def test_all_slots_are_asked_and_their_answers_put_together() -> None:
    readings = Slots(2).metrics.read()
    assert readings.complete
    assert readings.left_out == 10
    listed = [(v.subtask, v.groups, v.name, v.values) for v in readings.metrics()]
    assert listed[-2:] == [(0, ("g",), "c", {"count": 0}), (1, ("g",), "c", {"count": 1})]
    own = {(slot, name): values for slot, _, name, values in listed[:-2]}
    assert len(own) == len(listed) - 2
    for slot in (0, 1):
        assert own[slot, "numRecordsIn"] == {"count": 1}
        assert own[slot, "numRecordsOut"] == {"count": 2}
        assert own[slot, "currentInputWatermark"] == {"value": 3}
        assert own[slot, "currentOutputWatermark"] == {"value": 4}
        assert own[slot, "busyTimeMsPerSecond"] == {"value": 0.0}
        assert own[slot, "idleTimeMsPerSecond"] == {"value": 1000.0}


def test_an_operator_without_an_exchange_has_no_metrics_of_bytes() -> None:
    called = m.OperatorNumbers("map", "Map", 0, 1, 2, 3, 4)
    sent = m.OperatorNumbers("map", "Map", 0, 1, 2, 3, 4, bytes_in=5, all_bytes_out=True)
    names = [{metric.name for metric in SlotReadings((each,)).metrics()} for each in (called, sent)]
    assert {name for name in names[0] if "Bytes" in name} == set()
    assert {"numBytesIn", "numBytesOut", "numBytesInPerSecond", "numBytesOutPerSecond"} <= names[1]


def test_a_slot_that_does_not_answer_is_left_out() -> None:
    readings = Slots(2, silent={0}).metrics.read(timeout=0.01)
    assert not readings.complete
    assert [each.subtask for each in readings.operators] == [1]


def test_an_answer_that_comes_too_late_is_dropped() -> None:
    slots = Slots(1, silent={0})
    slots.metrics.read(timeout=0.01)
    slots.metrics.answer(0, slots.answer(0, request=0))
    assert slots.metrics._answers == {}


def test_nobody_is_asked_where_there_are_no_slots() -> None:
    slots = Slots(0)
    assert slots.metrics.read() is NO_READINGS
    assert slots.orders == []


def test_many_who_ask_at_once_share_an_answer() -> None:
    slots = Slots(1)
    threads = [threading.Thread(target=slots.metrics.read) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(slots.orders) <= 2  # a second may have passed meanwhile
