"""The kinds of keyed state that there are, by name and by descriptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rekindle.contracts.state import StateDescriptor
from rekindle.exceptions import ConfigurationError, InvalidCallError, StateRestoreError

if TYPE_CHECKING:
    from rekindle.state.kinds.state_kind import StateKind

_KINDS: dict[str, StateKind[Any]] = {}


def register(kind: StateKind[Any]) -> None:
    """Add a kind.

    Raises:
        ConfigurationError: There is another of that name.
    """
    if kind.name in _KINDS:
        raise ConfigurationError(f"there is a kind of state named {kind.name!r} already")
    _KINDS[kind.name] = kind


def kind_named(name: str) -> StateKind[Any]:
    """Give the kind that is stored in snapshots under a name.

    Raises:
        StateRestoreError: There is none.
    """
    kind = _KINDS.get(name)
    if kind is None:
        raise StateRestoreError(f"there is no kind of state named {name!r}, only {', '.join(_KINDS)}")
    return kind


def kind_of(descriptor: StateDescriptor) -> StateKind[Any]:
    """Give the kind of keyed state that a descriptor describes.

    Raises:
        InvalidCallError: There is none.
    """
    described: dict[type, StateKind[Any]] = {kind.descriptor: kind for kind in _KINDS.values()}
    for cls in type(descriptor).__mro__:
        if cls in described:
            return described[cls]
    raise InvalidCallError(f"{descriptor!r} is not a descriptor of keyed state")
