"""Test doubles for programs that use Rekindle: a clock to move by hand, operators run in the test's process."""

from __future__ import annotations

from rekindle.testing.clock import ManualClock
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness

__all__ = ["HarnessSnapshot", "ManualClock", "OperatorHarness"]
