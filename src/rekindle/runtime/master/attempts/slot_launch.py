"""Starts the slots of an attempt beside whatever else goes on, so that they are there when the attempt begins.

Processes take longer to start than everything else in a restart. While an attempt is stopped, and its restart delay
passes, those of the next one load the program; they then wait to be told what to restore.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from rekindle.graph.pickling import main_classes
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.slot.slot_job import SlotJob, SnapshotSettings
from rekindle.serialization.snapshots.snapshot_aliases import known_aliases


class SlotLaunch:
    """Start the slots of an attempt, in a thread of its own.

    Attributes:
        number: The attempt.
    """

    def __init__(self, shared: JobShared, number: int) -> None:
        self.number = number
        self._shared = shared
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        self._on_failure: Callable[[BaseException], None] = lambda error: None
        self._thread = threading.Thread(target=self._launch, daemon=True, name=f"slots of attempt {number}")
        self._thread.start()

    def on_failure(self, call: Callable[[BaseException], None]) -> None:
        """Have somebody called if the slots cannot be started; at once if that is already known."""
        with self._lock:
            self._on_failure = call
            error = self._error
        if error is not None:
            call(error)

    def stop(self) -> None:
        """Start no more of them: nobody needs them. Those that run end as the job master hangs up on them."""
        if self._thread.is_alive():
            with suppress(Exception):  # the cluster may be gone
                self._shared.slot_pool.cancel_launch(self.number)

    def _launch(self) -> None:
        shared = self._shared
        try:
            shared.slot_pool.launch(self.number, dumps(_slot_job(shared)), shared.graph.slots)
        except BaseException as error:
            with self._lock:
                self._error = error
                call = self._on_failure
            call(error)


def _slot_job(shared: JobShared) -> SlotJob:
    graph, settings = shared.graph, shared.settings
    return SlotJob(
        job_id=settings.job_id,
        graph=replace(
            graph,
            cluster_sources=tuple(replace(s, data_frame=None, described=None) for s in graph.cluster_sources),
        ),
        snapshots=SnapshotSettings(
            settings.state_files,
            settings.inline_below,
            settings.memory_limit,
            settings.asynchronous_snapshots,
            settings.checkpoints.tolerable_failures > 0,
            settings.compressed_snapshots,
        ),
        checkpointing=settings.checkpointing,
        restore=None,
        epoch_max_ms=settings.epoch_max_ms,
        main_classes=main_classes(),
        snapshot_aliases=known_aliases(),
        job_parameters=settings.job_parameters,
        backend=settings.backend,
        local_name=settings.local_name,
        watermark_interval_ms=settings.watermark_interval_ms,
        show_records=settings.show_records,
        crash_records=settings.crash_records,
        staging=shared.staging,
        queries=None if settings.queries is None else settings.queries.for_slots(graph.slots, shared.secret),
    )
