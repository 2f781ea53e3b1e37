"""Where the sources of a streaming query of Spark's stand, read from the checkpoint of that query.

Rekindle has Spark read its DataFrames, and keeps what Spark writes of their positions as it is. So the position of
another query is one that a job can go on from.
"""

from __future__ import annotations

from collections.abc import Sequence

from rekindle.checkpoint.metadata import SourceLog, SourcePosition
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import CheckpointCorruptError, ConfigurationError, StateNotFoundError

_NO_OFFSET = "-"


def source_position(uid: str, checkpoint: str, sources: Sequence[int] | None = None) -> SourcePosition:
    """Return where sources stand after the last batch that a query has committed.

    Args:
        uid: The uid of the source in the job.
        checkpoint: The query's checkpoint location.
        sources: Which sources of the query, counted from 0; None: all.

    Raises:
        StateNotFoundError: There is no committed batch.
        ConfigurationError: The query has no such sources.
        CheckpointCorruptError: The offsets are in a format that is not known.
    """
    files = checkpoint_files(checkpoint)
    offsets = _offsets(files)
    chosen = range(len(offsets)) if sources is None else sources
    if not chosen or not all(0 <= source < len(offsets) for source in chosen):
        raise ConfigurationError(
            f"the query with checkpoint {files.root} has {len(offsets)} sources, counted from 0; it was asked for "
            f"{', '.join(map(str, chosen)) or 'none'}"
        )
    own = [offsets[source] for source in chosen]
    if all(offset == _NO_OFFSET for offset in own):
        return SourcePosition(uid, [], [])
    logs = [_log(files, source, place) for place, source in enumerate(chosen)]
    return SourcePosition(uid, own, [log for log in logs if log.files])


def _offsets(files: CheckpointFiles) -> list[str]:
    committed = [int(name) for name in files.list("commits") if name.isdigit()]
    if not committed:
        raise StateNotFoundError(
            f"{files.root} is not the checkpoint of a query of Spark's that has committed a batch: there is nothing in "
            f"{files.describe('commits')}"
        )
    path = f"offsets/{max(committed)}"
    version, *lines = files.read(path).decode().split("\n")
    if version != "v1":
        raise CheckpointCorruptError(
            f"{files.describe(path)} has version {version!r}, and v1 was expected: the query ran with another "
            "spark.sql.streaming.offsetLog.formatVersion"
        )
    return lines[1:]  # the first one has the watermark and settings of the query


def _log(files: CheckpointFiles, source: int, place: int) -> SourceLog:
    directory = f"sources/{source}"
    names = [name for name in files.list(directory) if not name.startswith(".") and ".tmp" not in name]
    return SourceLog(place, {name: files.read(f"{directory}/{name}") for name in names})
