"""Starts the slots of an attempt beside whatever else goes on, so that they are there when the attempt begins.

Processes take longer to start than everything else in a restart. While an attempt is stopped, and its restart delay
passes, those of the next one load the program; they then wait to be told what to restore.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from rekindle.graph.pickling import main_classes
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.slot.deployment import SlotJob, SnapshotSettings
from rekindle.runtime.slot.slot_deployment import SlotDeployment
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.spark.slot_launcher import cancel_launch, launch_slots
from rekindle.serialization.snapshots.snapshot_aliases import known_aliases


class SlotLaunch:
    """Start the slots of an attempt; they are let in from now on.

    Attributes:
        number: The attempt.
    """

    def __init__(self, shared: JobShared, number: int) -> None:
        self.number = number
        self._shared = shared
        self._lock = threading.Lock()
        self._deployment: SlotDeployment | None = None
        self._error: BaseException | None = None
        self._on_failure: Callable[[BaseException], None] = lambda error: None
        shared.server.expect(number)
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
        if self._thread.is_alive() and self._deployment is not None:
            with suppress(Exception):  # Spark may be gone
                cancel_launch(self._shared.session, self._deployment)

    def _launch(self) -> None:
        shared, settings = self._shared, self._shared.settings
        try:
            deployment = self._deployment = SlotDeployment(
                attempt=self.number,
                slot=-1,
                secret=shared.secret,
                master_host=shared.host,
                master_port=shared.server.port,
                listen_tcp=not is_local(shared.session),
                sys_path=user_sys_path(),
                heartbeat_ms=settings.heartbeat_ms,
                orphan_timeout_ms=settings.orphan_timeout_ms,
                job=dumps(_slot_job(shared)),
            )
            launch_slots(shared.session, deployment, shared.graph.slots)
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
            spark_sources=tuple(replace(s, data_frame=None, described=None) for s in graph.spark_sources),
        ),
        snapshots=SnapshotSettings(
            settings.state_files,
            settings.inline_below,
            settings.memory_limit,
            settings.asynchronous_snapshots,
            settings.checkpoints.tolerable_failures > 0,
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
    )


def user_sys_path() -> list[str]:
    """Give the directories from which the driver imports user code; a slot has its own Python and its packages."""
    own = tuple({os.path.realpath(prefix) + os.sep for prefix in (sys.prefix, sys.base_prefix)})
    paths = [os.path.abspath(entry or os.getcwd()) for entry in sys.path]
    return [path for path in paths if not (os.path.realpath(path) + os.sep).startswith(own) and os.path.exists(path)]
