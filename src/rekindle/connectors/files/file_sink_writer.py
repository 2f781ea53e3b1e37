"""How a file sink writes: the life of its part files between records, barriers and commits.

A part file is *in progress* while records are added, *pending* from the barrier on, *finished* when the
checkpoint of that barrier is complete. Names are in ``file_sink_paths``, file operations in ``sink_files``.
"""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from rekindle.connectors.files import file_sink_paths as paths
from rekindle.connectors.files.bucket_assigner import BucketAssigner
from rekindle.connectors.files.output_file_config import OutputFileConfig
from rekindle.connectors.files.rolling_policy import RollingPolicy
from rekindle.connectors.files.row_encoding import RowEncoder, chunk_encoding
from rekindle.connectors.files.sink_base_path import sink_files
from rekindle.connectors.files.sink_files import FileSinkError, SinkFiles
from rekindle.contracts.connectors import SinkWriter, SinkWriterContext
from rekindle.exceptions import OutputLostError, StateRestoreError


@dataclass(frozen=True, slots=True)
class FileSinkSettings:
    """Hold what a program said about a file sink.

    Attributes:
        base_path: Absolute local path, or URI.
        encoder: Turns records into bytes.
        bucket_assigner: Chooses directories.
        rolling_policy: Ends part files before the barrier does.
        output_file_config: Prefix and suffix of finished files.
        bucket_check_interval: How often part files are checked for their age, in milliseconds.
    """

    base_path: str
    encoder: RowEncoder
    bucket_assigner: BucketAssigner
    rolling_policy: RollingPolicy
    output_file_config: OutputFileConfig
    bucket_check_interval: int


class FileCommittable(msgspec.Struct, frozen=True, tag_field="format", tag="rekindle-file-1"):
    """Keep a pending file in the checkpoint; paths are relative to the base path.

    ``base_path`` is where that was: a job that goes on with another base path still finishes the files there.
    """

    pending: str
    finished: str
    size: int
    base_path: str = ""


@dataclass(slots=True)
class PartFile:
    """Hold a part file that is in progress."""

    paths: paths.PartPaths
    stream: BinaryIO
    created: int
    last_written: int
    size: int = 0
    pending: bool = False


