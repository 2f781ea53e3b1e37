"""Commits rows on the driver: hands those of a completed checkpoint to the functions that write them to tables.

What is committed is grouped by the barrier at which it was prepared, and each group is one call, in order. So a version
stands for the same rows whether its own checkpoint commits it, a later one because its own was aborted, or a restored
one. When the function has returned, a marker is created: a file whose name says up to which version a sink is
committed. Only between these two can a failure let the function be called again for rows that it has written.

Rows are committed by one thread at a time: that of a job's commits, or, before the first epoch, that of the attempt.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rekindle.base.printable import printable
from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import StagedRows
from rekindle.checkpoint.row_staging import RowStaging, marker_directory
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.columns.table_schema import unread_columns
from rekindle.contracts.table_commit import TableCommit
from rekindle.exceptions import CheckpointCorruptError, CheckpointError, RekindleError, StateRestoreError, UserCodeError
from rekindle.graph.job_graph import JobGraph, JobNode
from rekindle.graph.transformations.sinks import DataFrameSinkTransformation
from rekindle.ha.ownership import JobOwnership
from rekindle.runtime.master.cluster import Cluster

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StagedOutput:
    """Rows to be committed, and where they are.

    Attributes:
        job_id: The job that prepared them.
        staged: The rows, by the uid of the sink.
        files: The storage that they are in.
        directory: What the paths of the files are relative to.
        markers: The directory, in the same storage, of what is committed of them.
    """

    job_id: str
    staged: Mapping[str, Iterable[StagedRows]]
    files: CheckpointFiles
    directory: str
    markers: str

    @staticmethod
    def of(checkpoint: StoredCheckpoint, staging: RowStaging) -> StagedOutput:
        """Return what a checkpoint holds."""
        metadata = checkpoint.metadata
        return StagedOutput(
            metadata.job_id,
            {operator.uid: operator.staged for operator in metadata.operators if operator.staged},
            staging.files if checkpoint.files is None else checkpoint.files,
            checkpoint.directory,
            marker_directory(checkpoint.directory, metadata.savepoint),
        )

    @staticmethod
    def final(staged: Mapping[str, Iterable[StagedRows]], staging: RowStaging) -> StagedOutput:
        """Return what is left at the end of a job without checkpoints."""
        directory = paths.checkpoint_directory(staging.job_id, 0)  # there is none, but paths are relative to it
        return StagedOutput(staging.job_id, staged, staging.files, directory, staging.markers)


class TableCommits:
    """Commit the rows of one job, over all its attempts.

    Args:
        cluster: What turns files of rows into a DataFrame.
        staging: Where the rows of this job are.
        ownership: Who owns the job.
    """

    def __init__(self, cluster: Cluster, staging: RowStaging, ownership: JobOwnership) -> None:
        self._cluster = cluster
        self._staging = staging
        self._ownership = ownership
        self._done: dict[str, int] = {}  # what is known to be committed: the version, by sink
        self._marked: dict[str, str] = {}  # the newest marker of a sink in this job's directory

    def commit(self, graph: JobGraph, output: StagedOutput, repeated: bool = False) -> None:
        """Hand rows to the functions of their sinks, unless that is done.

        Args:
            graph: The job.
            output: The rows.
            repeated: Whether they may have been handed over before.

        Raises:
            UserCodeError: A function has failed; the rows of the sinks before it are committed.
            StateRestoreError: The program has changed, and its table has not all columns of the rows.
            CheckpointError: A marker could not be created.
            JobFencedError: Another driver has taken over.
        """
        for node in graph.nodes:
            if not isinstance(node.transformation, DataFrameSinkTransformation):
                continue  # it has the uid of a sink whose rows are to be dropped
            app_id = f"{output.job_id}-{node.uid}"
            done = self._committed(app_id, output) if node.uid in output.staged else None
            groups: dict[int, list[StagedRows]] = defaultdict(list)
            for staged in output.staged.get(node.uid, ()):
                if done is None or staged.version > done:
                    groups[staged.version].append(staged)
            for version, rows in sorted(groups.items()):
                self._ownership.check()
                self._write(node, output, rows, TableCommit(app_id, version, repeated))
                self._mark(output, app_id, version)
            if done is not None and not groups:  # a checkpoint that was under way has committed what a savepoint holds
                self._mark_beside(output, paths.commit_marker(app_id, done))

    def drop(self, checkpoint: StoredCheckpoint) -> None:
        """Delete the rows of a checkpoint that is dropped, if it is not in files, which keep account of their rows.

        What is not committed yet stays: then a later checkpoint has it, too.

        Args:
            checkpoint: The checkpoint, in the memory of the job master.
        """
        if self._staging.kept_by_checkpoints or checkpoint.files is not None or self._ownership.fenced:
            return
        for operator in checkpoint.metadata.operators:
            done = self._done.get(f"{checkpoint.metadata.job_id}-{operator.uid}")
            for staged in operator.staged:
                if done is not None and staged.version <= done and staged.file.path is not None:
                    self._delete(paths.resolve(checkpoint.directory, staged.file.path))

    def remove_leftovers(self, completed: Iterable[StoredCheckpoint]) -> None:
        """Delete files of rows that no checkpoint refers to, when nobody writes any.

        Args:
            completed: The checkpoints that the job may go back to.

        Raises:
            JobFencedError: Another driver has taken over, and writes some.
        """
        needed = frozenset[str]().union(*(stored.shared_names() for stored in completed))
        try:
            leftovers = self._staging.leftovers(needed)
            self._ownership.check()  # after the list was made: what another driver writes from now on is not in it
            for path in leftovers:
                self._staging.files.delete(path)
        except CheckpointError as error:
            log.warning("%s. Rows of an earlier attempt are left there until the job ends", error)

    def _write(self, node: JobNode, output: StagedOutput, rows: list[StagedRows], commit: TableCommit) -> None:
        sink = node.transformation
        assert isinstance(sink, DataFrameSinkTransformation)
        assert sink.write is not None
        if commit.repeated:
            _check_columns(node, sink.schema, output, rows)
        names = [output.files.describe(paths.resolve(output.directory, row.file.path or "")) for row in rows]
        try:
            sink.write(self._cluster.rows(names, sink.schema), commit)
        except RekindleError:
            raise
        except BaseException as error:  # SystemExit, too: it would end the program as if all were well
            raise _failure(node, commit, error) from error
        log.debug("committed %d rows of sink %r, version %d", sum(row.rows for row in rows), node.name, commit.version)

    def _committed(self, app_id: str, output: StagedOutput) -> int | None:
        """Return up to which version a sink is committed, as far as is known."""
        if app_id not in self._done:
            places = {(self._staging.files.root, self._staging.markers): self._staging.files}
            places[output.files.root, output.markers] = output.files
            found = [paths.committed_version(files.list(place), app_id) for (_, place), files in places.items()]
            known = [version for version in found if version is not None]
            if known:
                self._done[app_id] = max(known)
        return self._done.get(app_id)

    def _mark(self, output: StagedOutput, app_id: str, version: int) -> None:
        """Record that rows are committed: here, and beside the savepoint that holds them."""
        name = paths.commit_marker(app_id, version)
        self._create(self._staging.files, paths.join(self._staging.markers, name))
        self._done[app_id] = version
        self._mark_beside(output, name)
        before = self._marked.get(app_id)
        self._marked[app_id] = name
        if before is not None and not self._ownership.fenced:
            self._delete(paths.join(self._staging.markers, before))

    def _mark_beside(self, output: StagedOutput, name: str) -> None:
        """Record beside a savepoint that its rows are committed; others have their marker in the job's directory."""
        if (output.files.root, output.markers) != (self._staging.files.root, self._staging.markers):
            try:
                self._create(output.files, paths.join(output.markers, name))
            except CheckpointError as error:
                log.warning("%s. Another job that starts from there writes these rows again", error)

    def _create(self, files: CheckpointFiles, path: str) -> None:
        directory, _, name = path.rpartition("/")
        if name not in files.list(directory):
            files.create(path, b"")

    def _delete(self, path: str) -> None:
        try:
            self._staging.files.delete(path)
        except CheckpointError as error:
            log.warning("%s. It is no longer needed and can be deleted by hand", error)


