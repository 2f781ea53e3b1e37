"""A hypothesis state machine that does anything at all to a state backend and compares it with plain dicts.

TestMyBackend = keyed_state_machine(BackendUnderTest("heap")).TestCase

It writes, reads and removes state of every kind, with and without time-to-live and with namespaces, moves the clock,
takes checkpoints that build on each other, some of which never complete, and savepoints, restores any of them with any
parallelism, and changes the time-to-live. hypothesis finds a short history that goes wrong, and prints it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

try:
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
except ImportError as error:
    raise ImportError(
        "rekindle.testing.state_machine needs hypothesis, which Rekindle does not install: run "
        'pip install "hypothesis>=6.100"'
    ) from error

from rekindle.testing.backends import BackendUnderTest
from rekindle.testing.modelled_kinds import KINDS
from rekindle.testing.modelled_state import FAMILIES, WINDOWS, ModelledState
from rekindle.testing.state_model import TtlChoice

__all__ = ["KeyedStateMachine", "keyed_state_machine"]

Action: TypeAlias = tuple[Any, ...]
"""A method of ModelledState, and its arguments."""

_KEYS = st.lists(st.sampled_from(["a", "b", "c", 1, 2, None, ("t", 1), 2.5]), min_size=1, max_size=3, unique=True)
_FAMILIES = st.dictionaries(
    st.sampled_from(list(KINDS)), st.sampled_from([*FAMILIES, "expiring"]), min_size=1, max_size=4
)
_PARALLELISM = st.integers(1, 4)
_TTL = st.builds(
    TtlChoice,
    st.sampled_from([10, 5, 20]),
    on_read=st.booleans(),
    return_expired=st.sampled_from([False, False, True]),
    cleanup=st.sampled_from(["none", "background", "incremental", "compaction"]),
    cleanup_in_snapshots=st.booleans(),
)
# How often the time that state lives passes, and how many milliseconds besides.
_PASSED = st.sampled_from([(0, 0), (0, 0), (0.5, 0), (0.5, 0), (1, -1), (1, 0), (1, 0)])
_BARRIER = st.sampled_from([None, None, "incremental", "incremental", "not yet complete", "whole", "savepoint"])
_STEPS_BETWEEN_RESTARTS = 3
_MAP_KEY = st.sampled_from(["x", "y", 1, None])
_NUMBER = st.integers(0, 3)
_WINDOW = st.sampled_from(WINDOWS)

# What the methods that change and read a state take besides its kind and the key.
_ARGUMENTS: dict[str, list[st.SearchStrategy[Any]]] = {
    "read": [],
    "clear": [],
    "update_value": [_NUMBER | st.lists(_NUMBER, max_size=2) | st.none()],
    "add_to_list": [st.lists(_NUMBER, min_size=1, max_size=3)],
    "update_list": [st.lists(_NUMBER, max_size=2)],
    "put_into_map": [st.dictionaries(_MAP_KEY, st.none() | _NUMBER, min_size=1, max_size=3)],
    "remove_from_map": [_MAP_KEY],
    "get_from_map": [_MAP_KEY],
    "ask_whether_map_contains": [_MAP_KEY],
    "ask_whether_map_is_empty": [],
    "walk_map": [st.sampled_from(["keys", "values"])],
    "accumulate": [st.sampled_from(["x", "y", "z", None])],
    "merge_windows": [_WINDOW, _WINDOW],
}


def _actions(families: dict[str, str], keys: list[Any], writing: bool) -> st.SearchStrategy[list[Action]]:
    """Draw some of what can be done to the states in use."""
    key = st.sampled_from([equal for key in keys for equal in ((1, 1.0, True) if key == 1 else (key,))])
    possible: list[st.SearchStrategy[Action]] = []
    for kind, family in families.items():
        modelled = KINDS[kind]
        named = modelled.writes if writing else modelled.reads
        if family == "windowed":
            possible.append(st.tuples(st.just("switch_window"), _WINDOW))
            if writing and modelled.merge is not None:
                named = (*named, "merge_windows")
        possible += [st.tuples(st.just(method), st.just(kind), key, *_ARGUMENTS[method]) for method in named]
    return st.lists(st.one_of(possible), max_size=3)


def _origins(state: ModelledState) -> st.SearchStrategy[Any]:
    """Draw what to restart from, and how."""
    origins: list[st.SearchStrategy[Any]] = [st.sampled_from(["incremental", "whole", "savepoint"])]
    if state.retained:
        origins.append(st.integers(0, len(state.retained) - 1))
    if "expiring" in state.families.values():
        origins.append(st.none() | _TTL)
    return st.one_of(origins)


def _of(choices: Callable[[Any], st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Draw from what the running machine has to offer."""
    return st.runner().flatmap(choices)


_BACKEND = _of(lambda machine: st.sampled_from(machine.under_test))


