"""Which checkpoints refer to which shared files."""

from __future__ import annotations

import pytest

from rekindle.checkpoint.shared_state_registry import SharedStateRegistry


def test_remembers_what_each_checkpoint_refers_to() -> None:
    registry = SharedStateRegistry()
    registry.register(1, ["shared/a", "shared/b", "shared/a"])
    registry.register(2, [])
    assert registry.references() == {1: {"shared/a", "shared/b"}, 2: set()}


def test_what_is_forgotten_is_not_there_any_more() -> None:
    registry = SharedStateRegistry()
    registry.register(1, ["shared/a"])
    registry.unregister(1)
    registry.unregister(2)
    assert registry.references() == {}
    registry.register(1, ["shared/b"])
    assert registry.references() == {1: {"shared/b"}}


def test_a_checkpoint_is_registered_once() -> None:
    registry = SharedStateRegistry()
    registry.register(1, [])
    with pytest.raises(ValueError, match="checkpoint 1 is registered already"):
        registry.register(1, [])
