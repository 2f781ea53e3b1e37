"""What a crash record keeps as pickles: the operator as it was deployed, and what its function was called with."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any

from rekindle.checkpoint.crash_records import CrashContents
from rekindle.exceptions import CrashRecordError
from rekindle.graph.struct_pickling import dumps
from rekindle.graph.transformations.transformation import Transformation
from rekindle.runtime.slot.slot_job import SlotJob


@dataclass(frozen=True, slots=True)
class Call:
    """Say what a function was called with.

    Attributes:
        value: The record; None in the case of a timer.
        has_key: Whether there is a key.
        key: The key.
        due: The timer, as its queue keeps it.
        queue: The name of that queue.
    """

    value: Any
    has_key: bool
    key: Any
    due: tuple[Any, int] | None = None
    queue: str | None = None

    def parts(self) -> tuple[Any, ...]:
        """Return what is pickled."""
        return self.value, self.has_key, self.key, self.due, self.queue


@dataclass(frozen=True, slots=True)
class CrashProgram:
    """Hold what of a program is needed to run one of its operators.

    Attributes:
        transformation: The operator.
        key_selector: What gave the key of a record; None: it is not what raised.
        main_classes: The classes of the user's script.
        snapshot_aliases: What classes of serializer snapshots became.
        job_parameters: The global job parameters.
        checkpointing: Whether the job takes checkpoints.
        watermark_interval_ms: How often periodic watermarks are asked for.
    """

    transformation: Transformation
    key_selector: Any
    main_classes: dict[str, type]
    snapshot_aliases: dict[str, str]
    job_parameters: dict[str, str]
    checkpointing: bool
    watermark_interval_ms: int

    @staticmethod
    def pickled(job: SlotJob, node: int, keyed_edge: int | None) -> bytes:
        """Pickle the part of a job that one operator is.

        Args:
            job: The job, as it was deployed.
            node: The operator.
            keyed_edge: The edge whose key selector raised; None: the operator did.
        """
        selector = None if keyed_edge is None else job.graph.edges[keyed_edge].partitioner.key_selector
        transformation = next(each.transformation for each in job.graph.nodes if each.id == node)
        return dumps(
            (
                job.main_classes,  # first: the others may be of these classes
                transformation,
                selector,
                job.snapshot_aliases,
                job.job_parameters,
                job.checkpointing,
                job.watermark_interval_ms,
            )
        )


def opened_program(contents: CrashContents) -> CrashProgram:
    """Unpickle the program: runs code. Classes of the user's script become known under ``__main__``.

    Raises:
        CrashRecordError: It is not there, or what it refers to is not.
    """
    if not contents.program:
        raise CrashRecordError("the record has no function in it")
    try:
        main_classes, transformation, selector, aliases, parameters, checkpointing, interval = pickle.loads(
            contents.program
        )
    except Exception as error:
        raise CrashRecordError(
            f"the function cannot be loaded: {type(error).__name__}: {error}. What it imports must be installed for "
            f"{sys.executable}, or be on PYTHONPATH, in the version that the job had"
        ) from error
    vars(sys.modules["__main__"]).update(main_classes)
    return CrashProgram(transformation, selector, main_classes, aliases, parameters, checkpointing, interval)


def opened_call(contents: CrashContents) -> Call | None:
    """Unpickle what the function was called with: runs code. None if it was left out."""
    return Call(*pickle.loads(contents.call)) if contents.call else None
