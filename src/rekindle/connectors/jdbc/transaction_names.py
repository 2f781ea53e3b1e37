"""Names of prepared transactions and of connections: the one place that formats and parses them.

    rekindle-<lineage>-<subtask>-<token>               a writer, and the name of its connection
    rekindle-<lineage>-<subtask>-<token>-<checkpoint>  a transaction that it has prepared

The lineage is a short hash of the sink's lineage, the token is unique to one writer: no two attempts share a name.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from rekindle.connectors.lineage_hash import lineage_hash

_NAME = re.compile(r"rekindle-(?P<lineage>[0-9a-f]{16})-(?P<subtask>\d+)-(?P<token>[0-9a-f]{16})(?:-\d+)?")


@dataclass(frozen=True, slots=True)
class WriterName:
    """Name a writer.

    Attributes:
        lineage: The sink's lineage, hashed by :func:`lineage_hash`.
        subtask: Index of the writer.
        token: Hexadecimal digits that no other writer has.
    """

    lineage: str
    subtask: int
    token: str

    @classmethod
    def new(cls, lineage: str, subtask: int) -> WriterName:
        """Name a new writer."""
        return cls(lineage_hash(lineage), subtask, uuid.uuid4().hex[:16])

    def __str__(self) -> str:
        return f"rekindle-{self.lineage}-{self.subtask}-{self.token}"

    def transaction(self, checkpoint_id: int) -> str:
        """Name the transaction that is prepared for a checkpoint."""
        return f"{self}-{checkpoint_id}"

    def replaces(self, other: WriterName, parallelism: int) -> bool:
        """Return whether this writer answers for what another one of its lineage has left."""
        return (
            other.lineage == self.lineage and other.token != self.token and other.subtask % parallelism == self.subtask
        )


def parse_name(name: str) -> WriterName | None:
    """Return whose connection or transaction has a name; None for those of others."""
    match = _NAME.fullmatch(name)
    return WriterName(match["lineage"], int(match["subtask"]), match["token"]) if match else None
