"""The slots of one attempt: how they are started, where they run, and how they end."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import replace

from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.graph.pickling import main_classes
from rekindle.graph.struct_pickling import dumps
from rekindle.runtime.master.epoch_reports import Gathering
from rekindle.runtime.master.job_history import SlotPlace
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.slot.deployment import RestoredCheckpoint, SlotDeployment, SlotJob, SnapshotSettings
from rekindle.runtime.spark.forwarder import SlotAddress, SlotDirectory
from rekindle.runtime.spark.session import is_local
from rekindle.runtime.spark.slot_launcher import launch_slots
from rekindle.runtime.wire import messages as m
from rekindle.serialization.snapshot_aliases import known_aliases


class AttemptSlots:
    """Start and end the slots of an attempt."""

    def __init__(self, shared: JobShared, number: int) -> None:
        self._shared = shared
        self._number = number
        self._slots = shared.graph.slots
        self._registered: Gathering[m.Register] = Gathering(self._slots)
        self._ready: Gathering[m.Ready] = Gathering(self._slots)

    def start(self, restore: StoredCheckpoint | None) -> SlotDirectory:
        """Start the slots and wait until all have restored their state."""
        shared, settings = self._shared, self._shared.settings
        deployment = SlotDeployment(
            attempt=self._number,
            slot=-1,
            secret=shared.secret,
            master_host=shared.host,
            master_port=shared.server.port,
            listen_tcp=not is_local(shared.session),
            sys_path=user_sys_path(),
            heartbeat_ms=settings.heartbeat_ms,
            orphan_timeout_ms=settings.orphan_timeout_ms,
            job=dumps(self._slot_job(restore)),
        )
        launch_slots(shared.session, deployment, self._slots)
        registered, ready = self._registered.wait(), self._ready.wait()
        addresses = (
            SlotAddress(slot.host, served.unix_name, served.address, served.port)
            for slot, served in zip(registered, ready, strict=True)
        )
        return SlotDirectory(self._number, shared.secret, tuple(addresses))

    def registered(self, slot: int, message: m.Register) -> None:
        """Learn that a slot runs."""
        self._registered.put(slot, message)

    def ready(self, slot: int, message: m.Ready) -> None:
        """Learn that a slot has restored its state."""
        self._ready.put(slot, message)

    def fail(self, error: BaseException) -> None:
        """End the wait for slots."""
        for gathering in (self._registered, self._ready):
            gathering.fail(error)

    def pids(self) -> dict[int, int]:
        """Give the processes of the slots."""
        return {slot: place.pid for slot, place in self.places().items()}

    def places(self) -> dict[int, SlotPlace]:
        """Tell where the slots run."""
        connections = self._shared.server.connections()
        return {i: SlotPlace(each.registration.host, each.registration.pid) for i, each in connections.items()}

    def release(self, job_over: bool, grace: float) -> None:
        """Let the slots close their functions and end; the ones that do not in time are cut off.

        Args:
            job_over: Whether no other attempt follows.
            grace: The time, in seconds.
        """
        server = self._shared.server
        server.broadcast(m.Shutdown(job_over))
        until = time.monotonic() + grace
        while server.connections() and time.monotonic() < until:
            time.sleep(0.01)
        here = socket.gethostname()
        for connection in server.hang_up():
            if connection.registration.host == here:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(connection.registration.pid, signal.SIGKILL)

    def _slot_job(self, restore: StoredCheckpoint | None) -> SlotJob:
        graph, settings = self._shared.graph, self._shared.settings
        restored = None
        if restore is not None:
            beside = restore.files is settings.checkpoint_files and restore.metadata.job_id == settings.job_id
            own = beside and not restore.metadata.savepoint
            restored = RestoredCheckpoint(restore.metadata, restore.files, restore.directory, own)
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
            restore=restored,
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
