"""How a file sink writes: the life of its part files between records, barriers and commits.

A part file is *in progress* while records are added, *pending* from the barrier on, *finished* when the
checkpoint of that barrier is complete. Names are in ``file_sink_paths``, file operations in ``sink_files``, the merging
of pending files in ``compaction``.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import uuid
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, BinaryIO

from rekindle.connectors.files import file_sink_paths as paths
from rekindle.connectors.files.bucket_assigner import BucketAssigner
from rekindle.connectors.files.committing import Committer
from rekindle.connectors.files.compaction import Compaction
from rekindle.connectors.files.file_committables import (
    Committable,
    FileCommittable,
    HeldFile,
    MergedFile,
    decoded,
    encoded,
)
from rekindle.connectors.files.file_compaction import FileCompactor, FileCompactStrategy
from rekindle.connectors.files.output_file_config import OutputFileConfig
from rekindle.connectors.files.rolling_policy import RollingPolicy
from rekindle.connectors.files.sink_files import FileSinkError, SinkFiles
from rekindle.connectors.lineage_hash import lineage_hash
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.exceptions import OutputLostError
from rekindle.formats.bulk_writer import BulkWriter, BulkWriterFactory
from rekindle.runtime.at_work import at_record

__all__ = ["FileCommittable", "FileSinkSettings", "FileSinkWriter"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileSinkSettings:
    """Hold what a program said about a file sink.

    Attributes:
        base_path: Absolute local path, or URI.
        written_by: The format: turns records into bytes.
        bucket_assigner: Chooses directories.
        rolling_policy: Ends part files before the barrier does.
        output_file_config: Prefix and suffix of finished files.
        bucket_check_interval: How often part files are checked for their age, in milliseconds.
        compaction: When pending files are merged, and how; None: they are not.
    """

    base_path: str
    written_by: BulkWriterFactory
    bucket_assigner: BucketAssigner
    rolling_policy: RollingPolicy
    output_file_config: OutputFileConfig
    bucket_check_interval: int
    compaction: tuple[FileCompactStrategy, FileCompactor] | None = None


@dataclass(slots=True)
class PartFile:
    """Hold a part file that is written, or waits for the barrier.

    Attributes:
        paths: Its names.
        path: The one it has.
        stream: What its bytes are written to; None: it has none yet, and there is no file.
        writer: Turns records into bytes.
        created: When it was begun.
        last_written: When it was written to last.
        size: How many bytes it has.
    """

    paths: paths.PartPaths
    path: str
    stream: BinaryIO | None
    writer: BulkWriter
    created: int
    last_written: int
    size: int = 0


class FileSinkWriter(SinkWriter):
    """Write the part files of one subtask."""

    def __init__(
        self,
        settings: FileSinkSettings,
        files: SinkFiles,
        context: SinkWriterContext,
        merging: Executor | None = None,
    ) -> None:
        """Begin without files.

        Args:
            settings: What the program said.
            files: The file system.
            context: Where the writer runs.
            merging: Runs merges of files; None: threads of its own.
        """
        self._written_by = settings.written_by
        self._fingerprint = lineage_hash(settings.written_by.fingerprint())
        self._assigner = settings.bucket_assigner
        self._policy = settings.rolling_policy
        self._check_interval = settings.bucket_check_interval
        self._files = files
        self._base_path = settings.base_path
        self._committer = Committer(files, settings.base_path)
        self._context = context
        self._job = lineage_hash(context.job_id)
        self._naming = paths.PartNaming(
            lineage_hash(context.lineage),
            context.subtask,
            self._job + uuid.uuid4().hex[:16],
            settings.output_file_config.part_prefix,
            settings.output_file_config.part_suffix,
        )
        self._compaction: Compaction | None = None
        if settings.compaction is not None:
            strategy, compactor = settings.compaction
            self._compaction = Compaction(
                strategy, compactor, settings.written_by, files, settings.base_path, self._naming, merging
            )
        self._counter = itertools.count()
        self._last_check = context.clock.now()
        self._open: dict[str, PartFile] = {}
        self._rolled: list[PartFile] = []
        self._restoring = True
        self._input_ended = False

    def write(self, values: list[Any], timestamps: list[int | None] | None) -> None:
        """Add records to the part files of their buckets."""
        now = self._context.clock.now()
        if now - self._last_check >= self._check_interval:
            self._roll_by_time(now)
        bucket = self._assigner._bucket_of_all(now)
        if bucket is not None:
            self._append(bucket, values, now)
        else:
            for bucket, members in self._by_bucket(values, timestamps, now).items():
                self._append(bucket, members, now)

    def end_input(self) -> None:
        """Let no file wait for others any longer."""
        self._input_ended = True

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Close all part files and make them pending."""
        for bucket in list(self._open):
            self._roll(bucket)
        for part in self._rolled:
            if part.path != part.paths.pending:  # else an earlier call got as far as that, and failed later
                self._files.rename(part.path, part.paths.pending)
                part.path = part.paths.pending
        self._files.sync_directories({paths.directory_of(part.path) for part in self._rolled})
        committables: list[Committable] = []
        if self._compaction is None:
            committables += [
                FileCommittable(part.path, part.paths.finished, part.size, self._base_path) for part in self._rolled
            ]
        else:
            for part in self._rolled:
                self._compaction.hold(
                    HeldFile(part.path, part.paths.finished, part.size, self._base_path, 0, self._fingerprint)
                )
            self._rolled = []
            committables += self._compaction.prepare(self._counter, self._input_ended)
        self._rolled = []
        return list(map(encoded, committables))

    def commit(self, committables: list[bytes]) -> None:
        """Give pending files their finished names; those that have them already stay as they are."""
        found = list(map(decoded, committables))
        self._committer.commit([each for each in found if not isinstance(each, HeldFile)])
        if self._restoring:
            self._take_over(found)

    def keep(self, committables: list[bytes]) -> None:
        """Let pending files outlive a failure of the job: a savepoint refers to them."""
        if self._compaction is not None:
            self._compaction.wait()  # it reads some of them
        for committable in map(decoded, committables):
            self._committer.keep(committable)

    def abort_leftovers(self) -> None:
        """Remove the hidden files that this job and the one before it have left, below the whole base path.

        Those of other jobs of this lineage stay: one that has taken the savepoint, or was started from it, may run.
        """
        self._restoring = False
        over = (self._job, lineage_hash(self._context.successor_of)) if self._context.successor_of else self._job
        of_others = 0
        for path in self._files.walk():
            hidden = paths.parse_hidden(path)
            if (
                hidden is None
                or hidden.lineage != self._naming.lineage
                or hidden.subtask % self._context.parallelism != self._context.subtask
                or (self._compaction is not None and self._compaction.holds(path))
            ):
                continue
            if hidden.token.startswith(over):
                self._files.remove(path)
            else:
                of_others += 1
        if of_others:
            log.warning(
                "%d hidden files (.rekindle-%s-…) below %s are from another job with the history of this one, and are "
                "left there. If that job will not be started again, delete them",
                *(of_others, self._naming.lineage, self._files.describe("")),
            )

    def close(self) -> None:
        """Remove the files that are in progress; pending ones belong to a checkpoint and stay."""
        if self._compaction is not None:
            self._compaction.close()
        unfinished = [*self._rolled, *self._open.values()]
        self._rolled, self._open = [], {}
        for part in unfinished:
            if part.stream is not None:
                with contextlib.suppress(OSError):  # buffered bytes that find no room do not matter any more
                    part.stream.close()
        for part in unfinished:
            if part.stream is not None:
                self._files.remove(part.path)

    def _take_over(self, restored: list[Committable]) -> None:
        """Let files wait that the restored checkpoint holds, unless a later one among several knows better.

        A file that another subtask has written does not wait any longer: the writer with that number is responsible for
        hidden files with it in their names, and would remove this one after the next change of parallelism. Nor does
        one of another format or schema, which this writer's format cannot merge.
        """
        settled = {file.pending for file in restored if isinstance(file, FileCommittable)}
        settled |= {name for file in restored if isinstance(file, MergedFile) for name in file.replaced}
        for file in restored:
            if not isinstance(file, HeldFile) or file.pending in settled:
                continue
            hidden = paths.parse_hidden(file.pending)
            own = hidden is not None and hidden.subtask == self._context.subtask and file.base_path == self._base_path
            own = own and file.written_by == self._fingerprint
            if self._compaction is not None and own and self._committer.is_waiting(file):
                self._compaction.hold(file)
            elif not self._committer.was_merged(file):
                self._committer.commit([file.as_it_is()])

    @at_record("value", timestamp="timestamp")
    def _by_bucket(self, values: list[Any], timestamps: list[int | None] | None, now: int) -> dict[str, list[Any]]:
        get_bucket_id = self._assigner.get_bucket_id
        buckets: dict[str, list[Any]] = {}
        if timestamps is None:
            for value in values:
                buckets.setdefault(get_bucket_id(value, now), []).append(value)
        else:
            for value, timestamp in zip(values, timestamps, strict=True):
                bucket = get_bucket_id(value, now if timestamp is None else timestamp)
                buckets.setdefault(bucket, []).append(value)
        return buckets

    def _append(self, bucket: str, values: list[Any], now: int) -> None:
        part = self._open.get(bucket)
        if part is None:
            part = self._open[bucket] = self._begin(bucket, now)
        self._write(part, part.writer.add(values))
        part.last_written = now
        if self._policy.should_roll_on_event(part.size + part.writer.held_bytes):
            self._roll(bucket)

    def _begin(self, bucket: str, now: int) -> PartFile:
        part = self._naming.part(bucket, next(self._counter))
        path = part.pending if self._files.whole_at_once else part.in_progress
        return PartFile(part, path, None, self._written_by.create(self._context.type_info), now, now)

    def _write(self, part: PartFile, data: bytes) -> None:
        if not data:  # a writer may hold all that it was given until the file ends
            return
        if part.stream is None:
            part.stream = self._files.create(part.path)
        self._files.append(part.path, part.stream, data)
        part.size += len(data)

    def _roll(self, bucket: str) -> None:
        part = self._open.pop(bucket)
        self._rolled.append(part)
        try:
            self._write(part, part.writer.finish())
            if part.stream is None:  # its records have no bytes
                self._rolled.pop()
            else:
                self._files.seal(part.path, part.stream)
        except FileSinkError as error:  # what was still in buffers is gone
            raise OutputLostError(str(error)) from error
        except Exception as error:  # the same, and the format says why
            raise OutputLostError(
                f"the file sink cannot finish {self._files.describe(part.path)}: {type(error).__name__}: {error}"
            ) from error

    def _roll_by_time(self, now: int) -> None:
        self._last_check = now
        for bucket, part in list(self._open.items()):
            if self._policy.should_roll_on_processing_time(part.created, part.last_written, now):
                self._roll(bucket)
