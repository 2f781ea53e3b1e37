"""What a slot is told when it is started: by whom, for which attempt, and what to run."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from rekindle.checkpoint.metadata import CheckpointMetadata
from rekindle.checkpoint.storage import CheckpointFiles
from rekindle.graph.job_graph import JobGraph
from rekindle.state.backend_settings import BackendSettings


class SlotDeployment(msgspec.Struct, frozen=True):
    """Start a slot. ``job`` is a pickled :class:`SlotJob`, read only after ``sys_path`` is in place."""

    attempt: int
    slot: int
    secret: bytes
    master_host: str
    master_port: int
    listen_tcp: bool
    sys_path: list[str]
    heartbeat_ms: int
    orphan_timeout_ms: int
    job: bytes


@dataclass(slots=True)
class SnapshotSettings:
    """Say how and where a slot keeps its snapshots.

    ``files`` None: in the job master's memory. ``tolerates_errors``: a function or sink that raises in its snapshot
    declines the checkpoint, and fails the attempt only if too many checkpoints in a row are declined.
    """

    files: CheckpointFiles | None
    inline_below: int
    inline_limit: int
    asynchronous: bool = True
    tolerates_errors: bool = False


@dataclass(slots=True)
class RestoredCheckpoint:
    """Say from which checkpoint a slot restores; ``directory`` is that of its metadata, within ``files``.

    ``own``: it is of this very job, whose next checkpoints may refer to its files.
    """

    metadata: CheckpointMetadata
    files: CheckpointFiles | None
    directory: str
    own: bool = False


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
