"""Drives one backend as a running operator does: keys, states, checkpoints, a restart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from rekindle.common.time import Time
from rekindle.contracts.key_groups import KeyGroupRange, key_group_range
from rekindle.datastream.functions import AggregateFunction
from rekindle.datastream.state import (
    AggregatingStateDescriptor,
    FoldingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.testing import BackendSnapshot, BackendUnderTest, ManualClock, take_snapshot

MAX_PARALLELISM = 16
ALL_KEY_GROUPS = KeyGroupRange(0, MAX_PARALLELISM - 1)
TTL = 100
START = 1_000_000
"""What the clock shows when a test begins."""


class Keyed:
    """Hold one backend, the clock it goes by, and the last completed checkpoint, which the next one builds on."""

    _ids = itertools.count(1)

    def __init__(self, under_test: BackendUnderTest, backend: KeyedStateBackend, clock: ManualClock) -> None:
        self.under_test = under_test
        self.backend = backend
        self.clock = clock
        self.base: BackendSnapshot | None = None

    @property
    def key(self) -> Any:
        return self.backend.key

    @key.setter
    def key(self, key: Any) -> None:
        self.backend.key = key

    def open(self, descriptor: StateDescriptor) -> Any:
        """Return the handle of a state."""
        return self.backend.get_or_create(descriptor)

    def checkpoint(self, complete: bool = True) -> BackendSnapshot:
        """Take a checkpoint that builds on the last completed one."""
        taken = take_snapshot(self.backend, next(self._ids), base=self.base)
        if complete:
            self.complete(taken)
        return taken

    def complete(self, checkpoint: BackendSnapshot) -> None:
        """Let the backend know that a checkpoint is complete."""
        self.backend.snapshot_completed(checkpoint.checkpoint_id)
        self.base = checkpoint

    def savepoint(self) -> BackendSnapshot:
        """Take a savepoint."""
        return take_snapshot(self.backend, next(self._ids), canonical=True)

    def stored(self, state: str) -> dict[Any, Any]:
        """Return what is stored of a state, without reading it."""
        return self.savepoint().entries().get(state, {})

    def restored(self, snapshot: BackendSnapshot, into: BackendUnderTest | None = None) -> Keyed:
        """Return a backend that was restored from a snapshot."""
        return restored(into or self.under_test, [snapshot], self.clock)

    def restarted(self) -> Keyed:
        """Take a checkpoint and give a backend that was restored from it."""
        return self.restored(self.checkpoint())


def started(
    under_test: BackendUnderTest, key_groups: KeyGroupRange = ALL_KEY_GROUPS, clock: ManualClock | None = None
) -> Keyed:
    """Return an empty backend."""
    clock = clock or ManualClock(START)
    return Keyed(under_test, under_test.create(key_groups, MAX_PARALLELISM, clock.now), clock)


def restored(
    under_test: BackendUnderTest,
    snapshots: Sequence[BackendSnapshot],
    clock: ManualClock,
    subtask: int = 0,
    parallelism: int = 1,
) -> Keyed:
    """Return one subtask's backend, restored from the snapshots of all old subtasks."""
    own = key_group_range(subtask, parallelism, MAX_PARALLELISM)
    return Keyed(under_test, under_test.restore(snapshots, own, MAX_PARALLELISM, clock.now), clock)


def writes_deltas(under_test: BackendUnderTest) -> bool:
    """Return whether snapshots hold blocks with what changed since the one before."""
    return under_test.settings.incremental and under_test.settings.rocksdb is None


class Mean(AggregateFunction):
    """Average numbers; the accumulator is [sum, count], changed in place."""

    def create_accumulator(self) -> list[float]:
        return [0, 0]

    def add(self, value: float, accumulator: list[float]) -> list[float]:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: list[float]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: list[float], acc_b: list[float]) -> list[float]:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


def folding(name: str) -> FoldingStateDescriptor:
    """Describe a state that folds numbers into a list."""
    with pytest.warns(DeprecationWarning, match="FoldingStateDescriptor"):
        return FoldingStateDescriptor(name, [], lambda numbers, number: [*numbers, number])