class FileSinkWriter(SinkWriter):
    """Write the part files of one subtask."""

    def __init__(self, settings: FileSinkSettings, files: SinkFiles, context: SinkWriterContext) -> None:
        self._encode = chunk_encoding(settings.encoder, context.type_info)
        self._assigner = settings.bucket_assigner
        self._policy = settings.rolling_policy
        self._check_interval = settings.bucket_check_interval
        self._files = files
        self._base_path = settings.base_path
        self._before: dict[str, SinkFiles] = {}  # the base paths of jobs before, as far as they were asked for
        self._context = context
        self._naming = paths.PartNaming(
            paths.lineage_hash(context.lineage),
            context.subtask,
            uuid.uuid4().hex,
            settings.output_file_config.part_prefix,
            settings.output_file_config.part_suffix,
        )
        self._counter = 0
        self._last_check = context.clock.now()
        self._open: dict[str, PartFile] = {}
        self._rolled: list[PartFile] = []

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

    def prepare_commit(self, checkpoint_id: int) -> list[bytes]:
        """Close all part files and make them pending."""
        for bucket in list(self._open):
            self._roll(bucket)
        for part in self._rolled:
            if not part.pending:  # else an earlier call got as far as that, and failed later
                self._files.rename(part.paths.in_progress, part.paths.pending)
                part.pending = True
        self._files.sync_directories({paths.directory_of(part.paths.pending) for part in self._rolled})
        committables = [
            FileCommittable(part.paths.pending, part.paths.finished, part.size, self._base_path)
            for part in self._rolled
        ]
        self._rolled = []
        return [msgspec.msgpack.encode(committable) for committable in committables]

    def commit(self, committables: list[bytes]) -> None:
        """Give pending files their finished names; those that have them already stay as they are."""
        moved: dict[SinkFiles, set[str]] = {}
        for committable in map(_decode, committables):
            files = self._holding(committable)
            _finish(committable, files)
            moved.setdefault(files, set()).add(paths.directory_of(committable.finished))
        for files, directories in moved.items():
            files.sync_directories(directories)

    def keep(self, committables: list[bytes]) -> None:
        """Let pending files outlive a failure of the job: a savepoint refers to them."""
        for committable in map(_decode, committables):
            files = self._holding(committable)
            if files.size(committable.pending) is not None:
                files.rename(committable.pending, paths.kept(committable.pending))
                files.sync_directories({paths.directory_of(committable.pending)})

    def abort_leftovers(self) -> None:
        """Remove the hidden files that earlier attempts of this lineage left, below the whole base path."""
        for path in self._files.walk():
            hidden = paths.parse_hidden(path)
            if (
                hidden is not None
                and hidden.lineage == self._naming.lineage
                and hidden.subtask % self._context.parallelism == self._context.subtask
            ):
                self._files.remove(path)

    def close(self) -> None:
        """Remove the files that are in progress; pending ones belong to a checkpoint and stay."""
        unfinished = [*self._rolled, *self._open.values()]
        self._rolled, self._open = [], {}
        for part in unfinished:
            with contextlib.suppress(OSError):  # buffered bytes that find no room do not matter any more
                part.stream.close()
        for part in unfinished:
            self._files.remove(part.paths.pending if part.pending else part.paths.in_progress)

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
        data = self._encode(values)
        if not data:
            return
        part = self._open.get(bucket)
        if part is None:
            part = self._open[bucket] = self._begin(bucket, now)
        self._files.append(part.paths.in_progress, part.stream, data)
        part.size += len(data)
        part.last_written = now
        if self._policy.should_roll_on_event(part.size):
            self._roll(bucket)

    def _begin(self, bucket: str, now: int) -> PartFile:
        part = self._naming.part(bucket, self._counter)
        self._counter += 1
        return PartFile(part, self._files.create(part.in_progress), now, now)

    def _roll(self, bucket: str) -> None:
        part = self._open.pop(bucket)
        self._rolled.append(part)
        try:
            self._files.seal(part.paths.in_progress, part.stream)
        except FileSinkError as error:  # what was still in buffers is gone
            raise OutputLostError(str(error)) from error

    def _roll_by_time(self, now: int) -> None:
        self._last_check = now
        for bucket, part in list(self._open.items()):
            if self._policy.should_roll_on_processing_time(part.created, part.last_written, now):
                self._roll(bucket)

    def _holding(self, committable: FileCommittable) -> SinkFiles:
        """Return the base path that has the file: the own one, unless only that of the job before has it."""
        if committable.base_path in ("", self._base_path) or _is_there(committable, self._files):
            return self._files
        before = self._before.get(committable.base_path)
        if before is None:
            before = self._before[committable.base_path] = sink_files(committable.base_path)
        return before if _is_there(committable, before) else self._files


def _is_there(committable: FileCommittable, files: SinkFiles) -> bool:
    names = (committable.finished, committable.pending, paths.kept(committable.pending))
    return any(files.size(name) is not None for name in names)


def _finish(committable: FileCommittable, files: SinkFiles) -> None:
    hidden = committable.pending
    pending = files.size(hidden)
    if pending is None:
        hidden = paths.kept(hidden)
        pending = files.size(hidden)
    finished = files.size(committable.finished)
    if pending is None and finished is None:
        raise FileSinkError(
            f"cannot commit {files.describe(committable.finished)}: neither it nor the pending "
            f"{paths.name_of(committable.pending)!r} is there; its {committable.size} bytes are lost. "
            "The file was removed or moved. Bring it back, or restore from another checkpoint, and leave files below "
            "the base path alone until the checkpoint after theirs is complete"
        )
    for size, path in ((finished, committable.finished), (pending, hidden)):
        if size not in (None, committable.size):
            raise FileSinkError(
                f"cannot commit {files.describe(committable.finished)}: "
                f"{files.describe(path)} has {size} bytes, the checkpoint says {committable.size}. "
                "It was changed or truncated. Bring its content back, or restore from another checkpoint"
            )
    if finished is None:
        files.rename(hidden, committable.finished)
    elif pending is not None:
        files.remove(hidden)


def _decode(committable: bytes) -> FileCommittable:
    try:
        return msgspec.msgpack.decode(committable, type=FileCommittable)
    except msgspec.DecodeError as error:
        raise StateRestoreError(
            f"the checkpoint holds a commit that is not of this version's FileSink ({error}). Give a sink of "
            "another kind another uid, or restore with the version that wrote the checkpoint"
        ) from error
