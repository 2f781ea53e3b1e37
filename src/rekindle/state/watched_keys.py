"""Tells when an operator turns to one of some keys: before it reads or changes anything of it.

The current key of a backend is a plain attribute, which costs nothing. A backend that is watched gets a class of its
own, in which it is a property: so only those that are watched pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rekindle.state.keyed_backend import NO_KEY, KeyedStateBackend

_KEY: Any = KeyedStateBackend.__dict__["key"]  # where the key is stored, property or not


def watch_keys(backend: KeyedStateBackend, keys: Collection[Any] | None, turned_to: Callable[[Any], None]) -> None:
    """Call something whenever a key becomes the current one.

    Args:
        backend: The backend.
        keys: The keys to watch; None: all of them.
        turned_to: What is called with the key, which is the current one by then.
    """

    def set_key(self: KeyedStateBackend, key: Any) -> None:
        _KEY.__set__(self, key)
        if key is not NO_KEY and (keys is None or key in keys):
            turned_to(key)

    kind: Any = type(backend)
    watched = type(kind)(f"Watched{kind.__name__}", (kind,), {"__slots__": (), "key": property(_KEY.__get__, set_key)})
    backend.__class__ = watched