@dataclass(frozen=True)
class Kind:
    """Say how to use one kind of state without caring which.

    Attributes:
        name: What it is called, and what its state is called.
        describe: Makes a descriptor of a given name.
        write: Sets an unset state to something that depends on a number.
        read: Gives what the state holds.
        unset: What that is where nothing was set.
        expected: What that is after one write to an unset state.
    """

    name: str
    describe: Callable[[str], StateDescriptor]
    write: Callable[[Any, int], None]
    read: Callable[[Any], Any]
    unset: Any
    expected: Callable[[int], Any]

    def descriptor(self, ttl: StateTtlConfig | None = None) -> StateDescriptor:
        """Describe the state."""
        described = self.describe(self.name)
        if ttl is not None:
            described.enable_time_to_live(ttl)
        return described

    def __str__(self) -> str:
        return self.name


KINDS = [
    Kind("value", ValueStateDescriptor, lambda s, n: s.update(n), lambda s: s.value(), None, lambda n: n),
    Kind(
        "list",
        ListStateDescriptor,
        lambda s, n: s.add_all([n, n + 1]),
        lambda s: list(s.get()),
        [],
        lambda n: [n, n + 1],
    ),
    Kind(
        "map",
        MapStateDescriptor,
        lambda s, n: s.put_all({"n": n, n: None}),
        lambda s: dict(s.items()),
        {},
        lambda n: {"n": n, n: None},
    ),
    Kind(
        "reducing",
        lambda name: ReducingStateDescriptor(name, lambda a, b: a + b),
        lambda s, n: s.add(n),
        lambda s: s.get(),
        None,
        lambda n: n,
    ),
    Kind(
        "aggregating",
        lambda name: AggregatingStateDescriptor(name, Mean()),
        lambda s, n: s.add(n),
        lambda s: s.get(),
        None,
        lambda n: n,
    ),
    Kind("folding", folding, lambda s, n: s.add(n), lambda s: s.get(), None, lambda n: [n]),
]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=str)


def contents(keyed: Keyed, keys: Sequence[Hashable], ttl: StateTtlConfig | None = None) -> dict[str, dict[Any, Any]]:
    """Read every kind of state of every key; give those that are set."""
    found: dict[str, dict[Any, Any]] = {}
    for kind in KINDS:
        state = keyed.open(kind.descriptor(ttl))
        for key in keys:
            keyed.key = key
            if (value := kind.read(state)) != kind.unset:
                found.setdefault(kind.name, {})[key] = value
    return found


def fill(keyed: Keyed, numbers: dict[Any, int], ttl: StateTtlConfig | None = None) -> None:
    """Write every kind of state of some keys."""
    for kind in KINDS:
        state = keyed.open(kind.descriptor(ttl))
        for key, number in numbers.items():
            keyed.key = key
            kind.write(state, number)


def filled(numbers: dict[Any, int]) -> dict[str, dict[Any, Any]]:
    """Return the contents of a backend in which these keys were written, once each."""
    return {kind.name: {key: kind.expected(number) for key, number in numbers.items()} for kind in KINDS}


def ttl_builder(millis: int = TTL, on_read: bool = False, return_expired: bool = False) -> StateTtlConfig.Builder:
    """Begin a time-to-live that removes nothing unless it is read."""
    builder = StateTtlConfig.new_builder(Time.milliseconds(millis)).disable_cleanup_in_background()
    if on_read:
        builder.update_ttl_on_read_and_write()
    if return_expired:
        builder.return_expired_if_not_cleaned_up()
    return builder


def ttl(millis: int = TTL, on_read: bool = False, return_expired: bool = False) -> StateTtlConfig:
    """Return a time-to-live that removes nothing unless it is read."""
    return ttl_builder(millis, on_read, return_expired).build()


EVERY_TTL = pytest.mark.parametrize(
    "config",
    [ttl(), ttl(on_read=True), ttl(return_expired=True), ttl(on_read=True, return_expired=True)],
    ids=["write-never", "read-never", "write-once", "read-once"],
)
"""Both update types with both visibilities."""


def prolongs_on_read(config: StateTtlConfig) -> bool:
    """Return whether reading prolongs."""
    return config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite


def returns_expired(config: StateTtlConfig) -> bool:
    """Return whether what has expired is returned once."""
    return config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
