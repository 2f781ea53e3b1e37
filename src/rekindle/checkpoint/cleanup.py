"""Decides what of a job's checkpoints is deleted, and in which order. Decides only: nothing is deleted here.

Everything that was found is put into one of two classes before anything is deleted: what a checkpoint that stays
refers to, and the rest. Names are paths relative to the job's directory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from rekindle.checkpoint import paths


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Name what there is to decide about.

    Attributes:
        checkpoints: The checkpoints that have a directory.
        shared: The files that several of them may refer to.
    """

    checkpoints: frozenset[int]
    shared: frozenset[str]


@dataclass(frozen=True, slots=True)
class CleanupPlan:
    """Say what stays and what goes.

    Where there is metadata, all that it refers to must be there, even if the process ends in the middle. So the
    metadata of everything that goes is deleted first, and if one cannot be deleted, its checkpoint stays: then a new
    plan is made.

    Attributes:
        keep: What stays.
        ended: The checkpoints that go. Their metadata is deleted before anything else.
        delete: What is deleted then, in this order.
    """

    keep: frozenset[str]
    ended: tuple[int, ...]
    delete: tuple[str, ...]


def classify(found: FoundFiles, references: Mapping[int, Collection[str]], retained: Collection[int]) -> CleanupPlan:
    """Put everything that was found into one of two classes.

    Args:
        found: What there is.
        references: The shared files that each completed checkpoint refers to.
        retained: The checkpoints that stay. What of ``found`` is of another one goes, unless one of these refers to
            it.
    """
    needed = {name for checkpoint_id, names in references.items() if checkpoint_id in retained for name in names}
    ended = sorted(found.checkpoints.difference(retained))
    staying = found.checkpoints.intersection(retained)
    return CleanupPlan(
        keep=frozenset({*map(paths.checkpoint_name, staying), *(found.shared & needed)}),
        ended=tuple(ended),
        delete=(*map(paths.checkpoint_name, ended), *sorted(found.shared - needed)),
    )
