"""The entries of any state of a snapshot, as rows with named columns: for commands, which know only its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rekindle.exceptions import ConfigurationError, StateNotFoundError
from rekindle.state.blocks import RAW_STATE, is_reserved
from rekindle.state.operator_state.stored import DistributionMode
from rekindle.state.plain_values import RawBytes
from rekindle.state_processor.contents import SnapshotContents, timer_domain

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StateEntries:
    """Read one state: keyed, operator state, timers or what an operator wrote itself.

    Attributes:
        contents: The snapshot.
        uid: The operator.
        state: The state.
    """

    contents: SnapshotContents
    uid: str
    state: str

    @staticmethod
    def find(contents: SnapshotContents, uid: str | None, state: str) -> StateEntries:
        """Find a state, in one operator or in whichever has it.

        Raises:
            StateNotFoundError: There is none.
            ConfigurationError: Several operators have one of that name.
        """
        metadata = contents.snapshot.metadata
        operators = metadata.operators if uid is None else [contents.snapshot.operator(uid)]
        having = [operator for operator in operators if state in (*operator.keyed_states, *operator.list_states)]
        if len(having) == 1:
            return StateEntries(contents, having[0].uid, state)
        if having:
            uids = ", ".join(repr(operator.uid) for operator in having)
            raise ConfigurationError(f"several operators have a state {state!r}: {uids}. Name one with --operator")
        known = sorted({name for operator in operators for name in (*operator.keyed_states, *operator.list_states)})
        whose = "no operator has" if uid is None else f"operator {uid!r} has no"
        raise StateNotFoundError(f"{whose} state {state!r}; there are {', '.join(map(repr, known)) or 'none'}")

    def rows(self) -> Iterator[Row]:
        """Return the entries, lazily."""
        if timer_domain(self.state) is not None:
            return self._timers()
        if self.state == RAW_STATE:
            raw = self.contents.raw_keyed(self.uid)
            return ({"key group": group, "value": RawBytes(data)} for group, data in raw)
        operator = self.contents.snapshot.operator(self.uid)
        if self.state in operator.keyed_states and not is_reserved(self.state):
            return self._keyed()
        if operator.list_states[self.state].mode is DistributionMode.BROADCAST:
            pairs = self.contents.broadcast_entries(self.uid, self.state)
            return ({"key": key, "value": value} for key, value in pairs)
        items = self.contents.items(self.uid, self.state)
        return ({"subtask": subtask, "value": value} for subtask, value in items)

    def _keyed(self) -> Iterator[Row]:
        for entry in self.contents.entries(self.uid, self.state):
            row = {"key": entry.key}
            if entry.namespace is not None:
                row["namespace"] = entry.namespace
            row["value"] = entry.value
            if entry.last_access is not None:
                row["last access"] = entry.last_access
            yield row

    def _timers(self) -> Iterator[Row]:
        for timer in self.contents.timers(self.uid):
            if (timer.domain, timer.service) == timer_domain(self.state):
                row = {"key": timer.key, "timestamp": timer.timestamp}
                yield row if timer.namespace is None else {**row, "namespace": timer.namespace}
