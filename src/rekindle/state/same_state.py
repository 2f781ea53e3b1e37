"""Whether state that was restored is the state a program asks for under its name."""

from __future__ import annotations

from rekindle.exceptions import StateRestoreError
from rekindle.state.blocks import StateSpec
from rekindle.state.state_evolution import StateName


def check_same_state(name: StateName, restored: StateSpec, wanted: StateSpec) -> None:
    """Raise unless state that was restored can be taken over as what the program asks for."""
    if restored.kind is not wanted.kind:
        raise StateRestoreError(
            f"{name} is a {restored.kind} state in the snapshot and a {wanted.kind} state in the program; give the new "
            "state another name"
        )
    if restored.namespaced != wanted.namespaced:
        raise StateRestoreError(
            f"{name} belongs to {_owner(restored)} in the snapshot and to {_owner(wanted)} in the program; give the "
            "new state another name"
        )


def _owner(spec: StateSpec) -> str:
    return "a key and a window" if spec.namespaced else "a key"
