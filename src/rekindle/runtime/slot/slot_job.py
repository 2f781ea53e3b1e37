"""What a slot runs: the job as a slot sees it, and what it restores."""

from __future__ import annotations

import pickle
import socket
import sys
from dataclasses import dataclass, field

from rekindle.checkpoint.crash_records import CrashRecordSettings
from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import InvalidProgramError
from rekindle.graph.job_graph import JobGraph
from rekindle.runtime.queries.settings import QuerySettings
from rekindle.runtime.wire.messages import RestoreOrder
from rekindle.state.backend_settings import BackendSettings


@dataclass(slots=True)
class SnapshotSettings:
    """Say how and where a slot keeps its snapshots.

    ``files`` None: in the job master's memory. ``tolerates_errors``: a function or sink that raises in its snapshot
    declines the checkpoint, and fails the attempt only if too many checkpoints in a row are declined. ``compressed``:
    keyed state is compressed.
    """

    files: CheckpointFiles | None
    inline_below: int
    inline_limit: int
    asynchronous: bool = True
    tolerates_errors: bool = False
    compressed: bool = False


@dataclass(slots=True)
class RestoredCheckpoint:
    """Say from which checkpoint a slot restores; ``directory`` is that of its metadata, within ``files``.

    ``own``: it is of this very job, whose next checkpoints may refer to its files.
    """

    metadata: CheckpointMetadata
    files: CheckpointFiles | None
    directory: str
    own: bool = False

    @staticmethod
    def ordered(order: RestoreOrder, own_files: CheckpointFiles | None) -> RestoredCheckpoint:
        """Take what the job master says, which knows nothing of the files that this slot has opened."""
        files = own_files if order.root is None else checkpoint_files(order.root)
        return RestoredCheckpoint(order.metadata, files, order.directory, order.own)


@dataclass(slots=True)
class SlotJob:
    """Describe the job to a slot."""

    job_id: str
    graph: JobGraph
    snapshots: SnapshotSettings
    checkpointing: bool
    restore: RestoredCheckpoint | None
    epoch_max_ms: int
    main_classes: dict[str, type]  # classes of the user's script, which slots must find under __main__, too
    snapshot_aliases: dict[str, str] = field(default_factory=dict)  # what classes of serializer snapshots became
    job_parameters: dict[str, str] = field(default_factory=dict)
    backend: BackendSettings = field(default_factory=BackendSettings)
    local_name: str | None = None  # of the job's directories on local disks; None: its id
    watermark_interval_ms: int = 200  # how often periodic watermarks are asked for; 0: never
    show_records: bool = True  # whether errors of user code name the record
    crash_records: CrashRecordSettings | None = None  # None: none are written
    queries: QuerySettings | None = None  # how queries of state are answered; None: not at all
    staging: RowStaging | None = None  # where rows for the driver go; None: no sink has any


def load_job(data: bytes) -> SlotJob:
    """Unpickle the job.

    Raises:
        InvalidProgramError: If what it refers to is not here.
    """
    try:
        job: SlotJob = pickle.loads(data)
    except (ImportError, AttributeError, SyntaxError, pickle.UnpicklingError) as error:
        raise InvalidProgramError(
            f"the program cannot be loaded on {socket.gethostname()}: {type(error).__name__}: {error}. What its "
            f"functions import must be installed for {sys.executable} there, or be shipped with env.add_python_file(…)"
        ) from error
    return job
