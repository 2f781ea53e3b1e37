"""Exactly once for any database: rows wait in the checkpoint, and are written when it is complete.

The transaction that writes them also raises a number in the *commit table*, which has a row for each writer. So a
commit that is repeated finds its number there and does nothing.
"""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import msgspec

from rekindle.connectors.jdbc.commit_table import CommitTable
from rekindle.connectors.jdbc.database import Database
from rekindle.connectors.jdbc.errors import JdbcSinkError
from rekindle.connectors.jdbc.exactly_once_options import JdbcExactlyOnceOptions
from rekindle.connectors.jdbc.statements import BoundStatements, Run
from rekindle.connectors.lineage_hash import lineage_hash
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.exceptions import StateRestoreError


class RowsCommittable(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-jdbc-rows-1"):
    """Keep rows in the checkpoint, with who prepared them and as its how-manieth.

    ``rows`` is pickled: the index of a statement and the parameters of its rows, again and again. ``statements`` are
    those that the parameters are for, as the program gave them: the next version of it may have others.
    """

    writer: str
    number: int
    rows: bytes
    statements: tuple[str, ...] = ()


class CheckpointedRowsWriter(SinkWriter):
    """Write rows when their checkpoint is complete, once."""

    def __init__(
        self,
        database: Database,
        statements: BoundStatements,
        options: JdbcExactlyOnceOptions,
        context: SinkWriterContext,
    ) -> None:
        self._database = database
        self._statements = statements
        self._attempts = options.max_commit_attempts
        self._commits = CommitTable(database, options.commit_table)
        self._writer = f"{lineage_hash(context.lineage)}-{context.subtask}-{uuid.uuid4().hex}"
        self._number = 0
        self._runs: list[Run] = []

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Keep the rows."""
        for run in self._statements.runs(values):
            if self._runs and self._runs[-1][0] == run[0]:
                self._runs[-1][1].extend(run[1])
            else:
                self._runs.append(run)

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Return the rows, to be kept in the checkpoint."""
        if not self._runs:
            return []
        if self._number == 0:
            self._commits.create()
            self._database.transaction(
                lambda: self._commits.add(self._writer), self._attempts, "note commits in a table of"
            )
        rows = pickle.dumps(self._runs, 5)
        committable = RowsCommittable(self._writer, self._number + 1, rows, self._statements.given)
        self._number, self._runs = self._number + 1, []
        return [msgspec.msgpack.encode(committable)]

    def commit(self, committables: list[bytes]) -> None:
        """Write the rows of committables, unless the commit table says that they are written."""
        for committable in map(_decode, committables):
            runs = pickle.loads(committable.rows)
            statements = self._statements.as_given(committable.statements, self._database.dialect)

            def write(
                committable: RowsCommittable = committable,
                statements: BoundStatements = statements,
                runs: list[Run] = runs,
            ) -> None:
                if self._commits.advance(committable.writer, committable.number):
                    self._database.execute(statements, runs)

            try:
                self._database.transaction(write, self._attempts, "commit rows to")
            except JdbcSinkError as error:
                raise JdbcSinkError(f"{error}{self._database.first_failing(statements, runs)}") from error

    def abort_leftovers(self) -> None:
        """Do nothing: what was not committed is only in checkpoints."""

    def close(self) -> None:
        """Close the connection."""
        self._database.close()


def _decode(committable: bytes) -> RowsCommittable:
    try:
        return msgspec.msgpack.decode(committable, type=RowsCommittable)
    except msgspec.DecodeError as error:
        raise StateRestoreError(
            f"the checkpoint holds a commit that is not of a JdbcSink that keeps rows in the checkpoint ({error}). Let "
            "the sink commit as the one before it did, or give it another uid"
        ) from error
