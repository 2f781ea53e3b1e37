"""Shared files: one is unused exactly when no registered checkpoint refers to it."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rekindle.checkpoint.shared_registry import SharedStateRegistry


def test_a_file_is_unused_when_the_last_checkpoint_that_refers_to_it_goes() -> None:
    registry = SharedStateRegistry()
    registry.register(1, ["a", "b"])
    registry.register(2, ["b", "c"])
    assert registry.unregister(1) == {"a"}
    assert not registry.is_referenced("a")
    assert registry.is_referenced("b")
    assert registry.unregister(2) == {"b", "c"}
    assert not registry.is_referenced("b")


def test_checkpoints_may_go_in_any_order() -> None:
    registry = SharedStateRegistry()
    for checkpoint_id in (1, 2, 3):
        registry.register(checkpoint_id, ["a"])
    assert registry.unregister(2) == set()
    assert registry.unregister(3) == set()
    assert registry.unregister(1) == {"a"}


def test_a_file_that_two_slots_name_counts_once_for_a_checkpoint() -> None:
    registry = SharedStateRegistry()
    registry.register(1, ["a", "a"])
    assert registry.unregister(1) == {"a"}


def test_one_that_is_not_registered_has_no_files() -> None:
    registry = SharedStateRegistry()
    assert registry.unregister(7) == set()
    registry.register(7, ["a"])
    assert 7 in registry
    registry.unregister(7)
    assert 7 not in registry
    assert registry.unregister(7) == set()


def test_a_checkpoint_is_registered_once() -> None:
    registry = SharedStateRegistry()
    registry.register(1, [])
    with pytest.raises(ValueError, match="checkpoint 1 is registered already"):
        registry.register(1, ["a"])


class AgainstSets(RuleBasedStateMachine):
    """The registry against a plain dict of sets."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = SharedStateRegistry()
        self.model: dict[int, set[str]] = {}
        self.deleted: set[str] = set()

    ids = st.integers(0, 5)
    names = st.frozensets(st.sampled_from("abcdef"))

    @rule(checkpoint_id=ids, names=names)
    def register(self, checkpoint_id: int, names: frozenset[str]) -> None:
        if checkpoint_id not in self.model:
            self.registry.register(checkpoint_id, names)
            self.model[checkpoint_id] = set(names)
            self.deleted -= names

    @rule(checkpoint_id=ids)
    def unregister(self, checkpoint_id: int) -> None:
        names = self.model.pop(checkpoint_id, set())
        unused = self.registry.unregister(checkpoint_id)
        assert unused == names.difference(*self.model.values())
        self.deleted |= unused

    @invariant()
    def a_file_is_deleted_iff_no_checkpoint_refers_to_it(self) -> None:
        used = set().union(*self.model.values())
        assert not used & self.deleted
        assert {name for name in "abcdef" if self.registry.is_referenced(name)} == used
        assert {checkpoint_id for checkpoint_id in range(6) if checkpoint_id in self.registry} == set(self.model)


TestAgainstSets = AgainstSets.TestCase
