"""Where rows wait that the driver is to commit: settled before a job starts."""

from __future__ import annotations

from rekindle.base.scratch_directory import ScratchDirectory
from rekindle.checkpoint.row_staging import RowStaging
from rekindle.checkpoint.storage import checkpoint_files
from rekindle.config.configuration import Configuration
from rekindle.config.options import CheckpointingOptions, RekindleOptions
from rekindle.exceptions import ConfigurationError
from rekindle.graph.job_graph import JobGraph
from rekindle.graph.transformations.sinks import DataFrameSinkTransformation
from rekindle.runtime.master.settings.job_settings import JobSettings


def settle_row_staging(graph: JobGraph, settings: JobSettings, one_machine: bool) -> Staging | None:
    """Choose where rows wait; None: no sink has any.

    Args:
        graph: The job.
        settings: How it runs.
        one_machine: Whether the driver and all slots are on one machine.

    Raises:
        ConfigurationError: There is no directory that all machines share.
    """
    sinks = [node.name for node in graph.nodes if isinstance(node.transformation, DataFrameSinkTransformation)]
    if not sinks:
        return None
    if settings.checkpoint_files is not None:
        return Staging(RowStaging(settings.checkpoint_files, settings.job_id))
    directory = staging_directory(settings.configuration)
    if directory is not None:
        return Staging(RowStaging(checkpoint_files(directory), settings.job_id, kept_by_checkpoints=False))
    if one_machine:
        scratch = ScratchDirectory()
        return Staging(RowStaging(checkpoint_files(scratch.path), settings.job_id, False), scratch)
    raise ConfigurationError(
        f"rows of sink {sinks[0]!r} wait in files between the slots, which write them, and the driver, which commits "
        f"them: name a directory that all machines share, with {CheckpointingOptions.CHECKPOINTS_DIRECTORY.key} or "
        f"{RekindleOptions.TABLES_STAGING_DIR.key}"
    )


def staging_directory(configuration: Configuration) -> str | None:
    """Return the directory for rows of jobs that keep no checkpoints in files; None: none is set."""
    return configuration.get(RekindleOptions.TABLES_STAGING_DIR) or configuration.get(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY
    )


class Staging:
    """The place of a job's rows, over all its attempts.

    Attributes:
        rows: Where it is.

    Args:
        rows: Where it is.
        scratch: The directory that was made for it, if one was.
    """

    def __init__(self, rows: RowStaging, scratch: ScratchDirectory | None = None) -> None:
        self.rows = rows
        self._scratch = scratch

    def close(self, keep: bool) -> None:
        """Remove what no checkpoint keeps account of; the job is over.

        Args:
            keep: Whether another driver may go on with the job.
        """
        if not self.rows.kept_by_checkpoints and not keep:
            self.rows.files.delete(self.rows.job_id)
        if self._scratch is not None:
            self._scratch.close()
