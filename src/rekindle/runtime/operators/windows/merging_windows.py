"""The open windows of one key where windows merge, and in which namespace the contents of each are kept.

When windows merge, the contents of all but one of them would have to move. So a window keeps the namespace of one of
those it was made of, its *state window*, and the mapping is state itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rekindle.contracts.state import ValueState
from rekindle.contracts.windowing.assigner import MergingWindowAssigner

Merge = Callable[[Any, list[Any], Any, list[Any]], None]
"""Called with the merged window, the windows that are gone, its state window, and the state windows that are gone."""


class MergingWindowSet:
    """Hold the open windows of the current key; :meth:`persist` writes what has changed."""

    __slots__ = ("_assigner", "_changed", "_state", "_state_windows")

    def __init__(self, assigner: MergingWindowAssigner[Any, Any], state: ValueState[Any]) -> None:
        self._assigner = assigner
        self._state = state
        self._state_windows: dict[Any, Any] = dict(state.value() or ())
        self._changed = False

    def state_window(self, window: Any) -> Any:
        """Return the namespace of the contents of a window; None if the window is not open."""
        return self._state_windows.get(window)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._state_windows)

    def retire(self, window: Any) -> None:
        """Forget a window."""
        if self._state_windows.pop(window, None) is not None:
            self._changed = True

    def persist(self) -> None:
        """Keep the windows for the next element of the key."""
        if self._changed:
            self._state.update(list(self._state_windows.items()) or None)
            self._changed = False

    def add(self, window: Any, merge: Merge) -> Any:
        """Open a window, merging it with others where the assigner says so; give the window it became part of."""
        state_windows = self._state_windows
        if not state_windows:
            state_windows[window] = window
            self._changed = True
            return window
        merges = _Merges()
        self._assigner.merge_windows([*state_windows, window], merges)
        became = window
        for result, parts in merges.found:
            if window in parts:
                became = result
            gone = [part for part in parts if part in state_windows]
            if not gone:
                state_windows[result] = result
                self._changed = True
                continue
            if gone == [result]:
                continue  # the window lies within one that is open
            kept, *others = [state_windows.pop(part) for part in gone]
            state_windows[result] = kept
            self._changed = True
            merge(result, gone, kept, others)
        if became is window and window not in state_windows:
            state_windows[window] = window
            self._changed = True
        return became


class _Merges(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self) -> None:
        self.found: list[tuple[Any, list[Any]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: Any) -> None:
        self.found.append((merge_result, list(dict.fromkeys(to_be_merged))))
