"""Test doubles for programs that use Rekindle: a clock to move by hand, storage that fails to order,
operators run in the test's process, state backends by themselves.

``rekindle.testing.state_machine`` is not imported here: it needs hypothesis.
"""

from __future__ import annotations

from rekindle.testing.backend_snapshots import BackendSnapshot, PendingSnapshot, take_snapshot
from rekindle.testing.backends import BackendUnderTest, heap_backends, rocksdb_backends
from rekindle.testing.clock import ManualClock
from rekindle.testing.faults import FaultInjectingCheckpointStorage, FaultKind
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness

__all__ = [
    "BackendSnapshot",
    "BackendUnderTest",
    "FaultInjectingCheckpointStorage",
    "FaultKind",
    "HarnessSnapshot",
    "ManualClock",
    "OperatorHarness",
    "PendingSnapshot",
    "heap_backends",
    "rocksdb_backends",
    "take_snapshot",
]
