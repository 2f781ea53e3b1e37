"""The metadata of a checkpoint: which files hold its state, and where its sources stood.

    "RKMD" version(u16) crc32(u32) | CheckpointMetadata (msgpack)

Paths in it are relative to the metadata file, so a checkpoint may be moved as a whole. Whoever can write a file can
write metadata: it is decoded into what is declared here and nothing else, and it names only files as state is named.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import msgspec

from rekindle.checkpoint import paths
from rekindle.exceptions import CheckpointCorruptError, InvalidProgramError
from rekindle.state.operator_state.stored import DistributionMode

MAGIC = b"RKMD"
VERSION = 5
_READABLE = (3, 4, VERSION)  # 3: without rows that the driver is to commit; 4: without lists that have an owner
_HEADER = struct.Struct("<4sHI")


class StoredFile(msgspec.Struct, frozen=True):
    """Point to one file of a slot's state: its path relative to the metadata, or the bytes themselves.

    A shared file stands beside the checkpoints of its job, not in one of them: several may refer to it, and it is
    deleted with the last of them.
    """

    size: int
    crc: int  # of the whole file
    path: str | None = None
    inline: bytes | None = None
    shared: bool = False


class NativeState(msgspec.Struct, frozen=True):
    """List the files of one operator's state in its backend's own format, by the names they have there."""

    uid: str
    files: dict[str, StoredFile]


class StateHandle(msgspec.Struct, frozen=True):
    """Point to the state of one slot.

    ``file`` is its snapshot file. Managed keyed state may be spread: over the snapshot files in ``before``, oldest
    first, to which ``file`` holds the changes, and over files of the backend in ``native``.
    """

    slot: int
    file: StoredFile
    before: list[StoredFile] = []
    native: list[NativeState] = []
    written: int = 0  # bytes stored for this checkpoint; the others were there before

    def files(self) -> Iterator[StoredFile]:
        """Yield all files."""
        yield self.file
        yield from self.before
        for native in self.native:
            yield from native.files.values()

    @property
    def size(self) -> int:
        """Count the bytes of all files."""
        return sum(file.size for file in self.files())


class ListStateMetadata(msgspec.Struct, frozen=True):
    """Say how an operator state is dealt out, and how many items of it each subtask wrote."""

    mode: DistributionMode
    counts: list[int]


class StagedRows(msgspec.Struct, frozen=True):
    """Point to rows that a sink has prepared, and that the driver makes visible when the checkpoint is complete.

    ``version`` is the checkpoint that they were prepared for: an earlier one than this, if that was not completed.
    """

    version: int
    rows: int
    file: StoredFile


class OperatorMetadata(msgspec.Struct, frozen=True):
    """Describe one operator as it was when the checkpoint was taken.

    ``source_kind``: what kind of source in the slots it was, whose position is among its list states; empty: none;
    None: whoever wrote the checkpoint did not say.
    """

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    keyed_states: list[str]
    list_states: dict[str, ListStateMetadata]
    staged: list[StagedRows] = []
    source_kind: str | None = None

    @property
    def stateful(self) -> bool:
        """Return whether there is anything to restore."""
        return bool(self.keyed_states or self.staged) or any(sum(state.counts) for state in self.list_states.values())


class SourceLog(msgspec.Struct, frozen=True):
    """Keep Spark's own log of one source (the files it has seen), by file name."""

    source: int
    files: dict[str, bytes]


class SourcePosition(msgspec.Struct, frozen=True):
    """Keep the position of one source that the cluster reads: its offsets, one for each stream inside it."""

    uid: str
    offsets: list[str]
    logs: list[SourceLog]
    consumed: bool = False


class CheckpointMetadata(msgspec.Struct, frozen=True):
    """Describe a completed checkpoint."""

    checkpoint_id: int
    job_id: str
    job_name: str
    timestamp: int
    epoch: int
    operators: list[OperatorMetadata]
    handles: list[StateHandle]
    positions: list[SourcePosition]
    savepoint: bool = False

    @property
    def state_size(self) -> int:
        """Count the bytes of state, those shared with other checkpoints included."""
        return sum(handle.size for handle in self.handles)

    @property
    def written_size(self) -> int:
        """Count the bytes of state that were written for this checkpoint."""
        return sum(handle.written for handle in self.handles)

    def files(self) -> Iterator[StoredFile]:
        """Yield all files: of the slots' state, and of rows that wait to be committed."""
        for handle in self.handles:
            yield from handle.files()
        yield from (staged.file for operator in self.operators for staged in operator.staged)

    def shared_files(self) -> Iterator[StoredFile]:
        """Return the files that other checkpoints may refer to as well."""
        return (file for file in self.files() if file.shared)

    @property
    def has_staged_rows(self) -> bool:
        """Return whether the driver has rows to commit when the checkpoint is complete."""
        return any(operator.staged for operator in self.operators)


def encode_metadata(metadata: CheckpointMetadata) -> bytes:
    """Encode the metadata file.

    Raises:
        InvalidProgramError: It could not be read back.
    """
    try:
        body = msgspec.msgpack.encode(metadata)
        msgspec.msgpack.decode(body, type=CheckpointMetadata)  # encoding does not check that all is of its type
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as error:
        raise InvalidProgramError(
            f"the metadata of checkpoint {metadata.checkpoint_id} cannot be written: {error}. Names of jobs and "
            "operators are strings"
        ) from error
    return _HEADER.pack(MAGIC, VERSION, _checksum(VERSION, body)) + body


def decode_metadata(data: bytes, name: str) -> CheckpointMetadata:
    """Decode a metadata file; ``name`` is for the error message."""
    if len(data) < _HEADER.size:
        raise _corrupt(name, f"it has only {len(data)} bytes: it was not written to its end")
    magic, version, crc = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise _corrupt(name, "it does not begin as a Rekindle checkpoint does")
    if version not in _READABLE:
        readable = " and ".join(map(str, _READABLE))
        raise _corrupt(name, f"it has format version {version}, and this release reads versions {readable}")
    body = data[_HEADER.size :]
    if _checksum(version, body) != crc:
        raise _corrupt(name, "its checksum is wrong: it was damaged or not written to its end")
    try:
        metadata = msgspec.msgpack.decode(body, type=CheckpointMetadata)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _corrupt(name, str(error)) from error
    _check_names(metadata, name)
    return metadata


def _checksum(version: int, body: bytes) -> int:
    """Return the checksum of a body, and since version 5 of the version, too."""
    return zlib.crc32(body, version if version >= 5 else 0)


def _check_names(metadata: CheckpointMetadata, name: str) -> None:
    """Refuse metadata that names what no Rekindle names so: files are read, copied and deleted by these names."""
    for file in metadata.files():
        if file.path is not None and not paths.is_state_path(file.path, file.shared):
            raise _corrupt(name, f"it points to {file.path!r}, which is not named as state is")
        if file.size < 0:
            raise _corrupt(name, f"it gives a size of {file.size} bytes")
    names = [each for handle in metadata.handles for native in handle.native for each in native.files]
    names += [each for position in metadata.positions for log in position.logs for each in log.files]
    for each in names:
        if not paths.is_file_name(each):
            raise _corrupt(name, f"it has a file {each!r}, which is not named as one of it is")


def _corrupt(name: str, why: str) -> CheckpointCorruptError:
    return CheckpointCorruptError(f"checkpoint metadata {name} cannot be read: {why}. Restore from another checkpoint")