def _check_columns(node: JobNode, schema: pa.Schema, output: StagedOutput, rows: Iterable[StagedRows]) -> None:
    """Let no value be lost where the program that wrote rows and the one that commits them differ."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for row in rows:
        path = paths.resolve(output.directory, row.file.path or "")
        with output.files.open(path) as file:
            try:
                unread = unread_columns(pq.read_schema(file), schema)
            except pa.ArrowInvalid as error:
                raise CheckpointCorruptError(
                    f"rows in {output.files.describe(path)} cannot be read: {error}"
                ) from error
        if unread:
            raise StateRestoreError(
                f"rows of sink {node.name!r} (uid {node.uid}) that wait to be committed were written with columns that "
                f"the program does not have as they are: {', '.join(unread)}. It has "
                f"{', '.join(f'{field.name} {field.type}' for field in schema)}. Start it once with the columns as "
                "they were: it writes these rows before its first record. A job that is stopped with a savepoint "
                "leaves none"
            )


def _failure(node: JobNode, commit: TableCommit, error: BaseException) -> UserCodeError:
    """Return what has failed, with the part of the traceback that is the user's."""
    _, _, trace = sys.exc_info()
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    text = printable("".join(traceback.format_exception(type(error), error, trace)))
    kind, said = type(error), printable(str(error))
    summary = (
        f"{kind.__module__}.{kind.__qualname__}: {said}"
        if kind.__module__ != "builtins"
        else (f"{kind.__qualname__}: {said}")
    )
    what = f"the writer of version {commit.version} (app_id {commit.app_id}), on the driver"
    return UserCodeError(node.name, 0, summary, text, node.uid, what)
