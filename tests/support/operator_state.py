"""Backends of operator state as the subtasks of one operator have them, before and after a restore."""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.checkpoint.metadata import ListStateMetadata
from rekindle.checkpoint.redistribution import deal_out
from rekindle.state.operator_state.backend import OperatorStateBackend
from rekindle.state.operator_state.stored import StoredList


def backend(
    restored: dict[str, StoredList] | None = None, subtask: int = 0, parallelism: int = 1
) -> OperatorStateBackend:
    """Make the backend of one subtask."""
    return OperatorStateBackend("buffer", "buffer-uid", subtask, parallelism, restored)


def restored(old: Sequence[OperatorStateBackend], parallelism: int) -> list[OperatorStateBackend]:
    """Restore the snapshots of all old subtasks as a job does, at another parallelism."""
    snapshots = [each.snapshot() for each in old]
    states: dict[str, ListStateMetadata] = {}
    for name in sorted({name for snapshot in snapshots for name in snapshot}):
        mode = next(snapshot[name].mode for snapshot in snapshots if name in snapshot)
        states[name] = ListStateMetadata(mode, [len(snapshot.get(name, ())) for snapshot in snapshots])
    result = []
    for subtask in range(parallelism):
        own = {
            name: StoredList.joined(
                states[name].mode,
                (part for s in shares for part in snapshots[s.old_subtask][name].cut(s.start, s.stop)),
            )
            for name, shares in deal_out(states, parallelism, subtask).items()
        }
        result.append(backend(own, subtask, parallelism))
    return result
