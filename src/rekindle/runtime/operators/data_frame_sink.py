"""The slots' part of a sink whose rows the driver hands to a Spark writer: it puts them into files.

Rows go to a local file without a name, batch by batch. At a barrier, or when it has become large, the file is stored
where the driver finds it. What was prepared for a checkpoint that is not completed belongs to the next one, and keeps
the version it was prepared for: so a version stands for the same rows, whichever checkpoint they are committed with.
"""

from __future__ import annotations

import tempfile
import uuid
from itertools import count
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow.parquet as pq
from msgspec.structs import replace

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import StagedRows, StoredFile
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.columns.table_rows import TableRows
from rekindle.runtime.chunk import Chunk
from rekindle.runtime.operators.operator_context import OperatorContext
from rekindle.runtime.operators.roles import RowStager
from rekindle.state.operator_state.stored import StoredList

if TYPE_CHECKING:
    import pyarrow as pa

    from rekindle.contracts.table_commit import TableWriter


class DataFrameSinkOperator(RowStager):
    """Stage rows for the driver.

    Args:
        schema: The columns of the table.
        write: Stays with the driver: None here.

    Attributes:
        large_file: From how many bytes on a file is stored before the barrier, which it then does not delay.
    """

    large_file = 128 << 20

    def __init__(self, schema: pa.Schema, write: TableWriter | None = None) -> None:
        self._schema = schema
        self._open: _RowsFile | None = None
        self._finished: list[_RowsFile] = []  # on local disk, and to be stored
        self._stored: list[tuple[int, StoredFile]] = []  # since the last barrier
        self._staged: list[StagedRows] = []

    def open(self, context: OperatorContext) -> None:
        assert context.slot.staging is not None
        self._rows = TableRows(self._schema, context.job.show_records)
        self._staging: RowStaging = context.slot.staging
        writer = f"{context.task.subtask}-{uuid.uuid4().hex}"
        self._names = (paths.rows_file(writer, number) for number in count())

    def process(self, chunk: Chunk) -> None:
        if not chunk.values:
            return
        batch = self._rows.batch(chunk.values)
        if self._open is None:
            self._open = _RowsFile(self._schema)
        if self._open.write(batch) >= self.large_file:
            self._store()

    def prepare_snapshot(self, checkpoint_id: int, timestamp: int) -> None:
        self._prepare(checkpoint_id)

    def staged_rows(self) -> list[StagedRows]:
        return list(self._staged)

    def snapshot_lists(self) -> dict[str, StoredList]:
        return {}

    def read_lists_back(self, lists: dict[str, StoredList]) -> None:
        """There are none."""

    def notify_complete(self, checkpoint_id: int) -> None:
        """Leave what the checkpoint names to the driver, which commits it before the next barrier."""
        self._staged = [staged for staged in self._staged if staged.version > checkpoint_id]

    def notify_aborted(self, checkpoint_id: int) -> None:
        """Keep what was prepared for the next checkpoint that completes."""

    def savepoint_completed(self, checkpoint_id: int) -> None:
        """Do nothing: a savepoint has its own copies of the files."""

    def commit_final(self, version: int) -> None:
        """Name all rows of a job without checkpoints, those that waited for savepoints too, as one commit.

        If it fails, the job begins anew, and no part of its rows may have been committed before.
        """
        self._prepare(version)
        self._staged = [replace(staged, version=version) for staged in self._staged]

    def close(self) -> None:
        for file in [*self._finished, *([] if self._open is None else [self._open])]:
            file.close()
        self._open, self._finished = None, []

    def _prepare(self, version: int) -> None:
        self._store()
        self._staged += [StagedRows(version, rows, file) for rows, file in self._stored]
        self._stored = []

    def _store(self) -> None:
        """Store what has been written; what could not be stored is tried again at the next barrier."""
        if self._open is not None:
            self._finished.append(self._open)
            self._open = None
        while self._finished:
            file = self._finished[0]
            size = file.finish()
            self._stored.append((file.rows, self._staging.store(next(self._names), file.file, size)))
            self._finished.pop(0).close()


class _RowsFile:
    """A Parquet file on local disk, without a name: nothing is left behind, however the slot ends."""

    def __init__(self, schema: pa.Schema) -> None:
        self.file = cast(BinaryIO, tempfile.TemporaryFile("w+b"))  # noqa: SIM115 - closed once it is stored
        self.rows = 0
        self._writer: pq.ParquetWriter | None = pq.ParquetWriter(self.file, schema)

    def write(self, batch: pa.RecordBatch) -> int:
        """Write rows; return how many bytes there are."""
        assert self._writer is not None
        self._writer.write_batch(batch)
        self.rows += batch.num_rows
        return self.file.tell()

    def finish(self) -> int:
        """Complete the file, and go to its beginning; return its size."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        size = self.file.seek(0, 2)
        self.file.seek(0)
        return size

    def close(self) -> None:
        """Let go of the file."""
        if self._writer is not None:
            self._writer.close()
        self.file.close()
