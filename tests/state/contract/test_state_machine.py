"""Any history at all: hypothesis looks for one that a backend gets wrong, and is seen to find such backends out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from rekindle.common.time import Time
from rekindle.contracts.key_groups import KeyGroupRange
from rekindle.datastream.state import State, StateDescriptor, StateTtlConfig
from rekindle.exceptions import StateMigrationException
from rekindle.state.blocks import KeyGroupBlock, StateSpec
from rekindle.state.heap.backend import HeapKeyedStateBackend
from rekindle.state.heap.changes import StateChanges
from rekindle.state.heap.table import HeapTable
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.snapshots import KeyedSnapshot, SnapshotRequest
from rekindle.state.state_serializers import StateSerializers
from rekindle.testing import BackendUnderTest, heap_backends, rocksdb_backends
from rekindle.testing.state_machine import keyed_state_machine
from support.seeds import rounds

HEAP, HEAP_INCREMENTAL = heap_backends()
ROCKSDB = rocksdb_backends()


def machine(examples: int, *under_test: BackendUnderTest) -> Any:
    """Return the test of a machine, of which each run takes up to 30 steps."""
    case: Any = keyed_state_machine(*under_test).TestCase
    case.settings = settings(max_examples=examples, stateful_step_count=30)
    return case


FEW = rounds(8, named=25)
TestHeap = machine(rounds(40, named=100), HEAP)
TestHeapIncremental = machine(rounds(40, named=100), HEAP_INCREMENTAL)
TestRocksDBWithoutCache = machine(FEW, ROCKSDB[0])
TestRocksDBWithTheSmallestCache = machine(FEW, ROCKSDB[1])
TestRocksDBWithASmallCache = machine(FEW, ROCKSDB[2])
TestRocksDBWithItsOwnCache = machine(FEW, ROCKSDB[3])
TestEveryBackendInTurn = machine(rounds(15, named=50), HEAP, HEAP_INCREMENTAL, *ROCKSDB)


class ForgetsRemovals(HeapKeyedStateBackend):
    """Leave out of incremental snapshots what was removed."""

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        for table in self._tables.values():
            changes = table._changes or StateChanges()
            changes.keys.intersection_update(table.entries)
        return super().snapshot(request)


class ForgetsWhatNeverCompleted(HeapKeyedStateBackend):
    """Take every checkpoint for complete."""

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        self.snapshot_completed(request.checkpoint_id - 1)
        return super().snapshot(request)


class SavepointsBreakTheChain(HeapKeyedStateBackend):
    """Let savepoints take the changes that the next checkpoint should hold."""

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        for table in self._tables.values():
            if request.canonical and table._changes is not None:
                table._note(StateChanges())
        return super().snapshot(request)


class ExpiresLate(HeapKeyedStateBackend):
    """Let state live a millisecond too long."""

    def get_or_create(self, descriptor: StateDescriptor) -> State:
        config = descriptor.get_ttl_config()
        if config is not None:
            longer = StateTtlConfig(
                config.get_update_type(),
                config.get_state_visibility(),
                config.get_ttl_time_characteristic(),
                Time.milliseconds(config.get_ttl().to_milliseconds() + 1),
                config.get_cleanup_strategies(),
            )
            descriptor.enable_time_to_live(longer)
        return super().get_or_create(descriptor)


class RestoresAsJustWritten(HeapKeyedStateBackend):
    """Take the time of a snapshot for that of the last access."""

    def _opened(self, spec: StateSpec, serializers: StateSerializers) -> HeapTable:
        table = super()._opened(spec, serializers)
        shape = spec.kind.shape
        for key, value in table.entries.items() if spec.ttl else ():
            table.entries[key] = shape.with_last_access(shape.split(value)[0], self.now())
        return table


class LosesAKeyGroup(HeapKeyedStateBackend):
    """Leave the last key group behind when others are restored."""

    def restore_blocks(self, blocks: Iterable[KeyGroupBlock]) -> None:
        last = self.key_groups.end
        super().restore_blocks(block for block in blocks if block.key_group != last)


class KeepsForeignKeyGroups(HeapKeyedStateBackend):
    """Write state to snapshots under a neighbour's key group."""

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        taken = super().snapshot(request)

        def moved() -> Iterator[KeyGroupBlock]:
            for block in taken.blocks():
                yield KeyGroupBlock(
                    block.state,
                    block.kind,
                    (block.key_group + 1) % self.max_parallelism,
                    block.entries,
                    block.data,
                    block.ttl,
                    block.namespaced,
                    block.delta,
                    block.serializers,
                )

        return KeyedSnapshot(moved, taken.entries, taken.delta)


class SharesStateWithSnapshots(HeapKeyedStateBackend):
    """Write a snapshot only when it is restored, with what has become of the state by then."""

    def snapshot(self, request: SnapshotRequest) -> KeyedSnapshot:
        taken = super().snapshot(request)
        return KeyedSnapshot(exported=taken.blocks, delta=taken.delta)


class Broken(BackendUnderTest):
    """Make backends of a class that does not do what it should."""

    def __init__(self, backend_class: type[HeapKeyedStateBackend], incremental: bool) -> None:
        super().__init__(backend_class.__name__)
        self._class = backend_class
        self._incremental = incremental

    def make(
        self, operator: str, key_groups: KeyGroupRange, max_parallelism: int, now: Callable[[], int]
    ) -> KeyedStateBackend:
        return self._class(operator, key_groups, max_parallelism, now, self._incremental)


class TestBrokenBackendsAreFoundOut:
    @pytest.mark.parametrize(
        "backend_class",
        [
            ForgetsRemovals,
            ForgetsWhatNeverCompleted,
            SavepointsBreakTheChain,
            ExpiresLate,
            RestoresAsJustWritten,
            LosesAKeyGroup,
            KeepsForeignKeyGroups,
            SharesStateWithSnapshots,
        ],
    )
    def test_within_a_few_examples(self, backend_class: type[HeapKeyedStateBackend]) -> None:
        broken = keyed_state_machine(Broken(backend_class, incremental=True))
        few = settings(
            max_examples=1_000, stateful_step_count=50, derandomize=True, database=None, phases=[Phase.generate]
        )
        # A wrong state, changes to what is not there, or keys in the key group of others.
        with pytest.raises((AssertionError, KeyError, StateMigrationException)):
            run_state_machine_as_test(broken, settings=few)

    def test_a_machine_needs_a_backend(self) -> None:
        with pytest.raises(ValueError, match="at least one kind of backend"):
            keyed_state_machine()


class TestWithoutHypothesis:
    def test_the_rest_of_the_testing_package_is_there_and_the_machine_says_what_to_install(self) -> None:
        program = (
            "import sys\n"
            "sys.modules['hypothesis'] = None\n"
            "import rekindle.testing\n"
            "try:\n"
            "    import rekindle.testing.state_machine\n"
            "except ImportError as error:\n"
            "    print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "needs hypothesis" in done.stdout
        assert 'pip install "hypothesis>=6.100"' in done.stdout
