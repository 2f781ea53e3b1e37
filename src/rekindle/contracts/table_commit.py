"""What a program's function is told about rows that it is to write to a table: which commit they belong to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["TableCommit", "TableWriter"]

_UNFIT = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{}\[\]^]""")


@dataclass(frozen=True, slots=True)
class TableCommit:
    """One commit of a sink: all rows that its subtasks wrote between two barriers.

    A pair of ``app_id`` and ``version`` stands for the same rows for ever, so a writer that remembers the pair can tell
    a repetition. Later commits of one ``app_id`` have higher versions, with gaps.

    Attributes:
        app_id: The sink in this job, such as for Delta's ``txnAppId``. The same after restarts of the job and after
            another driver has taken over; a job that is started from a savepoint gives its own commits another one.
        version: The checkpoint that the rows were prepared for, such as for Delta's ``txnVersion``.
        repeated: Whether the rows may have been written before: the job has failed, and it is not recorded that the
            writer returned.
    """

    app_id: str
    version: int
    repeated: bool = False

    @property
    def checkpoint_id(self) -> int:
        """Return the checkpoint that the rows were prepared for: the version by another name."""
        return self.version

    @property
    def name(self) -> str:
        """Return a name for the commit, and for no other, that directories and partitions can have.

        What a directory cannot have, such as a slash of the sink's uid, is escaped as Spark escapes partitions.
        """
        return _UNFIT.sub(lambda found: f"%{ord(found[0]):02X}", f"{self.app_id}-{self.version}")


TableWriter: TypeAlias = Callable[[Any, TableCommit], None]
"""Writes the rows of a commit, given as a DataFrame."""
