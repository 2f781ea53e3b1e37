"""The state of many keys at once: read for all of them, written for all of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rekindle.contracts.state import State
from rekindle.state.heap.states import HeapState
from rekindle.state.keyed_backend import KeyedStateBackend
from rekindle.state.scope import NamespaceScope


class ManyKeys:
    """Read and write one value, or accumulator, for each of many keys."""

    def __init__(self, backend: KeyedStateBackend, state: State, scope: NamespaceScope | None = None) -> None:
        """Take the handle of a state.

        Args:
            backend: Whose state it is.
            state: The handle of a value, or of something that is accumulated.
            scope: Where its namespace is set, if it has namespaces; then keys are pairs of a key and a namespace.
        """
        self._backend = backend
        self._scope = scope
        self._state = state
        self._heap = state if isinstance(state, HeapState) else None
        self._read = getattr(state, "stored", None) or state.value  # type: ignore[attr-defined]
        self._write = getattr(state, "store", None) or state.update  # type: ignore[attr-defined]

    def get(self, keys: Iterable[Any]) -> list[Any]:
        """Return what each key has; None where it has nothing."""
        if self._heap is not None:
            return self._heap.stored_all(keys)
        if self._scope is None:
            keys = list(keys)
            self._backend.before_chunk(keys)
        read = self._read
        found = []
        for key in keys:
            self._use(key)
            found.append(read())
        return found

    def put(self, keys: list[Any], values: list[Any]) -> None:
        """Give each key a value, of which none is None."""
        if self._heap is not None:
            self._heap.store_all(keys, values)
            return
        write = self._write
        for key, value in zip(keys, values, strict=True):
            self._use(key)
            write(value)

    def clear(self, keys: Iterable[Any]) -> None:
        """Drop what keys have."""
        for key in keys:
            self._use(key)
            self._state.clear()

    def _use(self, key: Any) -> None:
        if self._scope is None:
            self._backend.key = key
        else:
            self._backend.key, self._scope.namespace = key
