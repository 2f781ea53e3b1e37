"""Test doubles for programs that use Rekindle: a clock to move by hand, storage that fails to order,
operators run in the test's process."""

from __future__ import annotations

from rekindle.testing.clock import ManualClock
from rekindle.testing.faults import FaultInjectingCheckpointStorage, FaultKind
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness

__all__ = ["FaultInjectingCheckpointStorage", "FaultKind", "HarnessSnapshot", "ManualClock", "OperatorHarness"]
