"""What classes of snapshots are called now that were called otherwise when state was written with them."""

from __future__ import annotations

from rekindle.serialization.snapshots.moved_modules import current_module

__all__ = ["register_snapshot_alias"]

_ALIASES: dict[str, str] = {}


def register_snapshot_alias(old_name: str, new: type | str) -> None:
    """Say that a class of serializer snapshots was renamed, moved or replaced.

    Call it at the top level of the program, or of the module that defines the new class.

    Args:
        old_name: What it was called, as ``"package.module:ClassName"``.
        new: The class that reads its snapshots now, or the name of it.
    """
    name = new if isinstance(new, str) else f"{new.__module__}:{new.__qualname__}"
    for given in (old_name, name):
        module, colon, qualified = given.partition(":")
        if not (module and colon and qualified):
            raise ValueError(f"{given!r} names no class; write it as 'package.module:ClassName'")
    if _followed(name) == old_name:
        raise ValueError(f"{old_name} cannot be an alias of {name}, which is itself an alias of it")
    known = _ALIASES.setdefault(old_name, name)
    if known != name:
        raise ValueError(f"{old_name} is an alias of {known} already, and cannot be one of {name}")


def known_aliases() -> dict[str, str]:
    """Return all aliases, for another process of the same program."""
    return dict(_ALIASES)


def adopt_aliases(aliases: dict[str, str]) -> None:
    """Take over the aliases of another process of the same program."""
    _ALIASES.update(aliases)


def current_name(name: str) -> str:
    """Return the name under which a class is found now."""
    return _followed(name)


def _followed(name: str) -> str:
    while name in _ALIASES:
        name = _ALIASES[name]
    module, colon, qualified = name.partition(":")
    return current_module(module) + colon + qualified
