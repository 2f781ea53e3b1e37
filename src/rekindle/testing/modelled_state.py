"""Keyed state that is kept twice, in backends and in plain dicts, and compared wherever it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rekindle.contracts.key_groups import key_group_range, subtask_of_key_group
from rekindle.contracts.state import (
    StateDescriptor,
)
from rekindle.state.key_hash import key_group_of
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.scope import NamespacedState
from rekindle.testing.backend_snapshots import BackendSnapshot, PendingSnapshot, take_snapshot
from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.clock import ManualClock
from rekindle.testing.modelled_kinds import KINDS
from rekindle.testing.state_model import StateModel, TtlChoice

MAX_PARALLELISM = 8
FAMILIES = ("plain", "expiring", "windowed")
WINDOWS = (1, 2, 3)
_MAX_RETAINED = 4


class ModelledState:
    """Drive the backends of one operator, one per subtask, and a model beside them.

    Attributes:
        families: The kinds of state in use, and for each whether it is plain, expiring or windowed.
        keys: The keys in use.
        clock: Tells the time.
        window: The window whose state windowed state is at the moment.
        retained: The snapshots that can be restored.
        pending: The checkpoints that may still complete.
        last_key: The key used last.
    """

    def __init__(
        self,
        families: dict[str, str],
        keys: list[Any],
        ttl: TtlChoice | None,
        under_test: BackendUnderTest,
        parallelism: int,
    ) -> None:
        """Begin with empty backends.

        Args:
            families: See above.
            keys: See above.
            ttl: The time-to-live of the expiring states.
            under_test: The kind of the backends.
            parallelism: How many there are.
        """
        self.families = families
        self.keys = keys
        self.clock = ManualClock(1_000)
        self.window: Any = WINDOWS[0]
        self.retained: list[_Retained] = []
        self.pending: list[_Pending] = []
        self.last_key = keys[0]
        self._model = StateModel(self.clock.now, [kind for kind in families if families[kind] == "expiring"], ttl)
        self._under_test = under_test
        self._subtasks: list[KeyedStateBackend] = []
        self._base: list[BackendSnapshot] | None = None
        self._checkpoint_id = 0
        self._make(under_test, parallelism, [])

    # --- state of any kind ---

    def read(self, kind: str, key: Any) -> None:
        """Read all that a state holds for a key."""
        handle, cell = self._handle(kind, key), self._cell(kind, key)
        modelled = KINDS[kind]
        self._same(modelled.read(handle), modelled.expected(self._model, kind, cell), kind, key)

    def clear(self, kind: str, key: Any) -> None:
        """Remove all that a state holds for a key."""
        self._handle(kind, key).clear()
        self._model.clear(kind, self._cell(kind, key))

    def switch_window(self, window: Any) -> None:
        """Let windowed state be that of another window from now on."""
        self.window = window

    def read_everything(self) -> None:
        """Read all states of all keys."""
        before = self.window
        for kind, family in self.families.items():
            for self.window in WINDOWS if family == "windowed" else WINDOWS[:1]:
                for key in self.keys:
                    self.read(kind, key)
        self.window = before

    def list_keys(self) -> None:
        """Compare for which keys there is any state."""
        for kind, family in self.families.items():
            if family == "plain" and kind != "list":  # a list that was updated to an empty one may be there, or not
                for backend in self._subtasks:
                    backend.get_or_create(self._descriptor(kind))
                keys = [key for backend in self._subtasks for key in backend.keys(kind)]
                self._same(len(keys), len(set(keys)), kind, "all keys")
                self._same(set(keys), self._model.keys(kind), kind, "all keys")

    # --- each kind of state; ``kind`` is the kind that the name says ---

    def update_value(self, kind: str, key: Any, value: Any) -> None:
        """Set a value."""
        self._handle(kind, key).update(value)
        self._model.update(kind, self._cell(kind, key), value)

    def add_to_list(self, kind: str, key: Any, elements: list[Any]) -> None:
        """Add elements to a list: one by itself, or some at once."""
        handle = self._handle(kind, key)
        if len(elements) == 1:
            handle.add(elements[0])
        else:
            handle.add_all(elements)
        self._model.add_all(kind, self._cell(kind, key), elements)

    def update_list(self, kind: str, key: Any, elements: list[Any]) -> None:
        """Replace a list."""
        self._handle(kind, key).update(elements)
        self._model.clear(kind, self._cell(kind, key))
        self._model.add_all(kind, self._cell(kind, key), elements)

    def put_into_map(self, kind: str, key: Any, entries: dict[Any, Any]) -> None:
        """Put entries into a map: one by itself, or some at once."""
        handle = self._handle(kind, key)
        if len(entries) == 1:
            handle.put(*next(iter(entries.items())))
        else:
            handle.put_all(entries)
        self._model.put_all(kind, self._cell(kind, key), entries)

    def remove_from_map(self, kind: str, key: Any, map_key: Any) -> None:
        """Remove an entry of a map."""
        self._handle(kind, key).remove(map_key)
        self._model.remove(kind, self._cell(kind, key), map_key)

    def get_from_map(self, kind: str, key: Any, map_key: Any) -> None:
        """Read one entry of a map."""
        actual = self._handle(kind, key).get(map_key)
        self._same(actual, self._model.entry(kind, self._cell(kind, key), map_key).get(map_key), kind, key)

    def ask_whether_map_contains(self, kind: str, key: Any, map_key: Any) -> None:
        """Ask a map whether it has an entry."""
        actual = self._handle(kind, key).contains(map_key)
        self._same(actual, map_key in self._model.entry(kind, self._cell(kind, key), map_key), kind, key)

    def ask_whether_map_is_empty(self, kind: str, key: Any) -> None:
        """Ask a map whether it has none."""
        actual = self._handle(kind, key).is_empty()
        self._same(actual, self._model.is_empty(kind, self._cell(kind, key)), kind, key)

    def walk_map(self, kind: str, key: Any, what: str) -> None:
        """Read the ``keys`` or the ``values`` of a map."""
        walked = list(getattr(self._handle(kind, key), what)())
        entries = self._model.entries(kind, self._cell(kind, key))
        self._same(sorted(map(repr, walked)), sorted(map(repr, getattr(entries, what)())), kind, key)

    def accumulate(self, kind: str, key: Any, value: str | None) -> None:
        """Add a value to an accumulator; None clears it."""
        self._handle(kind, key).add(value)
        cell = self._cell(kind, key)
        if value is None:
            self._model.clear(kind, cell)
        else:
            self._model.update(kind, cell, [*(self._model.value(kind, cell) or []), value])

    def merge_windows(self, kind: str, key: Any, into: Any, source: Any) -> None:
        """Move what a key's state of one window holds into that of another."""
        if into == source:
            return
        self._namespaced(kind, key).merge(into, [source])
        merge = KINDS[kind].merge
        assert merge is not None
        merge(self._model, kind, (key, into), (key, source))

    # --- time ---

    def advance_clock(self, times_ttl: float, millis: int) -> None:
        """Let time pass."""
        ttl = 10 if self._model.ttl is None else self._model.ttl.millis
        self.clock.advance(int(times_ttl * ttl) + millis)

    def process_records(self, records: int) -> None:
        """Let records be processed that touch no state."""
        for backend in self._subtasks:
            backend.after_chunk(records)

    # --- snapshots ---

    def begin_checkpoint(self, incremental: bool) -> None:
        """Take a checkpoint that completes later, or never."""
        self._checkpoint_id += 1
        bases = self._base if incremental and self._base is not None else [None] * len(self._subtasks)
        parts = [
            PendingSnapshot(backend, self._checkpoint_id, base=base)
            for backend, base in zip(self._subtasks, bases, strict=True)
        ]
        self.pending.append(_Pending(self._checkpoint_id, parts, self._model.copy()))

    def complete_checkpoint(self, which: int) -> None:
        """Complete one of the pending checkpoints, and see whether it holds what it has to; older ones never will."""
        completed = self.pending[which]
        older = self.pending.index(completed)
        for given_up in self.pending[:older]:
            given_up.give_up()
        del self.pending[: older + 1]
        snapshots = [part.finish() for part in completed.parts]
        for backend in self._subtasks:
            backend.snapshot_completed(completed.checkpoint_id)
        self._base = snapshots
        self._retain(snapshots, completed.model)

    def savepoint(self) -> None:
        """Take a savepoint, and see whether it holds what it has to."""
        self._retain(self._canonical(), self._model.copy())

    def restore(self, which: int, under_test: BackendUnderTest, parallelism: int) -> None:
        """Go back to one of the retained snapshots, with any parallelism; time does not go back."""
        retained = self.retained[which]
        self._make(under_test, parallelism, retained.snapshots)
        self._model = retained.model.copy()

    def change_ttl(self, ttl: TtlChoice | None, under_test: BackendUnderTest, parallelism: int) -> None:
        """Restart with another time-to-live, or with none.

        All is read before, so that nothing that has expired is left: by other rules it might not have.
        """
        self.read_everything()
        self._make(under_test, parallelism, self._canonical())
        self._model.change_ttl(ttl)
        for kind, family in self.families.items():
            for backend in self._subtasks if family == "expiring" else ():
                backend.get_or_create(self._descriptor(kind))  # when it is asked for, it counts as just written

    def close(self) -> None:
        """Close all backends."""
        for pending in self.pending:
            pending.give_up()
        self.pending.clear()
        self._under_test.close()

    # --- how it is done ---

    def _handle(self, kind: str, key: Any) -> Any:
        if self.families[kind] == "windowed":
            return self._namespaced(kind, key).use(self.window)
        return self._backend_of(key).get_or_create(self._descriptor(kind))

    def _namespaced(self, kind: str, key: Any) -> NamespacedState:
        return self._backend_of(key).get_or_create_namespaced(self._descriptor(kind))

    def _backend_of(self, key: Any) -> KeyedStateBackend:
        key_group = key_group_of(key, MAX_PARALLELISM)
        backend = self._subtasks[subtask_of_key_group(key_group, len(self._subtasks), MAX_PARALLELISM)]
        backend.key = self.last_key = key
        return backend

    def _cell(self, kind: str, key: Any) -> Any:
        """Return the key under which the model has a key's state."""
        return (key, self.window) if self.families[kind] == "windowed" else key

    def _descriptor(self, kind: str) -> StateDescriptor:
        described = KINDS[kind].describe(kind)
        if self.families[kind] == "expiring" and self._model.ttl is not None:
            described.enable_time_to_live(self._model.ttl.config())
        return described

    def _same(self, actual: Any, expected: Any, kind: str, key: Any) -> None:
        assert actual == expected, (
            f"{self.families[kind]} {kind} state of key {key!r}, window {self.window!r}, at {self.clock.now()} ms is "
            f"{actual!r} and should be {expected!r} (time-to-live: {self._model.ttl})"
        )

    def _canonical(self) -> list[BackendSnapshot]:
        self._checkpoint_id += 1
        return [take_snapshot(backend, self._checkpoint_id, canonical=True) for backend in self._subtasks]

    def _retain(self, snapshots: list[BackendSnapshot], model: StateModel) -> None:
        self._verify(snapshots, model)
        self.retained.append(_Retained(snapshots, model))
        del self.retained[:-_MAX_RETAINED]

    def _verify(self, snapshots: list[BackendSnapshot], model: StateModel) -> None:
        """Read a snapshot as it would be read if it was restored now, on the heap, which is quick."""
        running = self._subtasks, self._model, self.last_key
        heap = BackendUnderTest("heap")
        self._subtasks = [
            heap.restore(snapshots, key_group_range(0, 1, MAX_PARALLELISM), MAX_PARALLELISM, self.clock.now)
        ]
        self._model = model.copy()
        self.read_everything()
        self._subtasks, self._model, self.last_key = running

    def _make(self, under_test: BackendUnderTest, parallelism: int, snapshots: list[BackendSnapshot]) -> None:
        """Replace the backends by restored ones."""
        self.close()
        self._under_test = under_test
        self._base = None
        ranges = [key_group_range(subtask, parallelism, MAX_PARALLELISM) for subtask in range(parallelism)]
        self._subtasks = [under_test.restore(snapshots, own, MAX_PARALLELISM, self.clock.now) for own in ranges]


@dataclass(frozen=True, slots=True)
class _Retained:
    """Hold a snapshot of all subtasks, and what it has to hold."""

    snapshots: list[BackendSnapshot]
    model: StateModel


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """Hold a checkpoint of all subtasks that is not complete, and what it has to hold."""

    checkpoint_id: int
    parts: list[PendingSnapshot]
    model: StateModel

    def give_up(self) -> None:
        for part in self.parts:
            part.give_up()
