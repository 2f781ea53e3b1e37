"""A cluster whose slots are threads of this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from rekindle.graph.job_graph import ClusterSource, JobGraph
from rekindle.runtime.master.cluster import ClusterLoss
from rekindle.runtime.master.slots.slot_pool import SlotPoolOptions
from rekindle.runtime.wire import messages as m
from rekindle.testing.in_process.epochs import InProcessEpochs
from rekindle.testing.in_process.slot import InProcessSlot
from rekindle.testing.in_process.slot_pool import InProcessSlotPool

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["InProcessCluster"]


class InProcessCluster:
    """Run jobs in this process, see :class:`rekindle.runtime.master.cluster.Cluster`.

    Override :meth:`hears` and :meth:`obeys` to let messages get lost.
    """

    def __init__(self) -> None:
        """Make a cluster on which no job runs."""
        self._pool: InProcessSlotPool | None = None
        self._by_name: WeakValueDictionary[str, InProcessSlot] = WeakValueDictionary()

    @property
    def running_slots(self) -> list[int]:
        """The slots that run, of the job that was started last."""
        return [] if self._pool is None else sorted(self._pool.slots())

    def kill_slot(self, slot: int) -> None:
        """Let a slot be gone, as its process would be after SIGKILL; of the job that was started last.

        Args:
            slot: Its index.

        Raises:
            ValueError: There is no such slot, or it does not run yet.
        """
        running = {} if self._pool is None else self._pool.slots()
        if slot not in running:
            raise ValueError(f"there is no slot {slot} to kill; those that run: {sorted(running)}")
        running[slot].lose()

    def hears(self, slot: int, message: m.ToMaster) -> bool:
        """Return whether the job master gets a message of a slot."""
        return True

    def obeys(self, slot: int, order: m.ToSlot) -> bool:
        """Return whether a slot carries out an order; asked in the slot's thread."""
        return True

    # --- what a job master asks for ---

    @property
    def name(self) -> str:
        """Return what the cluster is called in messages."""
        return "the in-process cluster"

    def slot_pool(self, options: SlotPoolOptions) -> InProcessSlotPool:
        """Open a pool of slots for a job."""
        self._pool = InProcessSlotPool(self._make_slot)
        return self._pool

    def epochs(self, graph: JobGraph) -> InProcessEpochs:
        """Make ready for the epochs of an attempt."""
        return InProcessEpochs(graph, self._by_name.get)

    @property
    def one_machine(self) -> bool:
        """Return True: all slots are in this process."""
        return True

    def rows(self, files: Sequence[str], schema: pa.Schema) -> pa.Table:
        """Open files of rows as an Arrow table, in the place of a DataFrame."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        def opened(file: str) -> Any:  # pyarrow closes a file that it opens itself some time later
            return file if "://" in file else pa.BufferReader(Path(file).read_bytes())

        return pa.concat_tables([pq.read_table(opened(file), schema=schema) for file in files])

    def loss(self) -> ClusterLoss | None:
        """Return None: the cluster is there as long as this process."""
        return None

    def refusal(self, error: BaseException) -> str | None:
        """Return None: the cluster refuses no job that it has begun."""
        return None

    @property
    def renewable(self) -> bool:
        """Return False: the cluster is never lost."""
        return False

    def renew(self) -> tuple[ClusterSource, ...]:
        """Refuse: the cluster is never lost."""
        raise NotImplementedError("the in-process cluster is never lost")

    def _make_slot(self, attempt: int, index: int, job: bytes, name: str) -> InProcessSlot:
        slot = InProcessSlot(
            attempt,
            index,
            job,
            name,
            lambda slot, message: self.hears(slot, message),
            lambda slot, order: self.obeys(slot, order),
        )
        self._by_name[name] = slot
        return slot
