"""Finds the checkpoint a job is to be restored from, and checks that it fits the program."""

from __future__ import annotations

from dataclasses import replace

from rekindle.checkpoint import paths
from rekindle.checkpoint.metadata import CheckpointMetadata, OperatorMetadata, decode_metadata
from rekindle.checkpoint.storage import CheckpointFiles, checkpoint_files
from rekindle.exceptions import StateRestoreError
from rekindle.graph.job_graph import JobGraph, JobNode


def open_checkpoint(location: str) -> tuple[CheckpointMetadata, CheckpointFiles]:
    """Open a checkpoint by its directory, its metadata file, or a directory of which it is the newest.

    Returns:
        The metadata, and the files below the directory that holds it.
    """
    location = location.rstrip("/")
    if location.endswith("/" + paths.METADATA):
        location = location[: -len(paths.METADATA) - 1]
    files = checkpoint_files(location)
    names = files.list("")
    if paths.METADATA not in names:
        newest = _newest(files, names)
        if newest is None:
            raise StateRestoreError(
                f"there is no checkpoint at {location}: no {paths.METADATA} file in it or in a chk-… directory below. "
                "Give the directory of a checkpoint, or of a job that has completed one"
            )
        files = checkpoint_files(paths.join(location, newest))
    data = files.read(paths.METADATA)
    return decode_metadata(data, files.describe(paths.METADATA)), files


def _newest(files: CheckpointFiles, names: list[str]) -> str | None:
    """Find the newest completed checkpoint below a directory: in it, or in the directories of jobs in it.

    Ids count within a job. Between jobs, the one that was taken last is the newest.
    """
    jobs = [("", names), *((f"{name}/", files.list(name)) for name in names if paths.checkpoint_id_of(name) is None)]
    newest = [found for job, below in jobs if (found := _newest_of_job(files, job, below)) is not None]
    return newest[0] if len(newest) == 1 else max(newest, key=lambda name: _timestamp(files, name), default=None)


def _newest_of_job(files: CheckpointFiles, job: str, names: list[str]) -> str | None:
    numbered = [(number, name) for name in names if (number := paths.checkpoint_id_of(name)) is not None]
    for _, name in sorted(numbered, reverse=True):
        if paths.METADATA in files.list(job + name):
            return job + name
    return None


def _timestamp(files: CheckpointFiles, checkpoint: str) -> int:
    path = paths.join(checkpoint, paths.METADATA)
    return decode_metadata(files.read(path), files.describe(path)).timestamp


def fit_to_checkpoint(graph: JobGraph, metadata: CheckpointMetadata, allow_non_restored: bool) -> JobGraph:
    """Check that a program can take over a checkpoint's state, and take over derived max parallelism from it."""
    nodes = {node.uid: node for node in graph.nodes}
    orphans = [o for o in metadata.operators if o.stateful and o.uid not in nodes]
    if orphans and not allow_non_restored:
        listed = "; ".join(f"{o.name!r} (uid {o.uid}: {', '.join(_states(o))})" for o in orphans)
        raise StateRestoreError(
            f"checkpoint {metadata.checkpoint_id} of job {metadata.job_name!r} holds state of operators that the "
            f"program does not have: {listed}. Give those operators their old uid, or drop their state by setting "
            "execution.state-recovery.ignore-unclaimed-state (--allow-non-restored-state)"
        )
    saved = {operator.uid: operator for operator in metadata.operators}
    return replace(graph, nodes=tuple(_fitted(node, saved.get(node.uid)) for node in graph.nodes))


def _fitted(node: JobNode, operator: OperatorMetadata | None) -> JobNode:
    if operator is None or not operator.keyed_states:
        return node
    if node.parallelism > operator.max_parallelism:
        raise StateRestoreError(
            f"operator {node.name!r} (uid {node.uid}) has parallelism {node.parallelism}, and its state was written "
            f"with max parallelism {operator.max_parallelism}: it cannot be spread further. Choose a parallelism of at "
            f"most {operator.max_parallelism}"
        )
    if node.explicit_max_parallelism and node.max_parallelism != operator.max_parallelism:
        raise StateRestoreError(
            f"operator {node.name!r} (uid {node.uid}) is set to max parallelism {node.max_parallelism}, and its state "
            f"was written with {operator.max_parallelism}: the number of key groups cannot change. Set "
            f"{operator.max_parallelism}, or leave it unset"
        )
    return replace(node, max_parallelism=operator.max_parallelism)


def _states(operator: OperatorMetadata) -> list[str]:
    return [*operator.keyed_states, *(name for name, counts in operator.list_states.items() if sum(counts))]
