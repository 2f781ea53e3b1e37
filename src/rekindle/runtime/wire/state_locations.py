"""Where the queryable states of a job are: which there are, and which slot answers for a key. Values only."""

from __future__ import annotations

import msgspec

from rekindle.contracts.key_groups import subtask_of_key_group


class StateLocation(msgspec.Struct, frozen=True):
    """Say where a queryable state is.

    Attributes:
        name: The name that clients know it by.
        uid: The operator's uid.
        operator: The operator's name.
        state: The name of the state in the operator.
        kind: What kind of state it is.
        parallelism: How many subtasks the operator has; each is in the slot of the same number.
        max_parallelism: The number of key groups.
        key_type: The type of its keys, for people.
        state_type: The type of what it holds, for people.
    """

    name: str
    uid: str
    operator: str
    state: str
    kind: str
    parallelism: int
    max_parallelism: int
    key_type: str = ""
    state_type: str = ""

    def owner(self, key_hash: int) -> int:
        """Return the slot that has the state of a key."""
        return subtask_of_key_group(key_hash % self.max_parallelism, self.parallelism, self.max_parallelism)


class ServerAddress(msgspec.Struct, frozen=True):
    """Say where a slot answers queries: its state server, and the proxy for clients."""

    host: str
    server_port: int
    proxy_host: str
    proxy_port: int
