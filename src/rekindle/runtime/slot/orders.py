"""What a slot does when the job master orders something."""

from __future__ import annotations

from rekindle.runtime.slot.slot import Slot
from rekindle.runtime.wire import messages as m


def carry_out(slot: Slot, order: m.ToSlot) -> None:
    """Carry out an order. How a slot opens and ends depends on where it runs, and is not among them."""
    match order:
        case m.BeginEpoch():
            slot.begin_epoch(order)
        case m.EndEpoch():
            slot.end_epoch(order)
        case m.TriggerSnapshot():
            slot.snapshot(order)
        case m.NotifyComplete():
            slot.notify_complete(order)
        case m.NotifyAborted():
            slot.notify_aborted(order)
        case m.CommitFinal():
            slot.commit_final(order)
        case m.AskMetrics():
            slot.report_metrics(order)
        case m.StateLocations():
            slot.locate(order)
