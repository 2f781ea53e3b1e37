"""The slots of one attempt: how they are started, where they run, and how they end."""

from __future__ import annotations

import time

import msgspec

from rekindle.checkpoint.slot_share import SlotShares
from rekindle.checkpoint.stored_checkpoint import StoredCheckpoint
from rekindle.runtime.master.attempts.slot_launch import SlotLaunch
from rekindle.runtime.master.job_shared import JobShared
from rekindle.runtime.master.slots.slot_answers import SlotAnswers
from rekindle.runtime.master.slots.slot_directory import SlotAddress, SlotDirectory
from rekindle.runtime.master.slots.state_registry import StateRegistry
from rekindle.runtime.master.views.job_history import SlotPlace
from rekindle.runtime.master.views.start_times import Phase, StartTimes
from rekindle.runtime.wire import messages as m


class AttemptSlots:
    """Start and end the slots of an attempt.

    Args:
        shared: The job.
        number: The attempt.
        times: What follows how long all of it takes.
        states: The queryable states of the attempt.
        launch: Its slots, if they were started already.
    """

    def __init__(
        self,
        shared: JobShared,
        number: int,
        times: StartTimes,
        states: StateRegistry,
        launch: SlotLaunch | None = None,
    ) -> None:
        self._shared = shared
        self._number = number
        self._launch = launch
        self._times = times
        self._states = states
        self._slots = shared.graph.slots
        self._registered: SlotAnswers[m.Register] = SlotAnswers(self._slots)
        self._ready: SlotAnswers[m.Ready] = SlotAnswers(self._slots)

    def start(self, restore: StoredCheckpoint | None) -> SlotDirectory:
        """Wait until all slots run and have restored their state."""
        shared = self._shared
        self._launch = self._launch or SlotLaunch(shared, self._number)
        self._launch.on_failure(self.fail)
        registered = self._registered.wait()
        self._times.mark(Phase.SLOTS)
        orders = _OpenOrders(shared, restore)
        for slot in range(self._slots):
            shared.slot_pool.send(slot, orders.of(slot))
        ready = self._ready.wait()
        self._times.mark(Phase.RESTORE)
        self._states.served([served.queries for served in ready])
        shared.proxy_ports = [port for _, port in self._states.proxies()]
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

    @property
    def open(self) -> int:
        """Return how many slots have restored their state: those can be asked."""
        return self._ready.count

    def pids(self) -> dict[int, int]:
        """Return the processes of the slots."""
        return {slot: place.pid for slot, place in self.places().items()}

    def places(self) -> dict[int, SlotPlace]:
        """Return where the slots run."""
        registered = self._shared.slot_pool.registered()
        return {slot: SlotPlace(said.host, said.pid) for slot, said in registered.items()}

    def release(self, job_over: bool, grace: float) -> None:
        """Let the slots close their functions and end; the ones that do not in time are cut off.

        Args:
            job_over: Whether no other attempt follows.
            grace: The time, in seconds.
        """
        if self._launch is not None:
            self._launch.stop()
        pool = self._shared.slot_pool
        pool.broadcast(m.Shutdown(job_over))
        until = time.monotonic() + grace
        while pool.registered() and time.monotonic() < until:
            time.sleep(0.01)
        pool.hang_up()


class _OpenOrders:
    """Tell each slot what to restore.

    Args:
        shared: The job.
        restore: The checkpoint; None: nothing is restored.
    """

    def __init__(self, shared: JobShared, restore: StoredCheckpoint | None) -> None:
        self._proxies = shared.proxy_ports
        self._order: m.RestoreOrder | None = None
        if restore is None:
            return
        settings = shared.settings
        own_files = restore.files is settings.checkpoint_files
        root = None if own_files or restore.files is None else restore.files.root
        own = own_files and restore.metadata.job_id == settings.job_id and not restore.metadata.savepoint
        self._order = m.RestoreOrder(restore.metadata, root, restore.directory, own)
        self._shares = SlotShares(restore.metadata, {node.uid: node.parallelism for node in shared.graph.nodes})

    def of(self, slot: int) -> m.OpenJob:
        """Return what a slot is told."""
        if self._order is None:
            return m.OpenJob(None, self._proxies)
        return m.OpenJob(msgspec.structs.replace(self._order, metadata=self._shares.of(slot)), self._proxies)
