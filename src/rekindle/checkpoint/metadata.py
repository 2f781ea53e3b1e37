"""The metadata of a checkpoint: which files hold its state, and where its sources stood.

    "RKMD" version(u16) crc32(u32) | CheckpointMetadata (msgpack)

Paths in it are relative to the metadata file, so a checkpoint may be moved as a whole.
"""

from __future__ import annotations

import struct
import zlib

import msgspec

from rekindle.exceptions import CheckpointCorruptError

MAGIC = b"RKMD"
VERSION = 1
_HEADER = struct.Struct("<4sHI")


class StateHandle(msgspec.Struct, frozen=True):
    """Point to the snapshot of one slot: a file beside the metadata, or the bytes themselves."""

    slot: int
    size: int
    path: str | None = None
    inline: bytes | None = None


class OperatorMetadata(msgspec.Struct, frozen=True):
    """Describe one operator as it was when the checkpoint was taken."""

    uid: str
    name: str
    parallelism: int
    max_parallelism: int
    keyed_states: list[str]
    list_states: dict[str, list[int]]  # name → items per subtask

    @property
    def stateful(self) -> bool:
        """Tell whether there is anything to restore."""
        return bool(self.keyed_states) or any(sum(counts) for counts in self.list_states.values())


class SourceLog(msgspec.Struct, frozen=True):
    """Keep Spark's own log of one source (the files it has seen), by file name."""

    source: int
    files: dict[str, bytes]


class SparkPosition(msgspec.Struct, frozen=True):
    """Keep the position of one DataFrame source: Spark's offsets, one for each streaming source inside it."""

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
    positions: list[SparkPosition]
    savepoint: bool = False

    @property
    def state_size(self) -> int:
        """Count the bytes of state."""
        return sum(handle.size for handle in self.handles)


def encode_metadata(metadata: CheckpointMetadata) -> bytes:
    """Encode the metadata file."""
    body = msgspec.msgpack.encode(metadata)
    return _HEADER.pack(MAGIC, VERSION, zlib.crc32(body)) + body


def decode_metadata(data: bytes, name: str) -> CheckpointMetadata:
    """Decode a metadata file; ``name`` is for the error message."""
    if len(data) < _HEADER.size:
        raise _corrupt(name, f"it has only {len(data)} bytes: it was not written to its end")
    magic, version, crc = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise _corrupt(name, "it does not begin as a Rekindle checkpoint does")
    if version != VERSION:
        raise _corrupt(name, f"it has format version {version}, and this release reads version {VERSION}")
    body = data[_HEADER.size :]
    if zlib.crc32(body) != crc:
        raise _corrupt(name, "its checksum is wrong: it was damaged or not written to its end")
    try:
        return msgspec.msgpack.decode(body, type=CheckpointMetadata)
    except msgspec.DecodeError as error:
        raise _corrupt(name, str(error)) from error


def _corrupt(name: str, why: str) -> CheckpointCorruptError:
    return CheckpointCorruptError(f"checkpoint metadata {name} cannot be read: {why}. Restore from another checkpoint")
