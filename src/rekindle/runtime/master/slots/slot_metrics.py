"""Asks the slots of an attempt what they have counted and measured, and waits for their answers a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from rekindle.metrics.slot_metrics import MetricValue
from rekindle.runtime.wire import messages as m

_ANSWER_SECONDS = 2.0
_FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SlotReadings:
    """Hold what slots measured.

    Attributes:
        operators: The numbers of each operator's subtasks.
        user: What functions count and measure.
        complete: Whether all slots answered.
        left_out: How many metrics of functions are more than slots tell of.
    """

    operators: tuple[m.OperatorNumbers, ...] = ()
    user: tuple[MetricValue, ...] = ()
    complete: bool = False
    left_out: int = 0

    def metrics(self) -> list[MetricValue]:
        """Return all as metrics; a function's that has the name of an operator's own is not listed."""
        own = [metric for numbers in self.operators for metric in _as_metrics(numbers)]
        taken = {(metric.uid, metric.subtask, metric.name) for metric in own}
        return own + [v for v in self.user if v.groups or (v.uid, v.subtask, v.name) not in taken]


NO_READINGS = SlotReadings()


class SlotMetrics:
    """Ask the slots of one attempt, once a second at most.

    Args:
        connected: Tells how many slots there are to ask.
        broadcast: Sends an order to all of them.
    """

    def __init__(self, connected: Callable[[], int], broadcast: Callable[[m.ToSlot], None]) -> None:
        self._connected = connected
        self._broadcast = broadcast
        self._asking = threading.Lock()
        self._changed = threading.Condition()
        self._number = 0
        self._answers: dict[int, m.MetricsReport] = {}
        self._last = NO_READINGS
        self._asked = float("-inf")

    def read(self, timeout: float = _ANSWER_SECONDS) -> SlotReadings:
        """Ask all slots; give what those say that answer in time."""
        with self._asking:
            if time.monotonic() - self._asked >= _FRESH_SECONDS:
                self._last = self._ask(timeout)
                self._asked = time.monotonic()
            return self._last

    @property
    def last(self) -> SlotReadings:
        """Return what the slots said when they were asked last."""
        return self._last

    def answer(self, slot: int, report: m.MetricsReport) -> None:
        """Take what a slot says; what comes too late is dropped."""
        with self._changed:
            if report.request == self._number:
                self._answers[slot] = report
                self._changed.notify_all()

    def _ask(self, timeout: float) -> SlotReadings:
        slots = self._connected()
        if not slots:
            return NO_READINGS
        with self._changed:
            self._number += 1
            self._answers = {}
        self._broadcast(m.AskMetrics(self._number))
        with self._changed:
            complete = self._changed.wait_for(lambda: len(self._answers) >= slots, timeout)
            answers = [report for _, report in sorted(self._answers.items())]
        return SlotReadings(
            tuple(numbers for report in answers for numbers in report.operators),
            tuple(value for report in answers for value in report.metrics),
            complete,
            sum(report.left_out for report in answers),
        )


def _as_metrics(numbers: m.OperatorNumbers) -> list[MetricValue]:
    def metric(name: str, kind: str, values: dict[str, int | float]) -> MetricValue:
        return MetricValue(numbers.uid, numbers.operator, numbers.subtask, (), {}, name, kind, values)

    def counter(name: str, count: int) -> MetricValue:
        return metric(name, "counter", {"count": count})

    def gauge(name: str, value: float) -> MetricValue:
        return metric(name, "gauge", {"value": value})

    rates = numbers.rates
    found = [
        counter("numRecordsIn", numbers.records_in),
        counter("numRecordsOut", numbers.records_out),
        gauge("numRecordsInPerSecond", rates.records_in),
        gauge("numRecordsOutPerSecond", rates.records_out),
        gauge("currentInputWatermark", numbers.input_watermark),
        gauge("currentOutputWatermark", numbers.output_watermark),
        gauge("accumulateBusyTimeMs", numbers.busy_ms),
        gauge("accumulateBackPressuredTimeMs", numbers.back_pressured_ms),
        gauge("accumulateIdleTimeMs", numbers.idle_ms),
        gauge("busyTimeMsPerSecond", rates.busy_ms),
        gauge("backPressuredTimeMsPerSecond", rates.back_pressured_ms),
        gauge("idleTimeMsPerSecond", rates.idle_ms),
    ]
    # As in Flink, what is handed on by a call has no bytes: an operator without an exchange has no such metrics.
    if numbers.all_bytes_in or numbers.bytes_in:
        found += [counter("numBytesIn", numbers.bytes_in), gauge("numBytesInPerSecond", rates.bytes_in)]
    if numbers.all_bytes_out or numbers.bytes_out:
        found += [counter("numBytesOut", numbers.bytes_out), gauge("numBytesOutPerSecond", rates.bytes_out)]
    return found