class KeyedStateMachine(RuleBasedStateMachine):
    """Do anything to the state of one operator. Make a machine for your backend with :func:`keyed_state_machine`.

    Each run uses a few kinds of state and a few keys, so that what is done meets in the same places.

    Attributes:
        under_test: The kinds of backends.
        state: The state, in the backends and in the model.
        writes: Draws what changes it.
        reads: Draws what reads it.
        steps_since_restart: How often something was done to it since the last restart.
    """

    under_test: ClassVar[tuple[BackendUnderTest, ...]] = ()
    state: ModelledState
    writes: st.SearchStrategy[list[Action]]
    reads: st.SearchStrategy[list[Action]]
    steps_since_restart: int

    @initialize(families=_FAMILIES, keys=_KEYS, ttl=_TTL, backend=_BACKEND, parallelism=_PARALLELISM)
    def start(
        self, families: dict[str, str], keys: list[Any], ttl: TtlChoice, backend: BackendUnderTest, parallelism: int
    ) -> None:
        """Begin with empty backends."""
        self.state = ModelledState(families, keys, ttl, backend, parallelism)
        self.writes = _actions(families, keys, writing=True)
        self.reads = _actions(families, keys, writing=False)
        self.steps_since_restart = 0

    @rule(passed=_PASSED, actions=_of(lambda machine: machine.writes), barrier=_BARRIER)
    def write(self, passed: tuple[float, int], actions: list[Action], barrier: str | None) -> None:
        """Let some time pass, change state, and take a snapshot or not."""
        self._run(passed, actions, barrier)

    @rule(passed=_PASSED, barrier=_BARRIER)
    def read_everything(self, passed: tuple[float, int], barrier: str | None) -> None:
        """Let some time pass, read all state, and take a snapshot or not."""
        self._run(passed, [("read_everything",)], barrier)

    @rule(passed=_PASSED, actions=_of(lambda machine: machine.writes | machine.reads), barrier=_BARRIER)
    def write_or_read(self, passed: tuple[float, int], actions: list[Action], barrier: str | None) -> None:
        """Let some time pass, change or read state, and take a snapshot or not."""
        self._run(passed, actions, barrier)

    @rule(records=st.integers(1, 10))
    def process_records(self, records: int) -> None:
        """Let records be processed that touch no state."""
        self.state.process_records(records)

    @precondition(lambda self: self.state.pending)
    @rule(which=_of(lambda machine: st.integers(0, len(machine.state.pending) - 1)))
    def complete_checkpoint(self, which: int) -> None:
        """Complete a checkpoint; older ones never will."""
        self.state.complete_checkpoint(which)

    @precondition(lambda self: self.steps_since_restart >= _STEPS_BETWEEN_RESTARTS)
    @rule(origin=_of(lambda machine: _origins(machine.state)), backend=_BACKEND, parallelism=_PARALLELISM)
    def restart(self, origin: int | str | TtlChoice | None, backend: BackendUnderTest, parallelism: int) -> None:
        """Go back to a retained snapshot, or go on from here by a new one or with another time-to-live."""
        self.steps_since_restart = 0
        match origin:
            case int():
                self.state.restore(origin, backend, parallelism)
            case str():
                self._snapshot(origin)
                self.state.restore(-1, backend, parallelism)
            case _:
                self.state.change_ttl(origin, backend, parallelism)

    # --- what holds at any time ---

    @invariant()
    def state_that_does_not_expire_is_that_of_the_model(self) -> None:
        """Compare the state of the key used last; but to read state that expires would change it."""
        for kind, family in self.state.families.items():
            if family != "expiring":
                self.state.read(kind, self.state.last_key)

    def teardown(self) -> None:
        """Compare everything, unless something has gone wrong already, and close the backends."""
        if not hasattr(self, "state"):
            return
        try:
            if sys.exception() is None:
                self.state.list_keys()
                if self.state.pending:
                    self.state.complete_checkpoint(-1)
                self._snapshot("incremental")
                self.state.read_everything()
        finally:
            self.state.close()

    def _run(self, passed: tuple[float, int], actions: list[Action], barrier: str | None) -> None:
        self.steps_since_restart += 1
        self.state.advance_clock(*passed)
        for method, *arguments in actions:
            getattr(self.state, method)(*arguments)
        if barrier is not None:
            self._snapshot(barrier)

    def _snapshot(self, how: str) -> None:
        if how == "savepoint":
            self.state.savepoint()
            return
        self.state.begin_checkpoint(incremental=how != "whole")
        if how != "not yet complete":
            self.state.complete_checkpoint(-1)


def keyed_state_machine(*under_test: BackendUnderTest) -> type[KeyedStateMachine]:
    """Make a state machine for a kind of backend; its ``TestCase`` is what pytest runs.

    Args:
        under_test: The kind; or several, between which state then moves whenever it is restored.
    """
    if not under_test:
        raise ValueError("keyed_state_machine needs at least one kind of backend")
    name = "".join(kind.name.title().replace(" ", "") for kind in under_test)
    return type(f"KeyedStateMachineOf{name}", (KeyedStateMachine,), {"under_test": under_test})
