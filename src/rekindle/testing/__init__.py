"""For tests of programs that use Rekindle: whole programs, or single operators, run in the test's process; a clock to
move by hand, storage that fails to order, state backends by themselves, and whether state follows a change of its type.

``rekindle.testing.state_machine`` is not imported here: it needs hypothesis.
"""

from __future__ import annotations

from rekindle.testing.backend_snapshots import BackendSnapshot, PendingSnapshot, take_snapshot
from rekindle.testing.backends import BackendUnderTest, heap_backends, rocksdb_backends
from rekindle.testing.clock import ManualClock
from rekindle.testing.connectors.broken_promise import BrokenPromiseError, Promise
from rekindle.testing.connectors.sink_check import check_sink
from rekindle.testing.connectors.source_check import check_source
from rekindle.testing.evolution import Evolution, check_evolution, serializer_snapshot
from rekindle.testing.faults import FaultInjectingCheckpointStorage, FaultKind
from rekindle.testing.harness import HarnessSnapshot, OperatorHarness
from rekindle.testing.in_process.cluster import InProcessCluster
from rekindle.testing.in_process.environment import LocalEnvironment, local_environment

__all__ = [
    "BackendSnapshot",
    "BackendUnderTest",
    "BrokenPromiseError",
    "Evolution",
    "FaultInjectingCheckpointStorage",
    "FaultKind",
    "HarnessSnapshot",
    "InProcessCluster",
    "LocalEnvironment",
    "ManualClock",
    "OperatorHarness",
    "PendingSnapshot",
    "Promise",
    "check_evolution",
    "check_sink",
    "check_source",
    "heap_backends",
    "local_environment",
    "rocksdb_backends",
    "serializer_snapshot",
    "take_snapshot",
]
